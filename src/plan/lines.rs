//! The plan as it is printed: every value with where it came from, and no secret.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::knobs;
use super::objective::objective_text;
use super::range::format_counts;
use super::settings::{Settings, Sourced};
use super::{Goal, PlanLine, Source, Surroundings};
use crate::server::{self, Adapter, App, Framework, Proxy};
use crate::terms::{
    Arrivals, Bytes, Change, ConnectionMode, Cores, Goals, Objective, Ratio, Target, Threads,
    Workers, format_duration,
};

/// The settled values with their sources.
pub struct Printed<'a> {
    pub settings: &'a Settings<'a>,
    pub surroundings: &'a Surroundings,
    pub app: Sourced<App>,
    /// Where the app's variables came from.
    pub env_source: Source,
    pub server: Sourced<&'static dyn Adapter>,
    pub proxy: Sourced<Proxy>,
    pub probe: Sourced<bool>,
    pub workers: Sourced<Vec<Workers>>,
    pub threads: Sourced<Vec<Threads>>,
    pub targets: Sourced<Vec<Target>>,
    pub goal: Sourced<Goal>,
    pub goals: Goals,
    pub objective: Sourced<Objective>,
    pub cores: Sourced<Option<Cores>>,
    pub memory: Sourced<Option<Bytes>>,
    pub arrivals: Sourced<Arrivals>,
    pub connection: Sourced<ConnectionMode>,
    pub timeout: Sourced<Duration>,
    pub budget: Sourced<Duration>,
    pub precision: Sourced<Option<Ratio>>,
    pub ready: Sourced<String>,
    pub db_connections: Sourced<Option<u32>>,
    pub knobs: Vec<Sourced<Vec<Change>>>,
    pub seed: Sourced<u64>,
    pub store: Sourced<PathBuf>,
}

impl Printed<'_> {
    /// In printing order.
    pub fn lines(&self) -> Vec<PlanLine> {
        let workers: Vec<u16> = self.workers.value.iter().map(|count| count.get()).collect();
        let threads: Vec<u16> = self.threads.value.iter().map(|count| count.get()).collect();
        let mut lines = vec![
            line("app", &self.app, app_text),
            line("server", &self.server, |adapter| self.server_text(*adapter)),
            line("proxy", &self.proxy, proxy_text),
            line("workers", &self.workers, |_| format_counts(&workers)),
            line("threads", &self.threads, |_| format_counts(&threads)),
            line("targets", &self.targets, |targets| targets_text(targets)),
            line("SLO", &self.goal, |goal| goal_text(goal, &self.goals)),
            line("goal", &self.objective, objective_text),
            line("cores", &self.cores, |cores| {
                cores.map_or_else(|| all_of(self.surroundings.cores), |cores| cores.to_string())
            }),
            line("memory", &self.memory, |memory| {
                memory.map_or_else(|| all_of(self.surroundings.memory), |bytes| bytes.to_string())
            }),
            line("arrivals", &self.arrivals, arrivals_text),
            line("connection", &self.connection, |mode| mode.to_string()),
            line("timeout", &self.timeout, |timeout| format_duration(*timeout)),
            line("budget", &self.budget, |budget| format_duration(*budget)),
            line("precision", &self.precision, |asked| precision_text(*asked)),
            line("probe", &self.probe, |is_on| on_or_off(*is_on)),
            self.environment(),
            line("ready path", &self.ready, |path| without_query(path)),
            line("db connections", &self.db_connections, |most| {
                most.map_or_else(|| "no limit".to_string(), |most| format!("at most {most}"))
            }),
            line("seed", &self.seed, |seed| seed.to_string()),
            line("store", &self.store, |store| self.shown(store)),
        ];
        if !self.server.value.has_threads(&self.app.value) {
            lines.retain(|line| line.what != "threads");
        }
        if self.proxy.value == Proxy::None {
            lines.retain(|line| line.what != "proxy");
        }
        if !self.probe.value {
            lines.retain(|line| line.what != "probe");
        }
        if let Some(variables) = self.variables() {
            let after_environment = lines.iter().position(|line| line.what == "ready path");
            lines.insert(after_environment.unwrap_or(lines.len()), variables);
        }
        let before_targets = lines.iter().position(|line| line.what == "targets");
        for (value, source) in knobs::lines(&self.knobs).collect::<Vec<_>>().into_iter().rev() {
            let knob = PlanLine { what: knobs::LINE.to_string(), value, source };
            lines.insert(before_targets.unwrap_or(lines.len()), knob);
        }
        if let Some(headers) = self.headers() {
            let after_targets = lines.iter().position(|line| line.what == "SLO");
            lines.insert(after_targets.unwrap_or(lines.len()), headers);
        }
        lines
    }

    /// Every server that we know is started as it runs where it serves users, unless the user says
    /// otherwise.
    fn environment(&self) -> PlanLine {
        let (value, source) = match server::environment(&self.app.value) {
            Some((name, Some(_))) => (name.to_string(), self.env_source.clone()),
            Some((name, None)) => (name.to_string(), Source::Default),
            None => ("the command's own".to_string(), Source::Default),
        };
        PlanLine { what: "environment".to_string(), value, source }
    }

    /// The names of the app's variables; their values may be secret.
    fn variables(&self) -> Option<PlanLine> {
        let names: Vec<&str> = self.app.value.env.keys().map(String::as_str).collect();
        (!names.is_empty()).then(|| PlanLine {
            what: "variables".to_string(),
            value: format!("{} (values not shown)", names.join(", ")),
            source: self.env_source.clone(),
        })
    }

    /// The names of the headers that are sent; their values may be secret.
    fn headers(&self) -> Option<PlanLine> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.targets.value.iter().flat_map(|target| &target.headers) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
        let common = self.settings.file.as_ref().and_then(|file| file.headers.as_ref());
        let source = match common {
            _ if !self.settings.typed.header.is_empty() => Source::Flag,
            Some(common) => Source::File { line: common.line },
            None => self.targets.source.clone(),
        };
        (!names.is_empty()).then(|| PlanLine {
            what: "headers".to_string(),
            value: format!("{} (values not shown)", names.join(", ")),
            source,
        })
    }

    /// A command may hold a secret, its program does not.
    fn server_text(&self, adapter: &dyn Adapter) -> String {
        match &self.app.value.command {
            Some(command) => format!("{} {}", adapter.name(), command.program()),
            None => adapter.name().to_string(),
        }
    }

    /// A path as people would type it here.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.settings.folder).unwrap_or(path).display().to_string()
    }
}

fn line<T>(what: &str, sourced: &Sourced<T>, text: impl FnOnce(&T) -> String) -> PlanLine {
    PlanLine { what: what.to_string(), value: text(&sourced.value), source: sourced.source.clone() }
}

fn precision_text(asked: Option<Ratio>) -> String {
    asked.map_or_else(
        || "as the budget allows".to_string(),
        |asked| format!("\u{b1}{} %", asked.get() * 100.0),
    )
}

fn app_text(app: &App) -> String {
    let framework = match app.framework {
        Framework::Rails => "Rails",
        Framework::Sinatra => "Sinatra",
        Framework::Rack => "Rack",
        Framework::Wsgi => "Python, WSGI",
        Framework::Asgi => "Python, ASGI",
        Framework::Php => "PHP",
        Framework::Node => "Node.js",
        Framework::Other => "started by a command",
    };
    format!("{} ({framework})", app.folder.display())
}

fn proxy_text(proxy: &Proxy) -> String {
    match proxy {
        Proxy::None => "none".to_string(),
        Proxy::Nginx => "nginx".to_string(),
    }
}

fn on_or_off(is_on: bool) -> String {
    let text = if is_on { "on" } else { "off" };
    text.to_string()
}

fn targets_text(targets: &[Target]) -> String {
    targets.iter().map(Target::to_string).collect::<Vec<_>>().join(", ")
}

fn goal_text(goal: &Goal, goals: &Goals) -> String {
    let common = match goal {
        _ if !goals.has_common() => return "each target's own".to_string(),
        Goal::Given(slo) => slo.to_string(),
        Goal::FromUnloaded => "p95 < max(200 ms, 3 x unloaded p95), errors < 0.1 %".to_string(),
    };
    match goals.has_own() {
        true => format!("{common} for targets without their own"),
        false => common,
    }
}

fn arrivals_text(arrivals: &Arrivals) -> String {
    match arrivals {
        Arrivals::Poisson => "poisson".to_string(),
        Arrivals::Uniform => "uniform".to_string(),
    }
}

fn all_of(amount: impl std::fmt::Display) -> String {
    format!("all ({amount})")
}

/// A query may be secret.
fn without_query(path: &str) -> String {
    match path.split_once('?') {
        Some((path, _)) => format!("{path}?…"),
        None => path.to_string(),
    }
}
