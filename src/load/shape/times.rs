//! Due times that were recorded elsewhere, and how loops share them.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::due::{Due, Part};
use super::nanos::Nanos;
use crate::terms::Rate;

/// The requests of a recording: at least one, in the order in which they are due.
#[derive(Debug, PartialEq, Eq)]
pub struct Times {
    /// When each is due, and the index of the target that it asks for.
    all: Vec<(Nanos, u32)>,
}

/// Why a recording cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimesError {
    #[error("there is nothing to replay: at least one request is needed")]
    Empty,
}

impl Times {
    /// `due`: when each request is due since the beginning of the load (its warm-up, if it has
    /// one), and the index of its target. What is due at the same time keeps its order.
    ///
    /// # Errors
    /// There is no request.
    pub fn new(due: Vec<(Duration, u32)>) -> Result<Self, TimesError> {
        let one = |(at, target)| (Nanos::from(at), target);
        let mut all: Vec<_> = due.into_iter().map(one).collect();
        all.sort_by_key(|(at, _)| *at);
        if all.is_empty() { Err(TimesError::Empty) } else { Ok(Self { all }) }
    }

    /// How many requests it has.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether every request asks for one of this many targets.
    pub(crate) fn fits(&self, targets: usize) -> bool {
        self.all.iter().all(|(_, target)| (*target as usize) < targets)
    }

    /// When the last one has been due.
    pub(super) fn end(&self) -> Duration {
        Duration::from_nanos(self.last_due().get().saturating_add(1))
    }

    /// From the load's beginning; the last request stands for the time until the next would be
    /// due, which is the mean distance, and a second where there is none.
    pub(super) fn length(&self) -> Duration {
        let distances = self.all.len() as u64 - 1;
        let last = self.last_due();
        let distance = last.get().checked_div(distances).filter(|distance| *distance > 0);
        last.elapsed() + distance.map_or(Duration::from_secs(1), Duration::from_nanos)
    }

    pub(super) fn mean_rate(&self) -> Rate {
        let per_second = self.all.len() as f64 / self.length().as_secs_f64();
        Rate::per_second(per_second).expect("a count by a time above zero is finite")
    }

    fn last_due(&self) -> Nanos {
        self.all.last().map_or(Nanos::START, |(at, _)| *at)
    }
}

/// The part of a recording that one loop sends: the requests are dealt out in turn.
#[derive(Debug)]
pub struct LoopTimes {
    times: Arc<Times>,
    /// The next one's place.
    next: usize,
    step: usize,
}

impl LoopTimes {
    pub fn new(times: Arc<Times>, part: Part) -> Self {
        Self { times, next: usize::from(part.index), step: usize::from(part.of) }
    }

    /// When the next one is due; `None` after the last.
    pub fn peek(&self) -> Option<Nanos> {
        self.times.all.get(self.next).map(|(at, _)| *at)
    }

    /// Takes the next one that is due by `now`.
    pub fn take(&mut self, now: Nanos) -> Option<Due> {
        let (at, target) = *self.times.all.get(self.next).filter(|(at, _)| *at <= now)?;
        self.next += self.step;
        Some(Due { at, client: 0, target: Some(target) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: &[u64]) -> Times {
        let due = (0..).zip(milliseconds).map(|(target, ms)| (Duration::from_millis(*ms), target));
        Times::new(due.collect()).unwrap()
    }

    fn taken(times: &mut LoopTimes, now: Nanos) -> Vec<u32> {
        std::iter::from_fn(|| times.take(now)).filter_map(|due| due.target).collect()
    }

    #[test]
    fn requests_are_sorted_by_time_and_dealt_to_the_loops_in_turn() {
        let times = Arc::new(at(&[30, 10, 20, 10, 0]));
        let mut whole = LoopTimes::new(Arc::clone(&times), Part::WHOLE);
        assert_eq!(taken(&mut whole, Nanos::MAX), [4, 1, 3, 2, 0]);
        let dealt = |index| {
            let mut times = LoopTimes::new(Arc::clone(&times), Part { index, of: 2 });
            taken(&mut times, Nanos::MAX)
        };
        assert_eq!((dealt(0), dealt(1)), (vec![4, 3, 0], vec![1, 2]));
    }

    #[test]
    fn what_is_not_due_yet_stays() {
        let mut times = LoopTimes::new(Arc::new(at(&[0, 5])), Part::WHOLE);
        assert_eq!(taken(&mut times, Nanos::new(4_999_999)), [0]);
        assert_eq!(times.peek(), Some(Nanos::new(5_000_000)));
        assert_eq!(taken(&mut times, Nanos::new(5_000_000)), [1]);
        assert_eq!((times.peek(), times.take(Nanos::MAX)), (None, None));
    }

    #[test]
    fn the_last_request_stands_for_a_mean_distance() {
        let times = at(&[0, 1_000, 4_000]);
        assert_eq!(times.length(), Duration::from_secs(6));
        assert_eq!(times.mean_rate().as_per_second(), 0.5);
        assert_eq!(times.end(), Duration::from_nanos(4_000_000_001));
        assert_eq!(at(&[0, 0]).mean_rate().as_per_second(), 2.0, "all at once: in a second");
        assert_eq!(at(&[5_000]).length(), Duration::from_secs(6));
    }

    #[test]
    fn a_recording_without_requests_is_refused_and_targets_are_counted() {
        assert_eq!(Times::new(Vec::new()), Err(TimesError::Empty));
        assert!(at(&[0, 1]).fits(2) && !at(&[0, 1]).fits(1));
    }
}
