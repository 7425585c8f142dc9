//! Several pods of one app, as if they were one server.
//!
//! In: what each of them used, in the same order every time. Out: the sum. Ids of processes are
//! kept apart, as each container counts its own from 1.

use crate::terms::{GroupUse, MonitorSecond, ProcessMemory, Role};

/// More than the ids of a container's processes.
const PIDS_A_POD: u32 = 1_000_000;

/// The same second of several pods. One that was not seen is a second without a length (the
/// default), so that the others keep their places; the control groups' figures are then unknown.
/// Workers are numbered on from pod to pod.
pub fn add(seconds: Vec<MonitorSecond>) -> MonitorSecond {
    let seen: Vec<&MonitorSecond> = seconds.iter().filter(|it| it.length_s > 0.0).collect();
    let count = seen.len().max(1) as f64;
    let length_s = seen.iter().map(|second| second.length_s).sum::<f64>() / count;
    let at_s = seen.iter().map(|second| second.at_s).reduce(f64::min).unwrap_or(0.0);
    let groups = seconds.iter().map(|second| second.group.clone());
    let group = groups.reduce(|a, b| Some(sum(&a?, &b?))).flatten();
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
pub fn add_memory(pods: Vec<Vec<ProcessMemory>>) -> Vec<ProcessMemory> {
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

/// What one pod does not tell is not known of all.
fn sum(a: &GroupUse, b: &GroupUse) -> GroupUse {
    let counts = |figure: fn(&GroupUse) -> Option<u64>| figure(a)?.checked_add(figure(b)?);
    let times = |figure: fn(&GroupUse) -> Option<f64>| Some(figure(a)? + figure(b)?);
    GroupUse {
        cpu_s: times(|group| group.cpu_s),
        memory_bytes: counts(|group| group.memory_bytes),
        anonymous_bytes: counts(|group| group.anonymous_bytes),
        swap_bytes: counts(|group| group.swap_bytes),
        memory_limit_bytes: counts(|group| group.memory_limit_bytes),
        memory_limit_hits: counts(|group| group.memory_limit_hits),
        refaulted_pages: counts(|group| group.refaulted_pages),
        out_of_memory_kills: counts(|group| group.out_of_memory_kills),
        cpu_pressure_s: times(|group| group.cpu_pressure_s),
        memory_pressure_s: times(|group| group.memory_pressure_s),
        io_pressure_s: times(|group| group.io_pressure_s),
    }
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
