//! What became of each request, by the second in which it was due; one recorder a loop, no sharing.
//!
//! Seconds are handed over as soon as all of their requests have ended, so that a loop holds at
//! most as many as the timeout is long. What becomes due and is sent is counted at once; what has
//! ended is [held](super::held) first, and recorded before anything is said that it changes.

use std::collections::VecDeque;

use super::durations::{Bucket, Durations};
use super::held::{Held, Outcome};
use super::lifecycle::{Ended, Pending};
use super::shape::{Nanos, Span};
use crate::terms::{ErrorCounts, GOOD_STATUSES, Latencies, LoadSecond, RequestError, TargetSecond};

/// One second of one loop by the clock, to be watched.
#[derive(Debug, Default, PartialEq)]
pub struct ClockSecond {
    /// From 0.
    pub index: u64,
    pub due: u64,
    pub sent: u64,
    /// Requests that ended in this second and failed: without a reply, or with one that is not
    /// good.
    pub errors: u64,
    pub in_flight: u64,
    pub in_flight_mean: f64,
    /// Nothing was due any more from its beginning on.
    pub is_draining: bool,
    /// Of the replies of this second.
    pub latency: Latencies,
    /// Of the requests due in this second that have left.
    pub send_lag: Latencies,
}

/// What is counted of the requests due in one second.
#[derive(Debug, Default)]
struct Tally {
    due: u64,
    ended: u64,
    sent: u64,
    results: Results,
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
    /// Each target's, where targets are recorded one by one.
    by_target: Vec<Results>,
}

/// What became of requests.
#[derive(Debug, Default)]
struct Results {
    /// A server has few, and mostly the first.
    status: Vec<(u16, u64)>,
    errors: ErrorCounts,
    latency: Durations,
}

impl Results {
    #[inline]
    fn count(&mut self, result: Result<u16, RequestError>, latency: Bucket) {
        self.latency.count(latency);
        match result {
            Ok(status) => match self.status.iter_mut().find(|(known, _)| *known == status) {
                Some((_, count)) => *count += 1,
                None => self.status.push((status, 1)),
            },
            Err(error) => self.errors.count(error),
        }
    }

    /// Those without a good reply.
    fn failed(&self) -> u64 {
        let failed = self.status.iter().filter(|(status, _)| !GOOD_STATUSES.contains(status));
        failed.map(|(_, count)| count).sum::<u64>() + self.errors.total()
    }

    /// Everything counted so far; it is empty afterwards, and keeps its room.
    fn drain(&mut self) -> TargetSecond {
        TargetSecond {
            status: self.status.drain(..).collect(),
            errors: std::mem::take(&mut self.errors),
            latency: self.latency.drain(),
        }
    }
}

impl Tally {
    /// The second it counted; it is empty afterwards, and keeps its room.
    fn drain(&mut self) -> LoadSecond {
        let TargetSecond { status, errors, latency } = self.results.drain();
        let second = LoadSecond {
            due: self.due,
            sent: self.sent,
            status,
            errors,
            latency,
            exchange_time: self.exchange_time.drain(),
            send_lag: self.send_lag.drain(),
            replies: self.replies,
            in_flight: self.in_flight,
            in_flight_mean: self.in_flight_mean,
            cached: self.cached,
            via: self.via,
            retries: self.retries,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            by_target: self.by_target.iter_mut().map(Results::drain).collect(),
        };
        let Self { results, exchange_time, send_lag, by_target, .. } = std::mem::take(self);
        *self = Self { results, exchange_time, send_lag, by_target, ..Self::default() };
        second
    }
}

/// Counts what became of the requests of one loop.
#[derive(Debug, Default)]
pub struct Recorder {
    /// How many targets are recorded one by one; 0: none.
    targets: usize,
    /// No latency counts as longer.
    timeout: Span,
    /// What has ended and is not recorded yet.
    held: Held,
    /// The second of `open[0]`.
    first: u64,
    open: VecDeque<Tally>,
    /// Used before, and empty.
    spare: Vec<Tally>,
    /// The second of the clock that still runs; its latencies are counted beside it.
    now: ClockSecond,
    latency: Durations,
    /// Requests that failed: of the seconds that were handed over, and of all until the last second
    /// of the clock had passed. So that they can be told for a second of the clock without a look
    /// at each reply.
    failed_handed_over: u64,
    failed_before: u64,
    samples: u64,
    samples_sum: u64,
    /// When the next one is taken, and what has become due and ended after it.
    sample_at: Nanos,
    due_since_sample: u64,
    ended_since_sample: u64,
    last_reply: Nanos,
    /// When the last request was due.
    pub last_due: Nanos,
}

impl Recorder {
    /// One that records this many targets one by one, of a load with this timeout.
    pub fn new(targets: usize, timeout: Span) -> Self {
        Self { targets, timeout, ..Self::default() }
    }

    /// A request is due.
    #[inline]
    pub fn due(&mut self, due: Nanos) {
        self.due_since_sample += u64::from(due > self.sample_at);
        self.open(due.second()).due += 1;
        self.last_due = self.last_due.max(due);
        self.now.due += 1;
    }

    /// The first `bytes` bytes of a request were handed to the kernel.
    #[inline]
    pub fn sent(&mut self, request: &Pending, bytes: usize) {
        let tally = self.open(request.due.second());
        tally.sent += 1;
        tally.bytes_out += bytes as u64;
        if let Some(lag) = request.lag() {
            tally.send_lag.record(lag);
        }
        self.now.sent += 1;
    }

    /// More bytes of a request that was due at `due` were handed to the kernel.
    #[inline]
    pub fn bytes_out(&mut self, due: Nanos, bytes: usize) {
        self.open(due.second()).bytes_out += bytes as u64;
    }

    /// A request has ended. It is recorded with others, or when the record is asked for anything.
    #[inline]
    pub fn ended(&mut self, ended: &Ended) {
        self.held.push(ended);
        if self.held.is_full() {
            self.record_held();
        }
    }

    /// Records what is held.
    // Never inline: the path of every request would carry its code along.
    #[inline(never)]
    pub fn record_held(&mut self) {
        while let Some(outcome) = self.held.pop() {
            self.record(&outcome);
        }
    }

    #[inline]
    fn record(&mut self, outcome: &Outcome) {
        let Outcome { due, at, result, marks, .. } = *outcome;
        self.ended_since_sample += u64::from(at > self.sample_at);
        let latency = Bucket::of(self.latency(due, at));
        let tally = self.open(due.second());
        tally.ended += 1;
        tally.bytes_in += outcome.bytes_in;
        tally.results.count(result, latency);
        if let Some(one) = tally.by_target.get_mut(outcome.target as usize) {
            one.count(result, latency);
        }
        if result.is_err() {
            return;
        }
        tally.exchange_time.record(at - outcome.exchange_start);
        tally.cached += u64::from(marks.is_cached);
        tally.via += u64::from(marks.has_via);
        tally.retries += u64::from(outcome.is_retry);
        self.latency.count(latency);
        self.last_reply = self.last_reply.max(at);
    }

    /// The latency, as it counts, of a request that ended at `at`: what is given up counts with the
    /// timeout, however late that is noticed.
    #[inline]
    pub fn latency(&self, due: Nanos, at: Nanos) -> Span {
        (at - due).min(self.timeout)
    }

    /// When the last reply was complete; the start without any.
    pub fn last_reply(&mut self) -> Nanos {
        self.record_held();
        self.last_reply
    }

    /// The number in flight or waiting is to be known at this time.
    pub fn sample_at(&mut self, time: Nanos) {
        // What is held ended while the former time counted.
        self.record_held();
        self.sample_at = time;
        (self.due_since_sample, self.ended_since_sample) = (0, 0);
    }

    /// That time has passed, and now there are so many; since then some may have become due, and
    /// others ended, also while the loop slept.
    pub fn sample(&mut self, unended: u64) {
        self.record_held();
        let then = (unended + self.ended_since_sample).saturating_sub(self.due_since_sample);
        self.samples += 1;
        self.samples_sum += then;
    }

    /// The current second of the clock has passed; all that was due in it has been counted. Unless
    /// the load is draining, it is an entry of the record even when nothing was due.
    pub fn second_over(&mut self, in_flight: u64, is_draining: bool) -> ClockSecond {
        self.record_held();
        let next = ClockSecond { index: self.now.index + 1, ..ClockSecond::default() };
        let open = self.open.iter().map(|tally| tally.results.failed());
        let failed = self.failed_handed_over + open.sum::<u64>();
        let mut over = ClockSecond {
            errors: failed - std::mem::replace(&mut self.failed_before, failed),
            in_flight,
            in_flight_mean: match self.samples {
                0 => in_flight as f64,
                samples => self.samples_sum as f64 / samples as f64,
            },
            is_draining,
            latency: self.latency.drain(),
            ..std::mem::replace(&mut self.now, next)
        };
        (self.samples, self.samples_sum) = (0, 0);
        let is_recorded = over.index >= self.first
            && (!is_draining || ((over.index - self.first) as usize) < self.open.len());
        if is_recorded {
            let tally = self.open(over.index);
            tally.replies = over.latency.count();
            tally.in_flight = over.in_flight;
            tally.in_flight_mean = over.in_flight_mean;
            over.send_lag = tally.send_lag.counted();
        }
        over
    }

    /// The oldest second, with its index, once nothing can be added to it any more.
    pub fn take_finished(&mut self) -> Option<(u64, LoadSecond)> {
        self.record_held();
        let front = self.open.front()?;
        let is_finished = self.first < self.now.index && front.ended == front.due;
        if is_finished { self.take_front() } else { None }
    }

    /// The oldest second, finished or not; for the end of the load.
    pub fn take_front(&mut self) -> Option<(u64, LoadSecond)> {
        self.record_held();
        let mut tally = self.open.pop_front()?;
        self.failed_handed_over += tally.results.failed();
        let second = tally.drain();
        self.spare.push(tally);
        self.first += 1;
        Some((self.first - 1, second))
    }

    /// Seconds ahead of the newest are only ever the next few: due times never jump.
    #[inline]
    fn open(&mut self, second: u64) -> &mut Tally {
        assert!(second >= self.first, "second {second} was handed over already");
        let at = second.saturating_sub(self.first) as usize;
        if self.open.len() <= at {
            self.open_up_to(at);
        }
        &mut self.open[at]
    }

    #[cold]
    fn open_up_to(&mut self, at: usize) {
        while self.open.len() <= at {
            let mut tally = self.spare.pop().unwrap_or_default();
            tally.by_target.resize_with(self.targets, Results::default);
            self.open.push_back(tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::reply::Marks;

    const TIMEOUT: Span = Span::millis(60_000);

    fn recorder() -> Recorder {
        Recorder::new(0, TIMEOUT)
    }

    fn ms(count: u64) -> Nanos {
        Nanos::START + Span::millis(count)
    }

    /// Counts a request that was due and sent at one time and ended at another.
    fn end(recorder: &mut Recorder, due: Nanos, at: Nanos, result: Result<u16, RequestError>) {
        end_of_target(recorder, 0, due, at, result);
    }

    fn end_of_target(
        recorder: &mut Recorder,
        target: u32,
        due: Nanos,
        at: Nanos,
        result: Result<u16, RequestError>,
    ) {
        let request = Pending { sent: Some(due), target, ..Pending::new(due, due) };
        let marks = Marks::default();
        let ended = Ended { request, at, result, bytes_out: 0, bytes_in: 10, marks };
        recorder.ended(&ended);
    }

    #[test]
    fn a_late_reply_belongs_to_the_second_in_which_its_request_was_due() {
        let mut recorder = recorder();
        recorder.due(ms(900));
        recorder.sent(&Pending::new(ms(900), ms(900)), 100);
        let first = recorder.second_over(1, false);
        assert_eq!((first.due, first.in_flight), (1, 1));
        assert_eq!(recorder.take_finished(), None, "a request is still out");
        end(&mut recorder, ms(900), ms(2100), Ok(200));
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
    fn an_error_is_no_reply_and_what_came_of_it_is_counted_all_the_same() {
        let mut recorder = recorder();
        for at in [300, 100] {
            recorder.due(ms(at));
            recorder.sent(&Pending::new(ms(at), ms(at + 7)), 20);
        }
        end(&mut recorder, ms(300), ms(400), Ok(200));
        end(&mut recorder, ms(100), ms(700), Err(RequestError::Timeout));
        assert_eq!((recorder.last_reply(), recorder.last_due), (ms(400), ms(300)));
        let over = recorder.second_over(0, false);
        assert_eq!((over.due, over.sent, over.errors, over.latency.count()), (2, 2, 1, 1));
        let (_, second) = recorder.take_finished().unwrap();
        assert_eq!((second.completed(), second.errors.timeout, second.replies), (1, 1, 1));
        assert_eq!((second.latency.count(), second.exchange_time.count()), (2, 1));
        assert_eq!((second.bytes_out, second.bytes_in), (40, 20));
        let lag = second.send_lag.min().unwrap().as_secs_f64();
        assert!(second.send_lag.count() == 2 && (lag - 0.007).abs() < 1e-5, "{lag}");
    }

    #[test]
    fn what_is_given_up_counts_with_the_timeout_however_late_that_was_noticed() {
        let mut recorder = Recorder::new(1, Span::millis(250));
        for (due, at, result) in [(0, 9, Ok(200)), (5, 999, Err(RequestError::Timeout))] {
            recorder.due(ms(due));
            end(&mut recorder, ms(due), ms(at), result);
        }
        let (_, second) = recorder.take_front().unwrap();
        for latency in [&second.latency, &second.by_target[0].latency] {
            let longest = latency.max().unwrap().as_secs_f64();
            assert!(latency.count() == 2 && (longest - 0.25).abs() <= 0.00025, "{longest}");
        }
    }

    #[test]
    fn a_second_of_the_clock_has_what_failed_in_it_by_whatever_status_and_whenever_it_was_due() {
        let mut recorder = recorder();
        let seconds = [
            vec![(ms(100), Ok(200)), (ms(200), Ok(503)), (ms(300), Err(RequestError::Reset))],
            vec![(ms(400), Ok(404)), (ms(1100), Ok(302)), (ms(1200), Ok(500))],
            vec![(ms(1300), Err(RequestError::Timeout))],
            vec![],
        ];
        for due in seconds.iter().flatten().map(|(due, _)| *due) {
            recorder.due(due);
        }
        let mut handed_over = 0;
        let errors = seconds.map(|ended| {
            for (due, result) in ended {
                end(&mut recorder, due, due, result);
            }
            let over = recorder.second_over(0, false);
            handed_over += std::iter::from_fn(|| recorder.take_finished()).count();
            over.errors
        });
        assert_eq!((errors, handed_over), ([2, 2, 1, 0], 4));
    }

    #[test]
    fn the_second_that_still_runs_is_kept() {
        let mut recorder = recorder();
        recorder.due(ms(0));
        end(&mut recorder, ms(0), ms(0), Err(RequestError::Refused));
        assert_eq!(recorder.take_finished(), None);
        recorder.second_over(0, false);
        assert!(recorder.take_finished().is_some());
        assert_eq!(recorder.take_finished(), None);
    }

    #[test]
    fn targets_recorded_one_by_one_add_up_to_the_whole_and_begin_each_second_at_nothing() {
        let mut recorder = Recorder::new(2, TIMEOUT);
        let results = [
            (ms(0), 0, Ok(200)),
            (ms(1), 1, Ok(200)),
            (ms(1000), 1, Ok(200)),
            (ms(2), 1, Err(RequestError::Reset)),
        ];
        for (due, target, result) in results {
            recorder.due(due);
            end_of_target(&mut recorder, target, due, due + Span::millis(5), result);
        }
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
        let mut recorder = recorder();
        recorder.due(ms(0));
        recorder.second_over(1, false);
        recorder.second_over(1, true);
        end(&mut recorder, ms(0), ms(2500), Ok(200));
        recorder.second_over(0, true);
        assert!(recorder.take_finished().is_some());
        assert_eq!(recorder.take_front(), None);
    }

    #[test]
    fn a_second_in_which_something_was_due_is_one_whenever_the_drain_began() {
        let mut recorder = recorder();
        recorder.due(ms(0));
        recorder.due(ms(1000));
        end(&mut recorder, ms(0), ms(1), Ok(200));
        recorder.second_over(1, false);
        end(&mut recorder, ms(1000), ms(1001), Ok(200));
        recorder.second_over(0, true);
        let seconds = std::iter::from_fn(|| recorder.take_finished());
        assert_eq!(seconds.map(|(_, second)| second.replies).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn the_mean_in_flight_is_that_of_the_samples() {
        let mut recorder = recorder();
        [1, 2, 6].into_iter().for_each(|in_flight| recorder.sample(in_flight));
        assert_eq!(recorder.second_over(9, false).in_flight_mean, 3.0);
        // Asked for at 10 ms, taken at 14 ms: one of the two there was not due yet, and two had not
        // ended.
        recorder.sample_at(ms(10));
        for due in [9, 10, 13] {
            recorder.due(ms(due));
        }
        end(&mut recorder, ms(9), ms(11), Ok(200));
        end(&mut recorder, ms(10), ms(10), Ok(200));
        recorder.sample(2);
        assert_eq!(recorder.second_over(9, false).in_flight_mean, 2.0);
        assert_eq!(recorder.second_over(9, false).in_flight_mean, 9.0, "without samples: the last");
    }
}
