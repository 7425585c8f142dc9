//! What is typed for a workload, and the service that its app waits for.

use sweetspot::plan::{Key, Typed};
use sweetspot::terms::StopSignal;

use super::Sizes;
use crate::common::tuned::Tuned;
use crate::common::workload::Workload;
use crate::common::{Result, checkout, site};

/// What `tune` itself would settle on for apps as quick as these; given, so that the grid is judged
/// by the same.
pub const SLO: &str = "p95<200ms,errors<0.1%";

pub fn prepare(workload: &Workload, sizes: &Sizes, stop: &StopSignal) -> Result<Tuned> {
    let mut services = site::services(stop)?;
    if workload.asks_service() {
        site::start_slow_service(&mut services)?;
    }
    let cpus = Some(&sizes.cpus).filter(|cpus| !cpus.is_empty());
    let typed = Typed::default()
        .with_path(Key::App, checkout(workload.app))
        .with(Key::Target, format!("GET {}", workload.path))
        .with(Key::Slo, SLO)
        .with(Key::Workers, comma_list(&sizes.workers))
        .with(Key::Threads, comma_list(&sizes.threads))
        .with(Key::Budget, &sizes.tune_budget);
    let typed = cpus.into_iter().fold(typed, |typed, cpus| typed.with(Key::Cpus, cpus));
    Tuned::prepare(typed, services, stop)
}

fn comma_list(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}
