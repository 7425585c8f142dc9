//! Which processes of a container are the server's master and its workers.
//!
//! In: processes, and how many workers there are to be. Out: their roles. Goes by who made whom and
//! by what was used, not by names: of those only the kernel's fifteen bytes are seen.

use super::look::Process;
use crate::terms::{Configuration, Role};

/// Who is who in one container.
#[derive(Debug, Default)]
pub(super) struct Roles {
    master: Option<u32>,
    /// Their ids in order.
    workers: Vec<u32>,
}

impl Roles {
    /// Several workers are children of one process, the master. Where there is no process with so
    /// many children, or to be one worker alone, that is whoever used most.
    pub(super) fn of(processes: &[Process], configuration: Configuration) -> Self {
        let count = usize::from(configuration.workers.get());
        let several = if count > 1 { below_one(processes, count) } else { None };
        several.unwrap_or_else(|| busiest(processes))
    }

    /// A process's role, and a worker's index in order of ids.
    pub(super) fn of_process(&self, pid: u32) -> (Role, Option<u16>) {
        if let Some(index) = self.workers.iter().position(|worker| *worker == pid) {
            return (Role::Worker, u16::try_from(index).ok());
        }
        (if self.master == Some(pid) { Role::Master } else { Role::Other }, None)
    }
}

/// As many children of one process as there are to be workers, those that used most since they
/// began: a helper that was started beside them uses hardly anything. Of several processes with so
/// many children, the one whose children used most.
fn below_one(processes: &[Process], count: usize) -> Option<Roles> {
    let workers_of = |parent: &Process| {
        let below = processes.iter().filter(|process| process.ppid == parent.pid);
        let mut children: Vec<&Process> = below.collect();
        if children.len() < count {
            return None;
        }
        children.sort_by(|a, b| b.cpu_s().total_cmp(&a.cpu_s()).then(a.pid.cmp(&b.pid)));
        children.truncate(count);
        let used_s: f64 = children.iter().map(|child| child.cpu_s()).sum();
        let mut workers: Vec<u32> = children.iter().map(|child| child.pid).collect();
        workers.sort_unstable();
        Some((used_s, Roles { master: Some(parent.pid), workers }))
    };
    let found = processes.iter().filter_map(workers_of);
    found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, roles)| roles)
}

/// Whoever used most since it began is the worker. What made it, and used less, is the master: an
/// `init`, or a server's own with one worker below it.
fn busiest(processes: &[Process]) -> Roles {
    let by_use =
        |a: &&Process, b: &&Process| a.cpu_s().total_cmp(&b.cpu_s()).then(b.pid.cmp(&a.pid));
    let Some(worker) = processes.iter().max_by(by_use) else { return Roles::default() };
    let parent = processes.iter().find(|process| process.pid == worker.ppid);
    Roles { master: parent.map(|parent| parent.pid), workers: vec![worker.pid] }
}
