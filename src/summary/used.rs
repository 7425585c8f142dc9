//! What the server and the generator used in the measured part of a trial.

use std::collections::BTreeMap;

use crate::stats::{Estimate, slope};
use crate::terms::{
    GroupUse, HostUse, InsideUse, LoadDoubt, MonitorRecord, MonitorSecond, ProcessMemory,
    ProcessNames, Role, Stated, TrialRecord, Warning, WorkerShare, code,
};

/// Use over the measured part, warm-up left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Used {
    /// CPU seconds by role: "master", "worker", "other", "generator".
    pub cpu_s: BTreeMap<String, f64>,
    /// By worker index.
    pub workers: Vec<WorkerShare>,
    /// Seconds that the monitor saw.
    pub seen_s: f64,
    /// Cores that the figures of cores are about: those the server may run on.
    pub cores_seen: f64,
    /// Mean busy share of all the host's cores, 0..=1; `None` when it was not seen.
    pub host_busy: Option<f64>,
    /// Seconds stolen by the hypervisor.
    pub steal_s: f64,
    /// Total PSS of the server's processes; `None` when it could not be read.
    pub memory_bytes: Option<u64>,
    /// Share of the quota's periods in which a quota held the server back, 0..=1.
    pub throttled: f64,
    /// Processes beside the server on its cores, the busiest first.
    pub neighbours: Vec<Neighbour>,
    pub queue: ListenQueueUse,
    pub memory: MemoryUse,
    /// Of the memory in use by all processes, bytes a second; `None` where too little was seen.
    pub memory_growth: Option<Estimate>,
    /// What a probe inside the server told, all processes together; `None` without one.
    pub inside: Option<InsideUse>,
}

/// A process beside the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    pub name: Stated<ProcessNames>,
    /// Mean CPU use.
    pub cores: f64,
    /// The server has a connection to it; `None` when that could not be seen.
    pub serves_app: Option<bool>,
}

/// The server's listen queue.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ListenQueueUse {
    /// Mean over all looks.
    pub mean: Option<f64>,
    /// How many may.
    pub backlog: Option<u32>,
    /// Connections turned away; `None` when it could not be seen.
    pub overflows: Option<u64>,
}

/// What the control group said of memory, and the processes of disks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MemoryUse {
    pub limit_bytes: Option<u64>,
    /// The most that was charged.
    pub most_bytes: Option<u64>,
    pub out_of_memory_kills: u64,
    /// Share of the time in which something waited for memory or for a disk, the larger of both,
    /// 0..=1; `None` when not counted.
    pub pressure: Option<f64>,
    /// Pages a second that were evicted and read from a disk again.
    pub refaults_a_second: f64,
}

/// The kernel's own length of a period of the quota, and what container engines set.
const PERIODS_A_SECOND: f64 = 10.0;

impl Used {
    /// CPU of one role in cores; 0 when it was not seen.
    pub fn cores_of(&self, role: &str) -> f64 {
        per_second(self.cpu_s.get(role).copied().unwrap_or(0.0), self.seen_s)
    }

    /// CPU of all the server's processes, cores.
    pub fn server_cores(&self) -> f64 {
        ["master", "worker", "other"].iter().map(|role| self.cores_of(role)).sum()
    }

    /// Share of its cores that the hypervisor gave to others, 0..=1.
    pub fn stolen(&self) -> f64 {
        per_second(self.steal_s, self.seen_s) / self.cores_seen.max(1.0)
    }

    /// CPU use of the worker with the most to do, cores; 0 without workers.
    pub fn busiest_worker(&self) -> f64 {
        self.worker_cores().fold(0.0, f64::max)
    }

    /// CPU use of the worker with the least to do, cores; infinite without workers.
    pub fn idlest_worker(&self) -> f64 {
        self.worker_cores().fold(f64::INFINITY, f64::min)
    }

    /// CPU use of each worker, cores.
    pub fn worker_cores(&self) -> impl Iterator<Item = f64> + '_ {
        self.workers.iter().map(|worker| worker.cpu_cores)
    }
}

/// A mean over the seconds seen; 0 when nothing was.
fn per_second(sum: f64, seen_s: f64) -> f64 {
    if seen_s > 0.0 { sum / seen_s } else { 0.0 }
}

/// Adds up the intervals that lie for the most part between `from_s` and `to_s` of the trial: those
/// of the drain, in which nothing more comes, are left out.
pub fn used(record: &TrialRecord, from_s: f64, to_s: f64) -> Used {
    let measured: Vec<&MonitorSecond> = record
        .monitor
        .seconds
        .iter()
        .filter(|second| (from_s..to_s).contains(&(second.at_s + 0.5 * second.length_s)))
        .collect();
    let seen_s: f64 = measured.iter().map(|second| second.length_s).sum();
    let mut used = Used {
        seen_s,
        steal_s: measured.iter().map(|second| second.host.steal_s).sum(),
        cores_seen: measured.iter().map(|it| it.host.cores_busy.len()).max().unwrap_or(0) as f64,
        host_busy: host_busy(&measured),
        memory_bytes: memory(&record.monitor),
        throttled: throttled(&measured, seen_s),
        neighbours: neighbours(&measured, seen_s),
        queue: queue(&measured),
        memory: memory_use(&measured, seen_s),
        memory_growth: memory_growth(&measured),
        inside: inside(&measured),
        ..Used::default()
    };
    for process in measured.iter().flat_map(|second| &second.processes) {
        *used.cpu_s.entry(code(&process.role)).or_default() += process.cpu_s;
    }
    used.workers = workers(&measured, seen_s, &record.monitor.memory);
    used.cpu_s.insert("generator".to_string(), generator_s(record, seen_s));
    used
}

/// Each worker's use while it lived. A server that renews its workers shows those alone that were
/// there for half of the time, if any was.
fn workers(
    measured: &[&MonitorSecond],
    seen_s: f64,
    at_the_end: &[ProcessMemory],
) -> Vec<WorkerShare> {
    /// Seconds it was there, CPU, run delay.
    type Sums = (f64, f64, f64);
    let mut by_pid: BTreeMap<u32, Sums> = BTreeMap::new();
    for second in measured {
        for worker in second.processes.iter().filter(|it| it.role == Role::Worker) {
            let (there_s, cpu_s, run_delay_s) = by_pid.entry(worker.pid).or_default();
            *there_s += second.length_s;
            *cpu_s += worker.cpu_s;
            *run_delay_s += worker.run_delay_s;
        }
    }
    let was_there = |sums: &Sums| sums.0 >= 0.5 * seen_s;
    if by_pid.values().any(was_there) {
        by_pid.retain(|_, sums| was_there(sums));
    }
    by_pid
        .into_iter()
        .zip(0u16..)
        .map(|((pid, (there_s, cpu_s, run_delay_s)), index)| WorkerShare {
            index,
            pid,
            cpu_cores: cpu_s / there_s,
            run_delay_cores: run_delay_s / there_s,
            memory_bytes: at_the_end.iter().find(|it| it.pid == pid).map(|it| it.pss_bytes),
        })
        .collect()
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

fn throttled(measured: &[&MonitorSecond], seen_s: f64) -> f64 {
    let sum = |figure: fn(&HostUse) -> u64| -> f64 {
        measured.iter().map(|second| figure(&second.host)).sum::<u64>() as f64
    };
    let periods = match sum(|host| host.periods) {
        // Recorded before they were counted.
        0.0 => seen_s * PERIODS_A_SECOND,
        counted => counted,
    };
    let throttled = sum(|host| host.throttled_periods);
    if periods > 0.0 { (throttled / periods).min(1.0) } else { 0.0 }
}

fn neighbours(measured: &[&MonitorSecond], seen_s: f64) -> Vec<Neighbour> {
    let mut by_pid: BTreeMap<u32, Neighbour> = BTreeMap::new();
    for seen in measured.iter().flat_map(|second| &second.host.neighbours) {
        let begun = || Neighbour { name: seen.name.clone(), cores: 0.0, serves_app: None };
        let neighbour = by_pid.entry(seen.pid).or_insert_with(begun);
        neighbour.name.clone_from(&seen.name);
        neighbour.cores += seen.cpu_s / seen_s;
        // Seen once is enough; not seen may be seen later.
        neighbour.serves_app = neighbour.serves_app.max(seen.serves_app);
    }
    let mut neighbours: Vec<Neighbour> = by_pid.into_values().collect();
    neighbours.sort_by(|a, b| b.cores.total_cmp(&a.cores));
    neighbours
}

fn queue(measured: &[&MonitorSecond]) -> ListenQueueUse {
    let means: Vec<f64> = measured.iter().filter_map(|it| it.listen_queue_mean).collect();
    let overflows: Vec<u64> = measured.iter().filter_map(|it| it.listen_overflows).collect();
    ListenQueueUse {
        mean: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64),
        backlog: measured.iter().filter_map(|second| second.listen_backlog).next_back(),
        overflows: (!overflows.is_empty()).then(|| overflows.iter().sum()),
    }
}

fn memory_use(measured: &[&MonitorSecond], seen_s: f64) -> MemoryUse {
    let groups: Vec<&GroupUse> = measured.iter().filter_map(|it| it.group.as_ref()).collect();
    let sum = |figure: fn(&GroupUse) -> Option<u64>| -> u64 {
        groups.iter().copied().filter_map(figure).sum()
    };
    let share = |seconds: fn(&GroupUse) -> Option<f64>| {
        let waits: Vec<f64> = groups.iter().copied().filter_map(seconds).collect();
        let is_seen = !waits.is_empty() && seen_s > 0.0;
        is_seen.then(|| (waits.iter().sum::<f64>() / seen_s).min(1.0))
    };
    let (for_memory, for_disk) = (share(|it| it.memory_pressure_s), share(|it| it.io_pressure_s));
    let refaults = sum(|group| group.refaulted_pages);
    MemoryUse {
        limit_bytes: groups.iter().find_map(|group| group.memory_limit_bytes),
        most_bytes: groups.iter().filter_map(|group| group.memory_bytes).max(),
        out_of_memory_kills: sum(|group| group.out_of_memory_kills),
        pressure: for_memory.zip(for_disk).map(|(memory, disk)| memory.max(disk)),
        refaults_a_second: per_second(refaults as f64, seen_s),
    }
}

/// Shared pages count once for each process, but they do not grow. Only seconds with as many
/// processes as the last are compared: one that came brought its memory with it.
fn memory_growth(measured: &[&MonitorSecond]) -> Option<Estimate> {
    let processes = measured.last()?.processes.len();
    let alike = measured.iter().filter(|second| second.processes.len() == processes);
    let sums = alike.map(|second| {
        second.processes.iter().map(|process| process.resident_bytes as f64).sum::<f64>()
    });
    slope(&sums.collect::<Vec<_>>()).filter(|growth| growth.value.is_finite())
}

/// A worker that is busy for this share of the time shows that there was enough for all.
const BUSY_ENOUGH: f64 = 0.5;
/// The idlest worker has less than this share of the busiest one's CPU.
const UNEVEN: f64 = 0.5;

/// Says so when some workers had much more to do than others: what was measured was a part of the
/// server.
pub fn doubt_balance(used: &Used) -> Option<Warning> {
    let (busiest, idlest) = (used.busiest_worker(), used.idlest_worker());
    let is_uneven = busiest >= BUSY_ENOUGH && idlest < UNEVEN * busiest;
    is_uneven
        .then(|| LoadDoubt::WorkersUneven { busiest_cores: busiest, idlest_cores: idlest }.into())
}

fn inside(measured: &[&MonitorSecond]) -> Option<InsideUse> {
    let all = measured.iter().flat_map(|second| &second.inside);
    all.fold(None, |sum: Option<InsideUse>, one| {
        let Some(sum) = sum else { return Some(one.clone()) };
        // What one process cannot tell is not known of all.
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        Some(InsideUse {
            requests: sum.requests + one.requests,
            app_s: sum.app_s + one.app_s,
            cpu_s: sum.cpu_s + one.cpu_s,
            gc_s: both(sum.gc_s, one.gc_s),
            gvl_wait_s: both(sum.gvl_wait_s, one.gvl_wait_s),
            queue_s: both(sum.queue_s, one.queue_s),
            probe_s: sum.probe_s + one.probe_s,
            ..sum
        })
    })
}

fn memory(monitor: &MonitorRecord) -> Option<u64> {
    (!monitor.memory.is_empty()).then(|| monitor.memory.iter().map(|m| m.pss_bytes).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{NeighbourUse, ProcessUse};

    fn second(at_s: f64, host: HostUse) -> MonitorSecond {
        MonitorSecond { at_s, length_s: 1.0, host, ..MonitorSecond::default() }
    }

    #[test]
    fn a_neighbour_is_one_process_over_all_seconds_and_serves_when_it_once_did() {
        let neighbour = |pid, cpu_s, serves_app| {
            let name = Stated::Verbatim(format!("process {pid}"));
            NeighbourUse { pid, name, cpu_s, serves_app }
        };
        let seconds = [
            vec![neighbour(7, 0.5, Some(false)), neighbour(8, 0.3, None)],
            vec![neighbour(7, 0.25, Some(true)), neighbour(8, 0.9, None)],
        ]
        .map(|neighbours| second(0.0, HostUse { neighbours, ..HostUse::default() }));
        let found = neighbours(&seconds.iter().collect::<Vec<_>>(), 2.0);
        assert_eq!(found[0].name, Stated::Verbatim("process 8".into()));
        assert_eq!(found[0].serves_app, None);
        assert_eq!((found[1].cores, found[1].serves_app), (0.375, Some(true)));
        assert!((found[0].cores - 0.6).abs() < 1e-12);
    }

    #[test]
    fn growth_is_told_of_seconds_with_the_same_processes() {
        let with = |sizes: &[u64]| MonitorSecond {
            processes: sizes
                .iter()
                .map(|&resident_bytes| ProcessUse { resident_bytes, ..ProcessUse::default() })
                .collect(),
            ..MonitorSecond::default()
        };
        let seconds =
            [with(&[9]), with(&[100, 50]), with(&[110, 50]), with(&[120, 50]), with(&[130, 50])];
        let growth = memory_growth(&seconds.iter().collect::<Vec<_>>()).unwrap();
        assert!((growth.value - 10.0).abs() < 1e-9, "{growth:?}");
        assert_eq!(memory_growth(&[]), None);
    }

    #[test]
    fn uneven_workers_are_told_only_when_one_has_much_to_do() {
        let used = |shares: &[f64]| {
            let share = |(index, cpu_cores): (usize, &f64)| WorkerShare {
                index: index as u16,
                pid: index as u32 + 1,
                cpu_cores: *cpu_cores,
                run_delay_cores: 0.0,
                memory_bytes: None,
            };
            Used { workers: shares.iter().enumerate().map(share).collect(), ..Used::default() }
        };
        for (shares, expected) in
            [(&[0.9, 0.1][..], true), (&[0.9, 0.8], false), (&[0.2, 0.0], false), (&[0.9], false)]
        {
            assert_eq!(doubt_balance(&used(shares)).is_some(), expected, "{shares:?}");
        }
    }

    #[test]
    fn throttling_is_a_share_of_the_periods() {
        let of = |periods| {
            let host = HostUse { throttled_periods: 4, periods, ..HostUse::default() };
            let seconds = [second(0.0, host.clone()), second(1.0, host)];
            throttled(&seconds.iter().collect::<Vec<_>>(), 2.0)
        };
        assert_eq!(of(5), 0.8, "periods of 200 ms");
        assert_eq!(of(0), 0.4, "not counted: those of 100 ms");
        assert_eq!(throttled(&[], 0.0), 0.0);
    }

    #[test]
    fn what_one_process_cannot_tell_is_not_known_of_all() {
        let one = |pid, gc_s| InsideUse { pid, requests: 5, gc_s, ..InsideUse::default() };
        let seconds = [MonitorSecond {
            inside: vec![one(1, Some(0.5)), one(2, None)],
            ..MonitorSecond::default()
        }];
        let found = inside(&seconds.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.requests, found.gc_s), (10, None));
        assert_eq!(inside(&[]), None);
    }
}
