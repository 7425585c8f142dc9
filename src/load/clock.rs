//! The clock of a load.

use rustix::time::{ClockId, clock_gettime};

use super::shape::Nanos;

/// One origin for all loops of a load: nanoseconds of the monotonic clock. It is read for every
/// reply, so not through `Instant`, whose checks cost more than the reading.
#[derive(Debug, Clone, Copy)]
pub struct Clock(u64);

impl Clock {
    /// The load begins now.
    pub fn start() -> Self {
        Self(monotonic_ns())
    }

    #[inline]
    pub fn now(self) -> Nanos {
        Nanos::new(monotonic_ns() - self.0)
    }

    /// Now, and what is to be added to a time of the load for that of the wall clock, in
    /// nanoseconds since 1970.
    #[inline]
    pub fn now_and_to_wall(self) -> (Nanos, u64) {
        // The wall clock first: who loses the processor in between takes what arrived for later
        // than it was, and never for earlier.
        let wall = nanoseconds(ClockId::Realtime);
        let now = self.now();
        (now, wall.saturating_sub(now.get()))
    }
}

/// The monotonic clock, in nanoseconds; its origin is this machine's own.
#[inline]
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

#[inline]
fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
