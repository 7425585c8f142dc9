//! The seconds of a trial in few bytes: what pictures of it are drawn from.
//!
//! In: what was recorded of a trial. Out: a list a figure, a value a second. Computes only.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::terms::{Latencies, LoadRecord, MonitorRecord, MonitorSecond, Role, TrialSummary};

/// What was seen of one trial, second by second. What the load itself shows is in the summary's
/// windows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detail {
    pub monitor: Monitored,
    /// The latencies of the measured part: (quantile 0..=1, seconds), ascending, the last one is
    /// the slowest. Empty when nothing was measured.
    pub spectrum: Vec<(f64, f64)>,
}

/// What was watched; an entry a second in each list, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Monitored {
    /// Start of each second, from the start of the load.
    pub at_s: Vec<f64>,
    /// Connections that wait to be accepted; `None` where that could not be seen.
    pub queue: Vec<Option<u32>>,
    /// How many may wait there.
    pub backlog: Option<u32>,
    /// Busy cores among those looked at, the load generator's part included.
    pub busy_cores: Vec<f64>,
    pub steal_cores: Vec<f64>,
    pub throttled_cores: Vec<f64>,
    /// In order of role and index.
    pub processes: Vec<Process>,
}

/// One process of the server: busy cores in each second, 0 where it was not seen.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    pub pid: u32,
    pub role: Role,
    pub index: Option<u16>,
    pub name: String,
    pub cores: Vec<f64>,
}

/// Points for each halving of what lies above a quantile.
const POINTS: u32 = 4;

impl Detail {
    /// Of a trial's records.
    pub fn of(summary: &TrialSummary, load: &LoadRecord, monitor: &MonitorRecord) -> Self {
        let left_out = summary.warm_up.left_out_s.max(0.0).ceil() as usize;
        let mut measured = Latencies::default();
        for second in load.seconds.iter().skip(left_out) {
            measured.add(&second.latency);
        }
        Self { monitor: Monitored::of(&monitor.seconds), spectrum: spectrum(&measured) }
    }
}

/// Quantiles at equal distances on the scale of 1 / (1 - q), up to the last that a request stands
/// for (Tene's percentile plots have the same scale).
fn spectrum(latencies: &Latencies) -> Vec<(f64, f64)> {
    let count = latencies.count() as f64;
    let at = |q: f64| latencies.quantile(q).map(|it| (q, it.as_secs_f64()));
    let halvings = (0..).map(|n| (0.5_f64.powi(n / POINTS as i32), n % POINTS as i32));
    let below = halvings
        .map(|(left, part)| 1.0 - left * (1.0 - 0.5 * f64::from(part) / f64::from(POINTS)))
        .take_while(|q| (1.0 - q) * count >= 1.0);
    below.chain([1.0]).filter_map(at).collect()
}

impl Monitored {
    fn of(seconds: &[MonitorSecond]) -> Self {
        let cores = |second: &MonitorSecond, spent_s: f64| milli(spent_s / length_s(second));
        Self {
            at_s: seconds.iter().map(|second| milli(second.at_s)).collect(),
            queue: seconds.iter().map(|second| second.listen_queue).collect(),
            backlog: seconds.iter().find_map(|second| second.listen_backlog),
            busy_cores: seconds
                .iter()
                .map(|second| milli(second.host.cores_busy.iter().sum()))
                .collect(),
            steal_cores: seconds.iter().map(|it| cores(it, it.host.steal_s)).collect(),
            throttled_cores: seconds.iter().map(|it| cores(it, it.host.throttled_s)).collect(),
            processes: processes(seconds),
        }
    }
}

fn processes(seconds: &[MonitorSecond]) -> Vec<Process> {
    let mut found: BTreeMap<u32, Process> = BTreeMap::new();
    for (at, second) in seconds.iter().enumerate() {
        for one in &second.processes {
            let process = found.entry(one.pid).or_insert_with(|| Process {
                pid: one.pid,
                role: one.role,
                index: one.index,
                name: one.name.clone(),
                cores: vec![0.0; seconds.len()],
            });
            // A worker shows its role and its name only once it serves.
            (process.role, process.index) = (one.role, one.index.or(process.index));
            process.name.clone_from(&one.name);
            process.cores[at] = milli(one.cpu_s / length_s(second));
        }
    }
    let mut processes: Vec<Process> = found.into_values().collect();
    processes.sort_by_key(|process| (process.role, process.index, process.pid));
    processes
}

/// Never so short that a share of it means nothing.
fn length_s(second: &MonitorSecond) -> f64 {
    second.length_s.max(0.001)
}

/// To three decimals: no picture shows more, and a file of many seconds stays small.
fn milli(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::terms::ProcessUse;

    #[test]
    fn the_spectrum_ends_with_the_slowest_and_claims_no_quantile_without_a_request() {
        let mut latencies = Latencies::default();
        (1..=100).for_each(|ms| latencies.record(Duration::from_millis(ms)));
        let points = spectrum(&latencies);
        assert_eq!(points.first().map(|p| p.0), Some(0.0));
        let (last, before) = (points[points.len() - 1], points[points.len() - 2]);
        assert_eq!(last.0, 1.0);
        assert!((last.1 - 0.1).abs() < 0.001, "{last:?}");
        assert!(before.0 <= 0.99 && before.0 > 0.98, "{before:?}");
        assert!(points.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1));
        assert!(spectrum(&Latencies::default()).is_empty());
    }

    #[test]
    fn a_process_that_comes_later_has_nothing_before() {
        let process = |pid, role, index, cpu_s| ProcessUse {
            pid,
            role,
            index,
            cpu_s,
            ..ProcessUse::default()
        };
        let second = |at_s, processes| MonitorSecond {
            at_s,
            length_s: 0.5,
            processes,
            ..MonitorSecond::default()
        };
        let seconds = [
            second(0.0, vec![process(9, Role::Worker, Some(0), 0.25)]),
            second(
                0.5,
                vec![process(9, Role::Worker, Some(0), 0.5), process(4, Role::Master, None, 0.05)],
            ),
        ];
        let found = processes(&seconds);
        assert_eq!(found.iter().map(|it| it.pid).collect::<Vec<_>>(), [4, 9]);
        assert_eq!(found[0].cores, [0.0, 0.1]);
        assert_eq!(found[1].cores, [0.5, 1.0]);
    }
}
