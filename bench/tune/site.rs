//! A workload's plan, and the service that its app waits for.
//!
//! In: a workload. Out: one thing typed, from which both our own capacities and the command's are
//! measured, so that neither has a setting that the other lacks.

use std::ffi::OsString;
use std::path::Path;

use sweetspot::place::local::services::Services;
use sweetspot::place::local::{LocalSettings, scratch_places};
use sweetspot::plan::{self, Key, Plan, Typed};
use sweetspot::session::local;
use sweetspot::terms::StopSignal;

use crate::sizes::Sizes;
use crate::workload::Workload;
use crate::{Result, program};

pub struct Site {
    pub plan: Plan,
    pub stop: StopSignal,
    typed: Typed,
    /// Ended with the site.
    _services: Option<Services>,
}

impl Site {
    pub fn prepare(workload: &Workload, sizes: &Sizes, stop: &StopSignal) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let services = workload.asks_service.then(|| service(root, stop)).transpose()?;
        let env = services.iter().flat_map(Services::env);
        let typed = Typed::default()
            .with_path(Key::App, root.join(workload.app))
            .with(Key::Server, "puma")
            .with(Key::Target, format!("GET {}", workload.path))
            .with(Key::Slo, workload.slo)
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

    /// The same for the command.
    pub fn arguments(&self) -> Vec<OsString> {
        let flag = |key: Key| OsString::from(format!("--{}", key.name()));
        let paths = self.typed.paths.iter();
        let paths = paths.flat_map(|(key, path)| [flag(*key), path.clone().into_os_string()]);
        let texts = self.typed.texts.iter().filter(|(key, _)| **key != Key::Yes);
        let texts = texts.flat_map(|(key, all)| all.iter().flat_map(|it| [flag(*key), it.into()]));
        [flag(Key::Yes)].into_iter().chain(paths).chain(texts).collect()
    }
}

/// The one of the published experiment with a slow endpoint.
fn service(root: &Path, stop: &StopSignal) -> Result<Services> {
    let mut services = Services::begin(&program(), &scratch_places(), stop.clone())?;
    services.start_external("ruby external.rb", &root.join("labs/mixed-rails/app"))?;
    Ok(services)
}

fn comma_list(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}
