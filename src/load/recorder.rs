//! What became of each request, by the second in which it was due; one recorder a loop, no sharing.
//!
//! Seconds are handed over as soon as all of their requests have ended, so that a loop holds at
//! most as many as the timeout is long.

use std::collections::VecDeque;

use super::clock::SECOND;
use super::durations::Durations;
use super::marks::Marks;
pub use crate::terms::RequestError as Failure;
use crate::terms::{ErrorCounts, Latencies, LoadSecond, TargetSecond};

/// One second of one loop by the clock, for whoever watches.
#[derive(Debug, Default)]
pub struct ClockSecond {
    /// From 0.
    pub index: u64,
    pub due: u64,
    pub sent: u64,
    pub errors: u64,
    pub in_flight: u64,
    pub in_flight_mean: f64,
    /// Nothing was due any more from its beginning on.
    pub is_draining: bool,
    /// Of the replies of this second.
    pub latency: Latencies,
}

/// The second of the clock that still runs.
#[derive(Debug, Default)]
struct Now {
    index: u64,
    due: u64,
    sent: u64,
    errors: u64,
    latency: Durations,
}

/// What is counted of the requests due in one second.
#[derive(Debug, Default)]
struct Tally {
    due: u64,
    ended: u64,
    sent: u64,
    /// A server has few, and mostly the first.
    status: Vec<(u16, u64)>,
    errors: ErrorCounts,
    latency: Durations,
    exchange_time: Durations,
    send_lag: Durations,
    cached: u64,
    via: u64,
    retries: u64,
    bytes_in: u64,
    bytes_out: u64,
    replies: u64,
    in_flight: u64,
    in_flight_mean: f64,
    /// Each target's, where they are told apart.
    by_target: Vec<OfTarget>,
}

/// What is counted of one target's requests due in one second.
#[derive(Debug, Default)]
struct OfTarget {
    status: Vec<(u16, u64)>,
    errors: ErrorCounts,
    latency: Durations,
}

impl OfTarget {
    /// As [`Tally::pour`].
    fn pour(&mut self) -> TargetSecond {
        TargetSecond {
            status: self.status.drain(..).collect(),
            errors: std::mem::take(&mut self.errors),
            latency: self.latency.pour(),
        }
    }
}

#[inline]
fn count_status(counts: &mut Vec<(u16, u64)>, status: u16) {
    match counts.iter_mut().find(|(known, _)| *known == status) {
        Some((_, count)) => *count += 1,
        None => counts.push((status, 1)),
    }
}

impl Tally {
    /// The second it counted; itself it is as new, but keeps its room.
    fn pour(&mut self) -> LoadSecond {
        let second = LoadSecond {
            due: self.due,
            sent: self.sent,
            status: self.status.drain(..).collect(),
            errors: self.errors,
            latency: self.latency.pour(),
            exchange_time: self.exchange_time.pour(),
            send_lag: self.send_lag.pour(),
            replies: self.replies,
            in_flight: self.in_flight,
            in_flight_mean: self.in_flight_mean,
            cached: self.cached,
            via: self.via,
            retries: self.retries,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            by_target: self.by_target.iter_mut().map(OfTarget::pour).collect(),
        };
        let Self { status, latency, exchange_time, send_lag, by_target, .. } = std::mem::take(self);
        *self = Self { status, latency, exchange_time, send_lag, by_target, ..Self::default() };
        second
    }
}

/// Times are nanoseconds since the load began; "due" names the second that an entry belongs to.
#[derive(Debug, Default)]
pub struct Recorder {
    /// How many are told apart; 0: none.
    targets: usize,
    /// The second of `open[0]`.
    first: u64,
    open: VecDeque<Tally>,
    /// Used before, and empty.
    spare: Vec<Tally>,
    now: Now,
    samples: u64,
    samples_sum: u64,
    last_reply: u64,
    last_due: u64,
}

impl Recorder {
    /// One that tells so many targets apart.
    pub fn apart(targets: usize) -> Self {
        Self { targets, ..Self::default() }
    }

    /// Counts for its target what became of a request, which has been told as
    /// [`answered`](Self::answered) or [`failed`](Self::failed) as well. `after`: nanoseconds from
    /// due.
    #[inline]
    pub fn of_target(&mut self, due: u64, target: u32, after: u64, end: Result<u16, Failure>) {
        if self.targets == 0 {
            return;
        }
        if let Some(one) = self.open(due / SECOND).by_target.get_mut(target as usize) {
            one.latency.record(after);
            match end {
                Ok(status) => count_status(&mut one.status, status),
                Err(failure) => one.errors.count(failure),
            }
        }
    }

    /// A request is due.
    #[inline]
    pub fn due(&mut self, due: u64) {
        self.open(due / SECOND).due += 1;
        self.last_due = self.last_due.max(due);
        self.now.due += 1;
    }

    /// So many bytes of it were handed to the kernel, the first. `lag`: from due until the loop
    /// acted on it.
    #[inline]
    pub fn sent(&mut self, due: u64, lag: Option<u64>, count: usize) {
        let tally = self.open(due / SECOND);
        tally.sent += 1;
        tally.bytes_out += count as u64;
        if let Some(lag) = lag {
            tally.send_lag.record(lag);
        }
        self.now.sent += 1;
    }

    /// More bytes of it left.
    #[inline]
    pub fn bytes_out(&mut self, due: u64, count: usize) {
        self.open(due / SECOND).bytes_out += count as u64;
    }

    /// Its reply is complete.
    #[inline]
    pub fn answered(
        &mut self,
        due: u64,
        sent: u64,
        now: u64,
        status: u16,
        bytes_in: u64,
        marks: Marks,
    ) {
        let latency = now - due;
        let tally = self.open(due / SECOND);
        tally.ended += 1;
        count_status(&mut tally.status, status);
        tally.latency.record(latency);
        tally.exchange_time.record(now - sent);
        tally.cached += u64::from(marks.is_cached);
        tally.via += u64::from(marks.has_via);
        tally.retries += u64::from(marks.is_retry);
        tally.bytes_in += bytes_in;
        self.now.latency.record(latency);
        self.last_reply = self.last_reply.max(now);
    }

    /// It ended without a reply, `after` nanoseconds from due.
    pub fn failed(&mut self, due: u64, after: u64, failure: Failure, bytes_in: u64) {
        let tally = self.open(due / SECOND);
        tally.ended += 1;
        tally.errors.count(failure);
        tally.latency.record(after);
        tally.bytes_in += bytes_in;
        self.now.errors += 1;
    }

    /// The timer found so many in flight or waiting.
    pub fn sample(&mut self, in_flight: u64) {
        self.samples += 1;
        self.samples_sum += in_flight;
    }

    /// The current second of the clock has passed; all that was due in it has been told. Unless the
    /// load is draining, it is an entry of the record even when nothing was due.
    pub fn second_over(&mut self, in_flight: u64, is_draining: bool) -> ClockSecond {
        let Now { index, due, sent, errors, latency } = &mut self.now;
        let latency = latency.pour();
        let over = ClockSecond {
            index: *index,
            due: std::mem::take(due),
            sent: std::mem::take(sent),
            errors: std::mem::take(errors),
            in_flight,
            in_flight_mean: match self.samples {
                0 => in_flight as f64,
                samples => self.samples_sum as f64 / samples as f64,
            },
            is_draining,
            latency,
        };
        *index += 1;
        (self.samples, self.samples_sum) = (0, 0);
        let is_recorded = over.index >= self.first
            && (!is_draining || ((over.index - self.first) as usize) < self.open.len());
        if is_recorded {
            let tally = self.open(over.index);
            tally.replies = over.latency.count();
            tally.in_flight = over.in_flight;
            tally.in_flight_mean = over.in_flight_mean;
        }
        over
    }

    /// The oldest second, with its index, once nothing can be added to it any more.
    pub fn take_finished(&mut self) -> Option<(u64, LoadSecond)> {
        let front = self.open.front()?;
        let is_finished = self.first < self.now.index && front.ended == front.due;
        if is_finished { self.take_front() } else { None }
    }

    /// The oldest second, finished or not; for the end of the load.
    pub fn take_front(&mut self) -> Option<(u64, LoadSecond)> {
        let mut tally = self.open.pop_front()?;
        let second = tally.pour();
        self.spare.push(tally);
        self.first += 1;
        Some((self.first - 1, second))
    }

    /// When the last reply was complete; 0 without any.
    pub fn last_reply(&self) -> u64 {
        self.last_reply
    }

    /// When the last request was due.
    pub fn last_due(&self) -> u64 {
        self.last_due
    }

    /// Seconds ahead of the newest are only ever the next few: due times never jump.
    #[inline]
    fn open(&mut self, second: u64) -> &mut Tally {
        debug_assert!(second >= self.first, "second {second} was handed over already");
        let at = second.saturating_sub(self.first) as usize;
        while self.open.len() <= at {
            let mut tally = self.spare.pop().unwrap_or_default();
            tally.by_target.resize_with(self.targets, OfTarget::default);
            self.open.push_back(tally);
        }
        &mut self.open[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_late_reply_belongs_to_the_second_in_which_its_request_was_due() {
        let mut recorder = Recorder::default();
        recorder.due(900 * MS);
        recorder.sent(900 * MS, Some(0), 100);
        let first = recorder.second_over(1, false);
        assert_eq!((first.due, first.in_flight), (1, 1));
        assert_eq!(recorder.take_finished(), None, "a request is still out");
        recorder.answered(900 * MS, 900 * MS, 2100 * MS, 200, 10, Marks::default());
        recorder.second_over(0, false);
        let (index, second) = recorder.take_finished().unwrap();
        assert_eq!((index, second.due, second.completed()), (0, 1, 1));
        // To the histogram's width of 0.1 %.
        let latency = second.latency.max().unwrap();
        assert!((latency.as_secs_f64() - 1.2).abs() <= 0.0012, "{latency:?}");
        let (index, second) = recorder.take_finished().unwrap();
        assert_eq!((index, second.due, second.replies), (1, 0, 1), "it arrived there");
    }

    #[test]
    fn the_second_that_still_runs_is_kept() {
        let mut recorder = Recorder::default();
        recorder.due(0);
        recorder.failed(0, 0, Failure::Refused, 0);
        assert_eq!(recorder.take_finished(), None);
        recorder.second_over(0, false);
        assert!(recorder.take_finished().is_some());
        assert_eq!(recorder.take_finished(), None);
    }

    #[test]
    fn targets_told_apart_add_up_to_the_whole_and_begin_each_second_at_nothing() {
        let mut recorder = Recorder::apart(2);
        for (due, target) in [(0, 0), (1, 1), (SECOND, 1)] {
            recorder.due(due);
            recorder.answered(due, due, due + 5 * MS, 200, 10, Marks::default());
            recorder.of_target(due, target, 5 * MS, Ok(200));
        }
        recorder.due(2);
        recorder.failed(2, MS, Failure::Reset, 0);
        recorder.of_target(2, 1, MS, Err(Failure::Reset));
        let due: Vec<Vec<u64>> = std::iter::from_fn(|| recorder.take_front())
            .map(|(_, second)| {
                let due: Vec<u64> = second.by_target.iter().map(TargetSecond::due).collect();
                assert_eq!(due.iter().sum::<u64>(), second.due);
                due
            })
            .collect();
        assert_eq!(due, [[1, 2], [0, 1]]);
    }

    #[test]
    fn seconds_of_the_drain_are_no_entries() {
        let mut recorder = Recorder::default();
        recorder.due(0);
        recorder.second_over(1, false);
        recorder.second_over(1, true);
        recorder.answered(0, 0, 2500 * MS, 200, 0, Marks::default());
        recorder.second_over(0, true);
        assert!(recorder.take_finished().is_some());
        assert_eq!(recorder.take_front(), None);
    }

    #[test]
    fn the_mean_in_flight_is_that_of_the_samples() {
        let mut recorder = Recorder::default();
        [1, 2, 6].into_iter().for_each(|in_flight| recorder.sample(in_flight));
        assert_eq!(recorder.second_over(9, false).in_flight_mean, 3.0);
        assert_eq!(recorder.second_over(9, false).in_flight_mean, 9.0, "without samples: the last");
    }
}
