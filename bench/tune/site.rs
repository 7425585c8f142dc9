//! A workload's plan, and the service that its app waits for.
//!
//! In: a workload. Out: one thing typed, from which both our own capacities and the command's are
//! measured, so that neither has a setting that the other lacks.

use std::ffi::OsString;
use sweetspot::place::local::LocalSettings;
use sweetspot::place::local::services::Services;
use sweetspot::plan::{self, Key, Plan, Typed};
use sweetspot::session::local;
use sweetspot::terms::StopSignal;

use super::Sizes;
use crate::common::workload::Workload;
use crate::common::{Result, checkout, program, site};

/// What `tune` itself would settle on for apps as quick as these; given, so that the grid is judged
/// by the same.
pub const SLO: &str = "p95<200ms,errors<0.1%";

pub struct Site {
    pub plan: Plan,
    pub stop: StopSignal,
    typed: Typed,
    /// Ended with the site.
    _services: Services,
}

impl Site {
    pub fn prepare(workload: &Workload, sizes: &Sizes, stop: &StopSignal) -> Result<Self> {
        let mut services = site::services(stop)?;
        if workload.asks_service() {
            site::start_slow_service(&mut services)?;
        }
        let env = services.env().iter();
        let typed = Typed::default()
            .with_path(Key::App, checkout(workload.app))
            .with(Key::Server, "puma")
            .with(Key::Target, format!("GET {}", workload.path))
            .with(Key::Slo, SLO)
            .with(Key::Workers, comma_list(&sizes.workers))
            .with(Key::Threads, comma_list(&sizes.threads))
            .with(Key::Budget, &sizes.tune_budget)
            .with_all(Key::Env, env.map(|(name, value)| format!("{name}={value}")))
            .with(Key::Yes, "true");
        let plan = plan::resolve(&typed, &local::surroundings()?)?;
        Ok(Self { plan, stop: stop.clone(), typed, _services: services })
    }

    /// Where our own capacities are measured.
    pub fn settings(&self) -> Result<LocalSettings> {
        Ok(LocalSettings { guardian: program(), ..local::settings(&self.plan)? })
    }

    /// What the command is given, for the same.
    pub fn arguments(&self) -> Vec<OsString> {
        let flag = |key: Key| OsString::from(format!("--{}", key.name()));
        let paths = self.typed.paths.iter();
        let paths = paths.flat_map(|(key, path)| [flag(*key), path.clone().into_os_string()]);
        let texts = self.typed.texts.iter().filter(|(key, _)| **key != Key::Yes);
        let texts = texts.flat_map(|(key, all)| all.iter().flat_map(|it| [flag(*key), it.into()]));
        [flag(Key::Yes)].into_iter().chain(paths).chain(texts).collect()
    }
}

fn comma_list(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}
