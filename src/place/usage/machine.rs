//! An app's own processes among all of a machine, where it runs in no container.
//!
//! In: the looks at one load. Out: the same with the app's processes alone. Only computes.

use super::look::{Look, Process, family};

/// What starts kernel threads; seen only where all of a machine is.
const KTHREADD: (u32, &str) = (2, "kthreadd");

/// Processes up to this one are no app's: those that start all others.
const LAST_OF_SYSTEM: u32 = 2;

/// The looks with the app's processes alone, where they show a whole machine: whoever used most
/// from the first look to the last, the process that made it, and everything below that. What the
/// control group tells is the machine's then, and left out. Looks into a container stay as they
/// are.
pub fn of_app(looks: Vec<Look>) -> Vec<Look> {
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else { return looks };
    if !is_whole_machine(last) {
        return looks;
    }
    let Some(root) = root(first, last) else { return looks };
    let of_app = |look: &Look| {
        let ours = family(root, &look.processes);
        let is_ours = |process: &&Process| ours.contains(&process.pid);
        let processes = look.processes.iter().filter(is_ours).cloned().collect();
        Look { uptime_s: look.uptime_s, processes, ..Look::default() }
    };
    looks.iter().map(of_app).collect()
}

fn is_whole_machine(look: &Look) -> bool {
    look.processes.iter().any(|it| (it.pid, it.comm.as_str()) == KTHREADD)
}

/// The process that made the one that used most, or that itself where the system made it.
fn root(first: &Look, last: &Look) -> Option<u32> {
    let used_s = |now: &Process| {
        let earlier = first.processes.iter().find(|it| now.is_same_as(it));
        now.cpu_s() - earlier.map_or(0.0, Process::cpu_s)
    };
    let apps = last.processes.iter().filter(|it| it.pid > LAST_OF_SYSTEM && it.ppid != KTHREADD.0);
    let busiest = apps.max_by(|a, b| used_s(a).total_cmp(&used_s(b)))?;
    Some(if busiest.ppid > LAST_OF_SYSTEM { busiest.ppid } else { busiest.pid })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::GroupUse;

    fn process(pid: u32, ppid: u32, comm: &str, cpu_s: f64) -> Process {
        Process { pid, ppid, comm: comm.into(), utime_s: cpu_s, ..Process::default() }
    }

    fn machine(worker_s: f64) -> Look {
        let processes = vec![
            process(1, 0, "systemd", 900.0),
            process(2, 0, "kthreadd", 1.0),
            process(9, 2, "kworker", 100.0 * worker_s),
            process(40, 1, "postgres", 5000.0),
            process(70, 1, "puma", 2.0),
            process(71, 70, "puma: cluster w", worker_s),
            process(72, 70, "puma: cluster w", worker_s / 2.0),
        ];
        let group = GroupUse { cpu_s: Some(9000.0), ..GroupUse::default() };
        Look { uptime_s: 1.0, group, processes, ..Look::default() }
    }

    #[test]
    fn of_a_machine_the_busy_ones_family_is_left_whatever_others_have_used_before() {
        let looks = of_app(vec![machine(1.0), machine(1.9)]);
        let pids: Vec<u32> = looks[1].processes.iter().map(|it| it.pid).collect();
        assert_eq!((pids, looks[1].group.cpu_s, looks[0].uptime_s), (vec![70, 71, 72], None, 1.0));
    }

    #[test]
    fn a_container_stays_as_it_is_and_so_does_nothing() {
        let mut inside = machine(1.0);
        inside.processes.retain(|it| it.pid >= 70);
        assert_eq!(of_app(vec![inside.clone(), inside.clone()]), [inside.clone(), inside]);
        assert_eq!(of_app(Vec::new()), []);
    }
}
