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
use crate::terms::NeighbourUse;

/// Counts from one call to the next.
#[derive(Default)]
pub(super) struct Neighbours {
    /// CPU clocks of all others at the last call; empty when they were not read then.
    clocks: HashMap<u32, u64>,
    connections: Connections,
}

/// A process that used less than this share of a core is not worth a name.
const WORTH_NAMING: f64 = 0.05;
/// So many are named.
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
        let is_worth = |&(_, cpu_s): &(u32, f64)| cpu_s >= WORTH_NAMING * length_s;
        let mut busy: Vec<(u32, f64)> =
            self.clocks.iter().map(|(pid, now)| (*pid, since(&before, *pid, *now))).collect();
        busy.retain(is_worth);
        busy.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
        let connections = &mut self.connections;
        let named = busy.into_iter().filter_map(|(pid, cpu_s)| {
            let name = name(pid, cores)?;
            Some(NeighbourUse { pid, name, cpu_s, serves_app: connections.lead_to(pid, server) })
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

/// `None` for a part of the kernel, which works for whoever asks it to, and for what cannot run on
/// any of these cores.
fn name(pid: u32, cores: &[u16]) -> Option<String> {
    let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if cmdline.is_empty() {
        return None;
    }
    let allowed = allowed_cores(pid);
    let is_here = cores.is_empty() || allowed.iter().any(|core| cores.contains(core));
    is_here.then(|| text::display_name(&cmdline, b"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_not_there_before_counts_from_its_birth() {
        let before = HashMap::from([(7, 2_000_000_000)]);
        assert_eq!(since(&before, 7, 3_500_000_000), 1.5);
        assert_eq!(since(&before, 8, 500_000_000), 0.5);
        assert_eq!(since(&before, 7, 1), 0.0, "the id is another process's now");
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
