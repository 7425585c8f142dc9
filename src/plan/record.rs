//! The settled plan as it is shown and stored: every value with where it came from, and no secret.

use std::path::PathBuf;
use std::time::Duration;

use super::Surroundings;
use super::settings::{Settings, Sourced};
use crate::server::{self, Adapter, App, Proxy};
use crate::terms::{
    Allowance, Arrivals, Bytes, Change, ConnectionMode, Cores, Goals, Objective, PlanRecord,
    PlanSource, PlannedGoal, PlannedValue, Ratio, Target, Threads, Workers,
};

/// The settled values with their sources.
pub struct Resolved<'a> {
    pub settings: &'a Settings<'a>,
    pub surroundings: &'a Surroundings,
    pub app: Sourced<App>,
    /// Where the app's variables came from.
    pub env_source: PlanSource,
    pub server: Sourced<&'static dyn Adapter>,
    pub proxy: Sourced<Proxy>,
    pub probe: Sourced<bool>,
    pub workers: Sourced<Vec<Workers>>,
    pub threads: Sourced<Vec<Threads>>,
    pub targets: Sourced<Vec<Target>>,
    pub goal: Sourced<PlannedGoal>,
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

impl Resolved<'_> {
    /// In the order in which they are shown.
    pub fn records(&self) -> Vec<PlanRecord> {
        let knobs = self.knobs.iter().map(|knob| record(knob, |it| PlannedValue::Knob(it.clone())));
        let has_threads = self.server.value.has_threads(&self.app.value);
        let mut records = self.of_the_app();
        records.push(record(&self.workers, |counts| PlannedValue::Workers(counts.clone())));
        let threads = || record(&self.threads, |counts| PlannedValue::Threads(counts.clone()));
        records.extend(has_threads.then(threads));
        records.extend(knobs);
        records.extend(self.of_the_load());
        records.extend(self.of_the_machine());
        records.extend([
            record(&self.arrivals, |it| PlannedValue::Arrivals(*it)),
            record(&self.connection, |it| PlannedValue::Connection(*it)),
            record(&self.timeout, |it| PlannedValue::Timeout { seconds: it.as_secs_f64() }),
            record(&self.budget, |it| PlannedValue::Budget { seconds: it.as_secs_f64() }),
            record(&self.precision, |it| PlannedValue::Precision(*it)),
        ]);
        let probe = record(&self.probe, |it| PlannedValue::Probe(*it));
        records.extend(self.probe.value.then_some(probe));
        records.push(self.environment());
        records.extend(self.variables());
        records.extend([
            record(&self.ready, |path| PlannedValue::ReadyPath(path.as_str().into())),
            record(&self.db_connections, |most| PlannedValue::DbConnections(*most)),
            record(&self.seed, |seed| PlannedValue::Seed(*seed)),
            record(&self.store, |store| {
                // As people would type it here.
                let path = store.strip_prefix(self.settings.folder).unwrap_or(store);
                PlannedValue::Store(path.display().to_string())
            }),
        ]);
        records
    }

    fn of_the_app(&self) -> Vec<PlanRecord> {
        let app = record(&self.app, |app| PlannedValue::App {
            folder: app.folder.display().to_string(),
            framework: app.framework,
        });
        let program = self.app.value.command.as_ref().map(|command| command.program().to_string());
        let server = record(&self.server, |adapter| PlannedValue::Server {
            name: adapter.name().to_string(),
            program,
        });
        let proxy = match self.proxy.value {
            Proxy::None => None,
            Proxy::Nginx => Some(record(&self.proxy, |_| PlannedValue::Proxy("nginx".to_string()))),
        };
        [app, server].into_iter().chain(proxy).collect()
    }

    fn of_the_load(&self) -> Vec<PlanRecord> {
        let targets = record(&self.targets, |targets| {
            PlannedValue::Targets(targets.iter().map(Into::into).collect())
        });
        let slo = record(&self.goal, |goal| PlannedValue::Slo {
            common: self.goals.has_common().then(|| goal.clone()),
            has_own: self.goals.has_own(),
        });
        let objective = record(&self.objective, |it| PlannedValue::Objective(*it));
        [Some(targets), self.headers(), Some(slo), Some(objective)].into_iter().flatten().collect()
    }

    fn of_the_machine(&self) -> [PlanRecord; 2] {
        let Surroundings { cores, memory, .. } = self.surroundings;
        let cores = record(&self.cores, |limit| {
            PlannedValue::Cores(limit.map_or(Allowance::All(*cores), Allowance::Limit))
        });
        let memory = record(&self.memory, |limit| {
            PlannedValue::Memory(limit.map_or(Allowance::All(*memory), Allowance::Limit))
        });
        [cores, memory]
    }

    /// Every server that we know is started as it runs where it serves users, unless the user says
    /// otherwise.
    fn environment(&self) -> PlanRecord {
        let (name, source) = match server::environment(&self.app.value) {
            Some((name, Some(_))) => (Some(name.to_string()), self.env_source.clone()),
            Some((name, None)) => (Some(name.to_string()), PlanSource::Default),
            None => (None, PlanSource::Default),
        };
        PlanRecord { value: PlannedValue::Environment(name), source }
    }

    fn variables(&self) -> Option<PlanRecord> {
        let names: Vec<String> = self.app.value.env.keys().cloned().collect();
        (!names.is_empty()).then(|| PlanRecord {
            value: PlannedValue::Variables(names),
            source: self.env_source.clone(),
        })
    }

    fn headers(&self) -> Option<PlanRecord> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.targets.value.iter().flat_map(|target| &target.headers) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.clone());
            }
        }
        let common = self.settings.file.as_ref().and_then(|file| file.headers.as_ref());
        let source = match common {
            _ if !self.settings.typed.header.is_empty() => PlanSource::Flag,
            Some(common) => PlanSource::PlanFile { line: common.line },
            None => self.targets.source.clone(),
        };
        (!names.is_empty()).then_some(PlanRecord { value: PlannedValue::Headers(names), source })
    }
}

fn record<T>(sourced: &Sourced<T>, value: impl FnOnce(&T) -> PlannedValue) -> PlanRecord {
    PlanRecord { value: value(&sourced.value), source: sourced.source.clone() }
}
