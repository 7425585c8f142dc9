//! The figures of each target, kept apart from the others'.
//!
//! In: a load's rows. Out: what became of each target's requests. Only counts.

use std::time::Duration;

use crate::load::LoadSpec;
use crate::place::TargetSeen;
use crate::terms::{Latencies, RequestRow};

/// What has been seen so far, by target; nothing unless the load keeps rows.
pub struct Apart {
    pub seen: Vec<TargetSeen>,
    warm_up_ns: u64,
}

impl Apart {
    pub fn new(spec: &LoadSpec) -> Self {
        let targets = if spec.keeps_rows { spec.targets.len() } else { 0 };
        let warm_up_ns = spec.warm_up.as_nanos() as u64;
        Self { seen: vec![TargetSeen::default(); targets], warm_up_ns }
    }

    /// Counts a request that has ended.
    pub fn take(&mut self, row: &RequestRow) {
        let Some(seen) = self.seen.get_mut(row.target as usize) else { return };
        let Some(after_ns) = row.due_ns.checked_sub(self.warm_up_ns) else { return };
        let second = (after_ns / 1_000_000_000) as usize;
        if seen.seconds.len() <= second {
            seen.seconds.resize_with(second + 1, Latencies::default);
        }
        seen.due += 1;
        seen.good += u64::from((200..400).contains(&row.status));
        seen.seconds[second].record(Duration::from_nanos(row.latency_ns));
    }
}
