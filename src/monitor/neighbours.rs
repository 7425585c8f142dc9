//! Who else used the server's cores: processes that are neither the server's nor ours.
//!
//! In: which processes are the server's, and how much CPU time nobody answers for. Out: the busiest
//! others. Reads CPU clocks, which needs no permission; must not judge.

use std::collections::HashMap;
use std::fs;

use super::connections::Connections;
use super::host::allowed_cores;
use super::process::cpu_clock_ns;
use super::{text, tree};
use crate::terms::{NeighbourUse, ProcessNames, Stated};

/// Counts from one call to the next.
#[derive(Default)]
pub(super) struct Neighbours {
    /// CPU clocks of all others at the last call; empty when they were not read then.
    clocks: HashMap<u32, u64>,
    connections: Connections,
}

/// Who used less than this share of a core is not worth a name...
const WORTH_NAMING: f64 = 0.05;
/// ...nor a process that used less than this a question: how its program is called.
const WORTH_ASKING: f64 = 0.002;
/// At most this many are named.
const MOST: usize = 5;

impl Neighbours {
    /// The busiest others in an interval of `length_s`, of those that may run on one of `cores`.
    /// `unexplained_s` is the CPU time on these cores that the server did not use: where it is next
    /// to nothing nobody is looked for.
    pub fn used(
        &mut self,
        server: &[u32],
        unexplained_s: f64,
        length_s: f64,
        cores: &[u16],
    ) -> Vec<NeighbourUse> {
        if unexplained_s < WORTH_NAMING * length_s && self.clocks.is_empty() {
            return Vec::new();
        }
        let before = std::mem::take(&mut self.clocks);
        let own = std::process::id();
        let pids = tree::all_pids().unwrap_or_default();
        let others = pids.into_iter().filter(|pid| *pid != own && !server.contains(pid));
        self.clocks = others.filter_map(|pid| Some((pid, cpu_clock_ns(pid)?))).collect();
        if before.is_empty() {
            // From now on there is something to compare with.
            return Vec::new();
        }
        let used = self.clocks.iter().map(|(pid, now)| (*pid, since(&before, *pid, *now)));
        let mut services = services(used.filter(|(_, cpu_s)| *cpu_s >= WORTH_ASKING * length_s));
        services.retain(|service| service.cpu_s >= WORTH_NAMING * length_s);
        services.sort_unstable_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s));
        let connections = &mut self.connections;
        let named = services.into_iter().filter_map(|service| {
            let name = service.name(cores)?;
            let serves_app = service.leads(|pid| connections.lead_to(pid, server));
            Some(NeighbourUse { pid: service.pids[0], name, cpu_s: service.cpu_s, serves_app })
        });
        let named = named.take(MOST).collect();
        if unexplained_s < WORTH_NAMING * length_s {
            self.clocks.clear();
        }
        named
    }
}

/// CPU seconds since then; one that was not there has used all of it since.
fn since(before: &HashMap<u32, u64>, pid: u32, now: u64) -> f64 {
    now.saturating_sub(before.get(&pid).copied().unwrap_or(0)) as f64 / 1e9
}

/// Processes of one program: a database that has one for each connection is one neighbour.
struct Service {
    /// The busiest first; not empty.
    pids: Vec<u32>,
    cpu_s: f64,
}

/// Those whose parent is of the same program belong to it.
fn services(used: impl Iterator<Item = (u32, f64)>) -> Vec<Service> {
    let mut by_head: HashMap<u32, Vec<(u32, f64)>> = HashMap::new();
    for (pid, cpu_s) in used {
        by_head.entry(head(pid)).or_default().push((pid, cpu_s));
    }
    let service = |mut alike: Vec<(u32, f64)>| {
        alike.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
        let cpu_s = alike.iter().map(|(_, cpu_s)| cpu_s).sum();
        Service { pids: alike.into_iter().map(|(pid, _)| pid).collect(), cpu_s }
    };
    by_head.into_values().map(service).collect()
}

/// The process that stands for it: its parent, when that runs the same program.
fn head(pid: u32) -> u32 {
    let program = |pid: u32| fs::read(format!("/proc/{pid}/comm")).ok();
    let own = program(pid);
    tree::parent(pid).filter(|parent| own.is_some() && program(*parent) == own).unwrap_or(pid)
}

impl Service {
    /// `None` for a part of the kernel, which works for whoever asks it to, and for what cannot run
    /// on any of these cores.
    fn name(&self, cores: &[u16]) -> Option<Stated<ProcessNames>> {
        let cmdline = fs::read(format!("/proc/{}/cmdline", self.pids[0])).unwrap_or_default();
        if cmdline.is_empty() {
            return None;
        }
        let allowed = allowed_cores(self.pids[0]);
        let is_here = cores.is_empty() || allowed.iter().any(|core| cores.contains(core));
        let name = text::display_name(&cmdline, b"?");
        is_here.then(|| match self.pids.len() as u64 {
            1 => Stated::Verbatim(name),
            several => ProcessNames::Alike { name, others: several - 1 }.into(),
        })
    }

    /// Does one of the busiest of them serve the app? `None` when that cannot be seen of one, and
    /// the others do not.
    fn leads(&self, mut lead: impl FnMut(u32) -> Option<bool>) -> Option<bool> {
        let answers: Vec<Option<bool>> =
            self.pids.iter().take(MOST).map(|pid| lead(*pid)).collect();
        match () {
            () if answers.contains(&Some(true)) => Some(true),
            () if answers.contains(&None) => None,
            () => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_was_not_there_before_counts_from_its_birth() {
        let before = HashMap::from([(7, 2_000_000_000)]);
        assert_eq!(since(&before, 7, 3_500_000_000), 1.5);
        assert_eq!(since(&before, 8, 500_000_000), 0.5);
        assert_eq!(since(&before, 7, 1), 0.0, "the id is another process's now");
    }

    #[test]
    fn processes_of_one_program_are_one_neighbour() {
        // A copy of a shell, which the shell waits for, is of the same program.
        let script = "(read line; true); true";
        let mut shell =
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let copy = loop {
            let all = tree::all_pids().unwrap();
            if let Some(copy) = all.into_iter().find(|pid| tree::parent(*pid) == Some(shell.id())) {
                break copy;
            }
            std::thread::yield_now();
        };
        let found = services([(shell.id(), 0.02), (copy, 0.04), (1, 0.01)].into_iter());
        drop(shell.stdin.take());
        shell.wait().unwrap();
        let both = found.iter().find(|service| service.pids.len() == 2).unwrap();
        assert_eq!((found.len(), both.pids[0]), (2, copy), "the busiest first");
        assert!((both.cpu_s - 0.06).abs() < 1e-12);
        let answers = |of: [Option<bool>; 2]| {
            let mut of = of.into_iter();
            both.leads(|_| of.next().flatten())
        };
        assert_eq!(answers([Some(false), Some(true)]), Some(true));
        assert_eq!(answers([Some(false), None]), None);
        assert_eq!(answers([Some(false), Some(false)]), Some(false));
    }

    #[test]
    fn nobody_is_looked_for_while_nothing_is_missing() {
        let mut neighbours = Neighbours::default();
        assert_eq!(neighbours.used(&[], 0.01, 1.0, &[]), []);
        assert!(neighbours.clocks.is_empty());
        assert_eq!(neighbours.used(&[], 0.5, 1.0, &[]), []);
        assert!(!neighbours.clocks.is_empty(), "the clocks are read to compare with");
    }
}
