//! Time as a load counts it: moments since it began and the spans between them, two types that
//! cannot be taken for each other. Both are whole nanoseconds in one integer, because the loops
//! compute with them for every request.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment: nanoseconds since the load began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(u64);

/// A length of time: nanoseconds, 584 years at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(u64);

impl Nanos {
    /// The load begins.
    pub const START: Self = Self(0);
    /// Later than any load lasts.
    pub const MAX: Self = Self(u64::MAX);

    #[inline]
    pub const fn new(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The index, from 0, of the second that holds this moment.
    #[inline]
    pub const fn second(self) -> u64 {
        self.0 / Span::SECOND.0
    }

    /// The moment that much earlier; the first one there is when that would be before it.
    #[inline]
    pub const fn before(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// Since the load began.
    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl Span {
    pub const ZERO: Self = Self(0);
    pub const SECOND: Self = Self(1_000_000_000);

    #[inline]
    pub const fn new(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    #[inline]
    pub const fn micros(microseconds: u64) -> Self {
        Self(microseconds * 1000)
    }

    #[inline]
    pub const fn millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The moment that much later; the last one there is when that would be beyond it.
impl Add<Span> for Nanos {
    type Output = Self;

    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// The span since an earlier moment; none when that moment is the later one.
impl Sub for Nanos {
    type Output = Span;

    #[inline]
    fn sub(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Span {
    #[inline]
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for Duration {
    #[inline]
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

/// The moment that long after the load began.
impl From<Duration> for Nanos {
    #[inline]
    fn from(duration: Duration) -> Self {
        Self::START + Span::from(duration)
    }
}
