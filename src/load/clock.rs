//! Time as the engine counts it: nanoseconds since the load began.

use std::time::{Duration, Instant};

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// One origin for all loops of a load.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// The load begins now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since the load began.
    pub fn now(self) -> u64 {
        let passed = self.0.elapsed();
        passed.as_secs() * SECOND + u64::from(passed.subsec_nanos())
    }
}

/// A span of nanoseconds as a duration.
pub fn duration(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}
