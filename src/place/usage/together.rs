//! Several pods of one app, as if they were one server.
//!
//! In: what each of them used, in the same order every time. Out: the sum. Ids of processes are
//! kept apart, as each container counts its own from 1.

use std::collections::BTreeSet;

use crate::terms::{BlindSpot, GroupUse, MonitorRecord, MonitorSecond, ProcessMemory, Role};

/// More than the ids of a container's processes.
const PIDS_A_POD: u32 = 1_000_000;

/// The records of one load, one of each pod, which may use so many cores together. Of what is not
/// seen of one pod nothing is known of all: seconds that all have are added up, by when they began,
/// and memory where all told it.
pub fn together(records: Vec<MonitorRecord>, cores: f64) -> MonitorRecord {
    if records.len() == 1 {
        return records.into_iter().next().unwrap_or_default();
    }
    let at = |second: &MonitorSecond| second.at_s.round() as i64;
    let of = |wanted: i64| {
        let find =
            |record: &MonitorRecord| record.seconds.iter().find(|it| at(it) == wanted).cloned();
        records.iter().map(find).collect::<Option<Vec<_>>>()
    };
    let firsts =
        records.first().map(|record| record.seconds.iter().map(at).collect::<BTreeSet<_>>());
    let together = firsts.into_iter().flatten().filter_map(of);
    let seconds: Vec<MonitorSecond> =
        together.map(|all| with_mean_share(add(all), cores)).collect();
    let mut blind_spots = Vec::new();
    for blind_spot in records.iter().flat_map(|record| &record.blind_spots) {
        if !blind_spots.contains(blind_spot) {
            blind_spots.push(blind_spot.clone());
        }
    }
    if seconds.is_empty() && !blind_spots.contains(&BlindSpot::NothingWatched.into()) {
        blind_spots.push(BlindSpot::NothingWatched.into());
    }
    let is_partial = records.iter().any(|record| record.memory.is_empty());
    let memory = records.into_iter().map(|record| record.memory).collect();
    let memory = if is_partial { Vec::new() } else { add_memory(memory) };
    MonitorRecord { seconds, memory, blind_spots }
}

/// Each pod's busy cores are shares of its own limit: their mean stands for the cores of all.
fn with_mean_share(mut second: MonitorSecond, cores: f64) -> MonitorSecond {
    let busy = &second.host.cores_busy;
    let mean = busy.iter().sum::<f64>() / busy.len().max(1) as f64;
    second.host.cores_busy = vec![mean; cores.ceil() as usize];
    second
}

/// The same second of several pods, as of one server. Workers are numbered on from pod to pod.
pub fn add(seconds: Vec<MonitorSecond>) -> MonitorSecond {
    let count = seconds.len().max(1) as f64;
    let length_s = seconds.iter().map(|second| second.length_s).sum::<f64>() / count;
    let at_s = seconds.iter().map(|second| second.at_s).reduce(f64::min).unwrap_or(0.0);
    let groups = seconds.iter().map(|second| second.group.clone());
    // What one pod does not tell is not known of all.
    let sum = |a: GroupUse, b: GroupUse| a.with(&b, u64::saturating_add, |a, b| a + b);
    let group = groups.reduce(|a, b| Some(sum(a?, b?))).flatten();
    let group = group.map(|group| with_mean_pressure(group, seconds.len()));
    let mut all = MonitorSecond { at_s, length_s, group, ..MonitorSecond::default() };
    for (pod, second) in seconds.into_iter().enumerate() {
        let processes = second.processes.into_iter().map(|mut process| {
            process.pid = pid_in(pod, process.pid);
            process
        });
        all.processes.extend(processes);
        all.host.cores_busy.extend(second.host.cores_busy);
        all.host.throttled_s += second.host.throttled_s;
        all.host.throttled_periods += second.host.throttled_periods;
        all.host.periods += second.host.periods;
    }
    let workers = all.processes.iter_mut().filter(|process| process.role == Role::Worker);
    for (index, worker) in workers.enumerate() {
        worker.index = u16::try_from(index).ok();
    }
    all
}

/// The memory of several pods' processes, with the ids that [`add`] gives them.
fn add_memory(pods: Vec<Vec<ProcessMemory>>) -> Vec<ProcessMemory> {
    let of_pod = |(pod, processes): (usize, Vec<ProcessMemory>)| {
        processes
            .into_iter()
            .map(move |process| ProcessMemory { pid: pid_in(pod, process.pid), ..process })
    };
    pods.into_iter().enumerate().flat_map(of_pod).collect()
}

fn pid_in(pod: usize, pid: u32) -> u32 {
    let pod = u32::try_from(pod).unwrap_or(u32::MAX);
    pod.saturating_mul(PIDS_A_POD).saturating_add(pid)
}

/// These are parts of the time that went by, which is the same for all pods: their mean stands for
/// all of them.
fn with_mean_pressure(sum: GroupUse, pods: usize) -> GroupUse {
    let mean = |seconds: Option<f64>| seconds.map(|seconds| seconds / pods as f64);
    GroupUse {
        cpu_pressure_s: mean(sum.cpu_pressure_s),
        memory_pressure_s: mean(sum.memory_pressure_s),
        io_pressure_s: mean(sum.io_pressure_s),
        ..sum
    }
}
