//! Puma, in cluster mode (several workers) and single mode (one process, no master).
//!
//! In: an app and a configuration. Out: commands, files and rules for reading what Puma shows. Must
//! not run, read or write anything.

mod inspection;
mod knobs;
mod settings;
mod stats;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::command_line;
use super::command_line::text;
use super::filled::filled;
use super::rack;
use super::{
    About, Accepts, Adapter, App, CommandLine, FlagNames, Inspection, InspectionError, Knobs,
    Launch, Listen, ProcessFacts, ReadyLine, Recipe, Recommended, Stats,
};
use crate::terms::{Configuration, Role, Settings, WorkerStats};

/// Puma, cluster and single mode.
pub struct Puma;

/// The file in the scratch folder that is loaded after the app's own settings.
const OVERLAY: &str = "overlay.rb";

/// What would make Puma come up as somebody else's restart.
const NOT_INHERITED: &[&str] = &["PUMA_BUNDLER_PRUNED", "PUMA_INHERIT_0"];

const ABOUT: About = About {
    name: "puma",
    title: "Puma",
    programs: &["puma"],
    // The production environment's comes first.
    config_files: &["config/puma/production.rb", "config/puma.rb"],
    runs: rack::APPS,
    has_threads: true,
    install: &["gem install puma", "apt install puma"],
    flag_names: FlagNames {
        workers: &["-w", "--workers"],
        threads: &["-t", "--threads"],
        config: &["-C", "--config"],
        ..FlagNames::NONE
    },
    knobs: Knobs { usual_file: Some(settings::USUAL_FILE), list: knobs::ALL },
    // Before 5.5 the latter.
    serving_threads: &["puma srv tp", "puma threadpool"],
    listening_threads: &["puma srv", "puma server"],
    worker_timeout: Some("worker_boot_timeout"),
    causes: rack::failure::CAUSES,
    ..About::NONE
};

impl Adapter for Puma {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    /// From 7 on it accepts without looking for a free thread.
    fn accepts(&self, version: (u32, u32)) -> Accepts {
        if version >= (7, 0) { Accepts::Any } else { Accepts::Free }
    }

    fn inspect(&self, app: &App) -> Option<CommandLine> {
        Some(rack::inspect(app, include_str!("inspect.rb")))
    }

    fn read_inspection(&self, app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
        inspection::read(app, stdout)
    }

    fn launch(&self, launch: Launch<'_>) -> Recipe {
        let Launch { app, configuration, listen, scratch } = launch;
        let (arguments, env) = (arguments(launch), environment(launch));
        let command = command_line::start(app, arguments, env, NOT_INHERITED);
        Recipe {
            files: vec![(OVERLAY.into(), overlay(app, scratch))],
            ready_line: Some(ready_line(configuration)),
            failure_line: is_cluster(configuration)
                .then(|| rack::failing_workers(&UNABLE, configuration)),
            stats: Some(Stats { socket: control_socket(scratch), path: stats::PATH.to_string() }),
            ..Recipe::of(vec![command], listen, libc::SIGTERM)
        }
    }

    fn role(&self, configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        match (is_cluster(configuration), process.is_root) {
            (true, true) => Role::Master,
            (false, true) => Role::Worker,
            (true, false) if process.title.starts_with("puma: cluster worker ") => Role::Worker,
            (_, false) => Role::Other,
        }
    }

    fn read_stats(&self, body: &str) -> Vec<WorkerStats> {
        stats::read(body)
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        settings::of(recommended)
    }
}

/// A master says this of a worker that ended before it had booted, and starts another.
const UNABLE: [&str; 1] = ["! Unable to start worker"];

/// One worker runs in single mode, as Puma itself advises: a master for one worker only costs
/// memory.
fn is_cluster(configuration: Configuration) -> bool {
    configuration.workers.get() > 1
}

/// In single mode the app is loaded before this line is printed; a master listens long before that.
fn ready_line(configuration: Configuration) -> ReadyLine {
    match is_cluster(configuration) {
        true => ReadyLine::of(&["- Worker ", " booted"], configuration.workers.get()),
        false => ReadyLine::of(&["Use Ctrl-C to stop"], 1),
    }
}

/// What `-w` and `WEB_CONCURRENCY` are given.
fn workers_as_typed(configuration: Configuration) -> String {
    if is_cluster(configuration) { configuration.workers.to_string() } else { "0".into() }
}

fn control_socket(scratch: &Path) -> PathBuf {
    scratch.join("control.sock")
}

fn arguments(Launch { app, configuration, listen, scratch }: Launch<'_>) -> Vec<String> {
    let threads = configuration.threads;
    let backlog = app.changed.settings.get(knobs::BACKLOG);
    let query = backlog.map_or_else(String::new, |backlog| format!("?backlog={backlog}"));
    let bind = match listen {
        Listen::Port(port) => format!("tcp://127.0.0.1:{port}{query}"),
        Listen::Socket(path) => format!("unix://{}{query}", path.display()),
    };
    let mut arguments = rack::through_bundler(app);
    arguments.push(ABOUT.name.into());
    let mut flag = |name: &str, value: String| arguments.extend([name.to_string(), value]);
    flag("--workers", workers_as_typed(configuration));
    flag("--threads", format!("{threads}:{threads}"));
    flag("--environment", rack::environment(app).into());
    flag("--bind", bind);
    flag("--control-url", format!("unix://{}", control_socket(scratch).display()));
    // No secret: the socket's folder lets nobody else in.
    flag("--control-token", "sweetspot".into());
    // Files are loaded in order and the last one wins.
    if let Some(config) = &app.server_config {
        flag("--config", text(config));
    }
    flag("--config", text(&scratch.join(OVERLAY)));
    arguments.push(app.entry.clone());
    arguments
}

/// The variables by convention as well as the flags: logic inside the app's own settings
/// (preloading, the database pool) reads these and never sees the flags.
fn environment(launch: Launch<'_>) -> BTreeMap<String, String> {
    let configuration = launch.configuration;
    let mut env = rack::production(launch);
    let mut set = |name: &str, value: String| {
        env.insert(name.to_string(), value);
    };
    for name in ["WEB_CONCURRENCY", "HANAMI_WEB_CONCURRENCY", "PUMA_WORKERS"] {
        set(name, workers_as_typed(configuration));
    }
    for prefix in ["", "RAILS_", "PUMA_", "HANAMI_"] {
        set(&format!("{prefix}MIN_THREADS"), configuration.threads.to_string());
        set(&format!("{prefix}MAX_THREADS"), configuration.threads.to_string());
    }
    env
}

fn overlay(app: &App, scratch: &Path) -> String {
    let words = [("SCRATCH", rack::quoted(scratch)), ("FOLDER", rack::quoted(&app.folder))];
    let written = filled(include_str!("overlay.rb"), &words);
    knobs::added_to(written, app)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;
    use crate::server::tests::{assert_roles, on_port};

    fn app() -> App {
        App {
            server_config: Some("config/puma.rb".into()),
            is_bundled: true,
            ..App::new("/srv/shop", Framework::Rails, "config.ru")
        }
    }

    fn launch(app: &App, workers: u16, threads: u16) -> Recipe {
        on_port(&Puma, app, workers, threads)
    }

    #[test]
    fn flags_and_variables_say_the_same() {
        let recipe = launch(&app(), 4, 3);
        let line = recipe.commands[0].arguments.join(" ");
        assert!(line.starts_with("bundle exec puma --workers 4 --threads 3:3 "), "{line}");
        assert!(
            line.ends_with("--config config/puma.rb --config /tmp/scratch/overlay.rb config.ru"),
            "{line}"
        );
        let env = &recipe.commands[0].env;
        assert_eq!(env["WEB_CONCURRENCY"], "4");
        for name in ["RAILS_MAX_THREADS", "RAILS_MIN_THREADS", "MAX_THREADS", "PUMA_MIN_THREADS"] {
            assert_eq!(env[name], "3", "{name}");
        }
        assert_eq!(env["HANAMI_WEB_CONCURRENCY"], "4");
        assert_eq!(env["HANAMI_MAX_THREADS"], "3");
        assert_eq!(env["PORT"], "4000");
        assert_eq!(env["RAILS_ENV"], "production");
    }

    #[test]
    fn one_worker_runs_in_single_mode_and_is_ready_when_it_listens() {
        let recipe = launch(&app(), 1, 5);
        assert!(recipe.commands[0].arguments.join(" ").contains("--workers 0 --threads 5:5"));
        assert_eq!(recipe.commands[0].env["WEB_CONCURRENCY"], "0");
        let ready = recipe.ready_line.unwrap();
        assert!(ready.matches("Use Ctrl-C to stop") && ready.count == 1);
    }

    #[test]
    fn every_worker_has_to_say_that_it_has_booted() {
        let ready = launch(&app(), 3, 1).ready_line.unwrap();
        assert_eq!(ready.count, 3);
        assert!(ready.matches("[71] - Worker 0 (PID: 72) booted in 0.01s, phase: 0"));
        assert!(!ready.matches("[71] * Listening on http://127.0.0.1:4000"));
    }

    #[test]
    fn an_app_without_settings_of_its_own_gets_the_overlay_alone() {
        let app = App { server_config: None, is_bundled: false, ..app() };
        let line = launch(&app, 2, 2).commands[0].arguments.join(" ");
        assert!(line.starts_with("puma --workers 2"), "{line}");
        assert_eq!(line.matches("--config").count(), 1, "{line}");
    }

    #[test]
    fn a_folder_with_ruby_syntax_in_its_name_stays_a_name() {
        let app = App { folder: "/srv/a\"b#{c}".into(), ..app() };
        let overlay = &launch(&app, 1, 1).files[0].1;
        assert!(overlay.contains(r#"directory "/srv/a\"b\#{c}""#), "{overlay}");
    }

    #[test]
    fn roles_follow_from_the_title_and_the_mode() {
        let master = "puma 5.6.5 (tcp://127.0.0.1:4000) [shop]";
        assert_roles(
            &Puma,
            &[
                (2, true, master, Role::Master),
                (2, false, "puma: cluster worker 1: 77 [shop]", Role::Worker),
                (2, false, "ruby bin/helper", Role::Other),
                (1, true, master, Role::Worker),
                (1, false, "node server-side-rendering.js", Role::Other),
            ],
        );
    }
}
