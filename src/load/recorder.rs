//! What became of each request, by the second in which it was due; one recorder a loop, no sharing.
//!
//! Seconds are handed over as soon as all of their requests have ended, so that a loop holds at
//! most as many as the timeout is long.

use std::collections::VecDeque;

use super::clock::{SECOND, duration};
use super::marks::Marks;
use crate::terms::{ErrorCounts, Latencies, LoadSecond};

/// How a request ended without a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Refused,
    Reset,
    Timeout,
    Malformed,
    AddressUnavailable,
    ClosedEarly,
    Dropped,
}

impl Failure {
    fn count(self, errors: &mut ErrorCounts) {
        let class = match self {
            Self::Refused => &mut errors.refused,
            Self::Reset => &mut errors.reset,
            Self::Timeout => &mut errors.timeout,
            Self::Malformed => &mut errors.malformed,
            Self::AddressUnavailable => &mut errors.address_unavailable,
            Self::ClosedEarly => &mut errors.closed_early,
            Self::Dropped => &mut errors.dropped,
        };
        *class += 1;
    }
}

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

#[derive(Debug, Default)]
struct Open {
    second: LoadSecond,
    ended: u64,
}

/// Times are nanoseconds since the load began; "due" names the second that an entry belongs to.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The second of `open[0]`.
    first: u64,
    open: VecDeque<Open>,
    now: ClockSecond,
    samples: u64,
    samples_sum: u64,
    last_reply: u64,
    last_due: u64,
}

impl Recorder {
    /// A request is due.
    pub fn due(&mut self, due: u64) {
        self.open(due / SECOND).second.due += 1;
        self.last_due = self.last_due.max(due);
        self.now.due += 1;
    }

    /// It was handed to the kernel. `lag`: from due until the loop acted on it.
    pub fn sent(&mut self, due: u64, lag: Option<u64>) {
        let second = &mut self.open(due / SECOND).second;
        second.sent += 1;
        if let Some(lag) = lag {
            second.send_lag.record(duration(lag));
        }
        self.now.sent += 1;
    }

    /// Bytes of it left.
    pub fn bytes_out(&mut self, due: u64, count: usize) {
        self.open(due / SECOND).second.bytes_out += count as u64;
    }

    /// Its reply is complete.
    pub fn answered(
        &mut self,
        due: u64,
        sent: u64,
        now: u64,
        status: u16,
        bytes_in: u64,
        marks: Marks,
    ) {
        let latency = duration(now - due);
        let open = self.open(due / SECOND);
        open.ended += 1;
        *open.second.status.entry(status).or_default() += 1;
        open.second.latency.record(latency);
        open.second.exchange_time.record(duration(now - sent));
        open.second.cached += u64::from(marks.is_cached);
        open.second.via += u64::from(marks.has_via);
        open.second.retries += u64::from(marks.is_retry);
        open.second.bytes_in += bytes_in;
        self.now.latency.record(latency);
        self.last_reply = self.last_reply.max(now);
    }

    /// It ended without a reply, `after` nanoseconds from due.
    pub fn failed(&mut self, due: u64, after: u64, failure: Failure, bytes_in: u64) {
        let open = self.open(due / SECOND);
        open.ended += 1;
        failure.count(&mut open.second.errors);
        open.second.latency.record(duration(after));
        open.second.bytes_in += bytes_in;
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
        let mut over = std::mem::take(&mut self.now);
        self.now.index = over.index + 1;
        over.is_draining = is_draining;
        over.in_flight = in_flight;
        over.in_flight_mean = match self.samples {
            0 => in_flight as f64,
            samples => self.samples_sum as f64 / samples as f64,
        };
        (self.samples, self.samples_sum) = (0, 0);
        let is_recorded = over.index >= self.first
            && (!is_draining || ((over.index - self.first) as usize) < self.open.len());
        if is_recorded {
            let second = &mut self.open(over.index).second;
            second.replies = over.latency.count();
            second.in_flight = over.in_flight;
            second.in_flight_mean = over.in_flight_mean;
        }
        over
    }

    /// The oldest second, with its index, once nothing can be added to it any more.
    pub fn take_finished(&mut self) -> Option<(u64, LoadSecond)> {
        let front = self.open.front()?;
        let is_finished = self.first < self.now.index && front.ended == front.second.due;
        if is_finished { self.take_front() } else { None }
    }

    /// The oldest second, finished or not; for the end of the load.
    pub fn take_front(&mut self) -> Option<(u64, LoadSecond)> {
        let open = self.open.pop_front()?;
        self.first += 1;
        Some((self.first - 1, open.second))
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
    fn open(&mut self, second: u64) -> &mut Open {
        debug_assert!(second >= self.first, "second {second} was handed over already");
        let at = second.saturating_sub(self.first) as usize;
        while self.open.len() <= at {
            self.open.push_back(Open::default());
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
        recorder.sent(900 * MS, Some(0));
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
