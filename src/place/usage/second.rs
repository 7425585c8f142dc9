//! What one container used between two looks, in the form in which monitors record it.
//!
//! In: two looks in a row. Out: a [`MonitorSecond`]. As in all records, what a server used is the
//! sum of its processes; the control group's own figure, which stands beside it, has what began and
//! ended in between as well, and what looking used.

use super::look::{Look, Process};
use super::roles::Roles;
use crate::terms::{
    BlindSpot, Configuration, GroupUse, HostUse, MonitorSecond, ProcessUse, Stated,
};

/// Two time stamps that are the same are at least this far apart: what they are rounded to.
const SHORTEST_S: f64 = 0.01;

/// More cores than any node has, so that a limit that is none does no harm.
const MOST_CORES: f64 = 4096.0;

/// What one container used from one look to the next. `at_s`: when the first of them was, from the
/// start of the load. The busy cores are shares of the container's limit: as many entries as the
/// limit has cores, a part of one being one more, each the share of the limit that was used.
pub fn second(
    before: &Look,
    after: &Look,
    configuration: Configuration,
    limit_cores: f64,
    at_s: f64,
) -> MonitorSecond {
    let length_s = (after.uptime_s - before.uptime_s).max(SHORTEST_S);
    let limit_cores = if limit_cores > 0.0 { limit_cores.min(MOST_CORES) } else { 1.0 };
    let roles = Roles::of(&after.processes, configuration);
    let most_s = length_s * limit_cores;
    let used = |now: &Process| {
        let earlier = before.processes.iter().find(|it| now.is_same_as(it));
        let mut used = use_of(now, earlier, most_s);
        (used.role, used.index) = roles.of_process(now.pid);
        used
    };
    let processes: Vec<ProcessUse> = after.processes.iter().map(used).collect();
    let group = after.group.since(&before.group);
    // `None` where the control group tells nothing at all.
    let group = (group != GroupUse::default()).then_some(group);
    let processes_s: f64 = processes.iter().map(|process| process.cpu_s).sum();
    let cpu_s = group.as_ref().and_then(|group| group.cpu_s).unwrap_or(processes_s);
    let share = (cpu_s / most_s).clamp(0.0, 1.0);
    let host = HostUse {
        cores_busy: vec![share; limit_cores.ceil() as usize],
        throttled_s: (after.throttled_s - before.throttled_s).max(0.0),
        throttled_periods: after.throttled_periods.saturating_sub(before.throttled_periods),
        periods: after.periods.saturating_sub(before.periods),
        ..HostUse::default()
    };
    MonitorSecond { at_s, length_s, processes, host, group, ..MonitorSecond::default() }
}

/// What a process used since `then`, or since it began where it was not there; in that case no more
/// than the container can have used in all (`most_s`), should it only have been overlooked.
fn use_of(now: &Process, then: Option<&Process>, most_s: f64) -> ProcessUse {
    let nothing = Process::default();
    let before = then.unwrap_or(&nothing);
    let mut user_s = (now.utime_s - before.utime_s).max(0.0);
    let mut system_s = (now.stime_s - before.stime_s).max(0.0);
    let cpu_s = user_s + system_s;
    if then.is_none() && cpu_s > most_s {
        user_s *= most_s / cpu_s;
        system_s *= most_s / cpu_s;
    }
    ProcessUse {
        pid: now.pid,
        name: now.comm.clone(),
        cpu_s: user_s + system_s,
        user_s,
        system_s,
        threads: now.threads,
        // Of its first thread alone, so at least this many.
        threads_runnable: if now.is_running { 1.0 } else { 0.0 },
        minor_faults: now.minor_faults.saturating_sub(before.minor_faults),
        major_faults: now.major_faults.saturating_sub(before.major_faults),
        resident_bytes: now.rss_bytes,
        ..ProcessUse::default()
    }
}

/// What is never seen this way: how long threads waited for a core, and connections that wait to be
/// accepted.
pub fn blind_spots() -> Vec<Stated<BlindSpot>> {
    vec![BlindSpot::CoreWaitsOutside.into(), BlindSpot::ListenQueueUnseen { port: None }.into()]
}
