//! The clock of a load.

use super::shape::Nanos;

/// One origin for all loops of a load: nanoseconds of the monotonic clock. It is read for every
/// reply, so not through `Instant`, whose checks cost more than the reading.
#[derive(Debug, Clone, Copy)]
pub struct Clock(u64);

impl Clock {
    /// The load begins now.
    pub fn start() -> Self {
        Self(nanoseconds(libc::CLOCK_MONOTONIC))
    }

    #[inline]
    pub fn now(self) -> Nanos {
        Nanos::new(nanoseconds(libc::CLOCK_MONOTONIC) - self.0)
    }

    /// What is to be added to a time of the load for that of the wall clock, in nanoseconds since
    /// 1970.
    pub fn to_wall(self) -> u64 {
        nanoseconds(libc::CLOCK_REALTIME).saturating_sub(self.now().get())
    }
}

#[inline]
fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call. These two clocks are always there, so it can't fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
