//! What the server and the generator used in the measured part of a trial.

use std::collections::BTreeMap;

use crate::terms::{MonitorRecord, MonitorSecond, Role, TrialRecord, WorkerShare};

/// Use over the measured part, warm-up left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Used {
    /// CPU seconds by role: "master", "worker", "other", "generator".
    pub cpu_s: BTreeMap<String, f64>,
    /// By worker index.
    pub workers: Vec<WorkerShare>,
    /// Seconds that the monitor saw.
    pub seen_s: f64,
    /// Mean busy share of all the host's cores, 0..=1; `None` when it was not seen.
    pub host_busy: Option<f64>,
    /// Seconds stolen by the hypervisor.
    pub steal_s: f64,
    /// Total PSS of the server's processes; `None` when it could not be read.
    pub memory_bytes: Option<u64>,
}

impl Used {
    /// CPU of one role in cores; 0 when it was not seen.
    pub fn cores_of(&self, role: &str) -> f64 {
        let seconds = self.cpu_s.get(role).copied().unwrap_or(0.0);
        if self.seen_s > 0.0 { seconds / self.seen_s } else { 0.0 }
    }

    /// CPU of all the server's processes, cores.
    pub fn server_cores(&self) -> f64 {
        ["master", "worker", "other"].iter().map(|role| self.cores_of(role)).sum()
    }
}

/// Adds up the intervals that lie wholly between `from_s` and `to_s` of the trial.
pub fn used(record: &TrialRecord, from_s: f64, to_s: f64) -> Used {
    let measured: Vec<&MonitorSecond> = record
        .monitor
        .seconds
        .iter()
        .filter(|second| second.at_s >= from_s - 0.5 && second.at_s + second.length_s <= to_s + 0.5)
        .collect();
    let seen_s: f64 = measured.iter().map(|second| second.length_s).sum();
    let mut used = Used {
        seen_s,
        steal_s: measured.iter().map(|second| second.host.steal_s).sum(),
        host_busy: host_busy(&measured),
        memory_bytes: memory(&record.monitor),
        ..Used::default()
    };
    let mut workers: BTreeMap<u32, WorkerShare> = BTreeMap::new();
    for process in measured.iter().flat_map(|second| &second.processes) {
        *used.cpu_s.entry(role_name(process.role).to_string()).or_default() += process.cpu_s;
        if process.role == Role::Worker {
            let share = workers.entry(process.pid).or_insert(WorkerShare {
                index: 0,
                pid: process.pid,
                cpu_cores: 0.0,
                run_delay_cores: 0.0,
            });
            share.cpu_cores += process.cpu_s / seen_s;
            share.run_delay_cores += process.run_delay_s / seen_s;
        }
    }
    used.workers = workers
        .into_values()
        .zip(0u16..)
        .map(|(share, index)| WorkerShare { index, ..share })
        .collect();
    used.cpu_s.insert("generator".to_string(), generator_s(record, seen_s));
    used
}

/// The generator reports its CPU for the whole run: the measured part gets its share by time.
fn generator_s(record: &TrialRecord, seen_s: f64) -> f64 {
    let generator = &record.load.run.generator;
    let whole_s = record.load.run.duration.max(record.load.run.last_reply).as_secs_f64();
    let cpu_s = (generator.cpu_user + generator.cpu_system).as_secs_f64();
    if whole_s > 0.0 { cpu_s * (seen_s / whole_s).min(1.0) } else { 0.0 }
}

fn host_busy(measured: &[&MonitorSecond]) -> Option<f64> {
    let shares: Vec<f64> =
        measured.iter().flat_map(|second| second.host.cores_busy.iter().copied()).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

fn memory(monitor: &MonitorRecord) -> Option<u64> {
    (!monitor.memory.is_empty()).then(|| monitor.memory.iter().map(|m| m.pss_bytes).sum())
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Master => "master",
        Role::Worker => "worker",
        Role::Other => "other",
    }
}
