//! The figures of each target, kept apart from the others'.
//!
//! In: a load's rows. Out: what became of each target's requests. Only counts.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::load::{self, Callbacks, LoadError, LoadSpec};
use crate::place::TargetSeen;
use crate::terms::{Latencies, LiveSecond, LoadRecord, RequestRow, StopSignal};

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

    /// Runs the load and keeps its whole record.
    pub fn run(
        &mut self,
        spec: &LoadSpec,
        stop: &StopSignal,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<LoadRecord, LoadError> {
        let mut seconds = Vec::new();
        let mut second = |second| seconds.push(second);
        let mut rows = |rows: &[RequestRow]| rows.iter().for_each(|row| self.take(row));
        let callbacks = Callbacks { watch, second: &mut second, rows: &mut rows };
        let run = load::stream(spec, stop, callbacks)?;
        Ok(LoadRecord { run, seconds })
    }

    fn take(&mut self, row: &RequestRow) {
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
