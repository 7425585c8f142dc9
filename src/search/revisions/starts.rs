//! Starts of two revisions that a simulation draws, judged as measured ones are.
//!
//! In: [`RevisionStart`]s, two a block. Out: nothing; [`Revisions::answer`] says what they mean.
//! Computes only.

use super::{Revisions, Seen};
use crate::search::fresh::Capacity;

/// How well one burst and one probe tell a start's capacity: standard deviation of its logarithm.
const CAPACITY_SD_LOG: f64 = 0.02;

/// What one start of a revision came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RevisionStart {
    /// CPU of a request, seconds.
    pub cpu_s: f64,
    pub capacity_rps: f64,
    /// At the rate that both are sent, seconds.
    pub p95_s: f64,
    /// Of all its processes, at the most.
    pub memory_bytes: u64,
    /// Requests that were due at that rate, and those of them that failed.
    pub failed: (u64, u64),
}

impl Revisions {
    /// Takes a whole block at once, a start of A and one of B, in place of its trials.
    pub fn take_starts(&mut self, starts: [RevisionStart; 2]) {
        self.blocks.push(starts.map(Seen::from));
    }
}

impl From<RevisionStart> for Seen {
    fn from(start: RevisionStart) -> Self {
        let capacity = Capacity {
            rps: start.capacity_rps,
            sd_log: CAPACITY_SD_LOG,
            memory_bytes: None,
            latency: None,
        };
        Self {
            cpu_s: start.cpu_s,
            completed: 1,
            capacity: Some(capacity),
            p95_s: vec![start.p95_s],
            memory_bytes: Some(start.memory_bytes),
            failed: start.failed,
            ..Self::default()
        }
    }
}
