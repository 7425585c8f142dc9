//! A workload's plan, and the service that its app waits for.
//!
//! In: a workload. Out: one thing typed, from which both our own capacities and the command's are
//! measured, so that neither has a setting that the other lacks.

use std::ffi::OsString;
use std::path::Path;

use sweetspot::place::local::services::Services;
use sweetspot::place::local::{LocalSettings, scratch_places};
use sweetspot::plan::{self, Plan, Typed};
use sweetspot::session::here;
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
        let typed = Typed {
            app: Some(root.join(workload.app)),
            server: Some("puma".to_string()),
            target: vec![format!("GET {}", workload.path)],
            slo: Some(workload.slo.to_string()),
            workers: Some(comma_list(&sizes.workers)),
            threads: Some(comma_list(&sizes.threads)),
            budget: Some(sizes.tune_budget.clone()),
            env: env.map(|(name, value)| format!("{name}={value}")).collect(),
            yes: true,
            ..Typed::default()
        };
        let plan = plan::resolve(&typed, &here::surroundings()?)?;
        Ok(Self { plan, stop: stop.clone(), typed, _services: services })
    }

    /// Where our own capacities are measured.
    pub fn settings(&self) -> Result<LocalSettings> {
        Ok(LocalSettings { guardian: program(), ..here::settings(&self.plan)? })
    }

    /// The same for the command.
    pub fn arguments(&self) -> Vec<OsString> {
        let Typed { app, server, slo, workers, threads, budget, target, env, .. } = &self.typed;
        let app = app.iter().flat_map(|app| ["--app".into(), app.clone().into_os_string()]);
        let once = [
            ("--server", server),
            ("--slo", slo),
            ("--workers", workers),
            ("--threads", threads),
            ("--budget", budget),
        ];
        let once = once.into_iter().flat_map(|(flag, value)| value.iter().map(move |v| (flag, v)));
        let targets = target.iter().map(|one| ("--target", one));
        let variables = env.iter().map(|one| ("--env", one));
        let all = once.chain(targets).chain(variables);
        let all = all.flat_map(|(flag, value)| [OsString::from(flag), OsString::from(value)]);
        [OsString::from("--yes")].into_iter().chain(app).chain(all).collect()
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
