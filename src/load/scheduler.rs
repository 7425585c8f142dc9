//! Which request of a loop is sent next, and whether there is room for it.
//!
//! In: the loop's due times, and what has ended. Out: requests, the oldest first.

use std::collections::VecDeque;

use super::lifecycle::{Ended, Pending};
use super::request::Mix;
use super::shape::{Nanos, Part, Span};
use super::source::Source;

/// Requests that may wait for room, a loop. At 16,000/s that is more than a minute's worth.
const LONGEST_QUEUE: usize = 1 << 20;

/// The requests of one loop that are due, or will be.
#[derive(Debug)]
pub struct Scheduler {
    pub source: Source,
    mix: Mix,
    part: Part,
    /// Of the next request that is due, among those of all loops, which take turns.
    next_number: u64,
    /// Due, but not to be sent before there is room; oldest first.
    waiting: VecDeque<Pending>,
    /// A unix socket's queue was full: nothing is sent before this.
    paused_until: Nanos,
    pub in_flight: usize,
    max_in_flight: usize,
    /// Nothing was due any more from here on, before the planned end.
    pub cut_short_at: Option<Nanos>,
}

impl Scheduler {
    pub fn new(source: Source, mix: Mix, part: Part, max_in_flight: usize) -> Self {
        Self {
            source,
            mix,
            part,
            next_number: u64::from(part.index),
            waiting: VecDeque::new(),
            paused_until: Nanos::START,
            in_flight: 0,
            max_in_flight,
            cut_short_at: None,
        }
    }

    /// The next request that is due by `now`; without one, notices whether there will be any more.
    #[inline]
    pub fn take_due(&mut self, now: Nanos) -> Option<Pending> {
        let due = self.source.take(now)?;
        let request = Pending {
            target: due.target.unwrap_or_else(|| self.mix.next()),
            number: self.next_number,
            client: due.client,
            has_waited: self.is_full(now),
            ..Pending::new(due.at, now)
        };
        self.next_number += u64::from(self.part.of);
        Some(request)
    }

    /// The oldest request that had to wait, once there is room for it.
    #[inline]
    pub fn take_waiting(&mut self, now: Nanos) -> Option<Pending> {
        if self.waiting.is_empty() || self.is_full(now) { None } else { self.waiting.pop_front() }
    }

    #[inline]
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Lets a request wait behind the others.
    ///
    /// # Errors
    /// Too many are waiting: the request comes back.
    pub fn enqueue(&mut self, request: Pending) -> Result<(), Pending> {
        if self.waiting.len() >= LONGEST_QUEUE {
            return Err(request);
        }
        self.waiting.push_back(request);
        Ok(())
    }

    /// Whether no request may be sent now.
    #[inline]
    fn is_full(&self, now: Nanos) -> bool {
        self.in_flight >= self.max_in_flight || self.paused_until > now
    }

    /// A request is on its way: it counts as in flight until it has ended or is put back.
    #[inline]
    pub fn begin(&mut self) {
        self.in_flight += 1;
    }

    /// A request that was on its way is to be sent before all that wait and were due later.
    pub fn put_back(&mut self, request: Pending) {
        self.in_flight -= 1;
        let older = self.waiting.partition_point(|waiting| waiting.due < request.due);
        self.waiting.insert(older, request);
    }

    /// Nothing is to be sent before this.
    pub fn pause_until(&mut self, until: Nanos) {
        self.paused_until = until;
    }

    /// A request that was on its way has ended.
    #[inline]
    pub fn ended(&mut self, ended: &Ended) {
        self.in_flight -= 1;
        self.source.ended(ended);
    }

    /// The oldest request that waits, if it was due this long ago.
    pub fn take_overdue(&mut self, timeout: Span, now: Nanos) -> Option<Pending> {
        self.waiting.front().filter(|request| request.due + timeout <= now)?;
        self.waiting.pop_front()
    }

    /// No request that is put on its way later was due before this.
    pub fn earliest_to_come(&self, now: Nanos) -> Nanos {
        let waiting = self.waiting.front().map(|request| request.due);
        [waiting, self.source.peek()].into_iter().flatten().fold(now, Nanos::min)
    }

    /// Until when the loop may wait for events; `None`: for as long as nothing happens.
    #[inline]
    pub fn next_wake(&self) -> Option<Nanos> {
        let may_send = self.has_waiting() && self.in_flight < self.max_in_flight;
        let resumed = may_send.then_some(self.paused_until);
        [self.source.peek(), resumed].into_iter().flatten().min()
    }

    /// How many requests are due and have not ended.
    #[inline]
    pub fn unended(&self) -> usize {
        self.in_flight + self.waiting.len()
    }

    /// Nothing is due any more from `now` on.
    pub fn cut_short(&mut self, now: Nanos) {
        if !self.source.is_over() {
            self.source.end(now);
            self.cut_short_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::load::shape::Shape;
    use crate::load::source::Limit;
    use crate::terms::{Arrivals, Rate};

    fn ms(count: u64) -> Nanos {
        Nanos::START + Span::millis(count)
    }

    /// Ten requests, one in 100 ms.
    fn scheduler(max_in_flight: usize) -> Scheduler {
        let rate = Rate::per_second(10.0).unwrap();
        let shape = Shape::Constant { rate, arrivals: Arrivals::Uniform };
        let source = Source::new(&shape, Duration::ZERO, Part::WHOLE, 1, Limit::At(ms(1000)));
        let mix = Mix::new(&[1], Xoshiro256PlusPlus::seed_from_u64(1));
        Scheduler::new(source, mix, Part::WHOLE, max_in_flight)
    }

    #[test]
    fn requests_are_taken_when_they_are_due_and_the_end_is_noticed_when_it_has_come() {
        let mut scheduler = scheduler(100);
        let due = scheduler.take_due(ms(99)).map(|request| request.due);
        assert_eq!(due, Some(ms(0)));
        assert!(scheduler.take_due(ms(99)).is_none());
        assert_eq!(std::iter::from_fn(|| scheduler.take_due(ms(999))).count(), 9);
        assert!(!scheduler.source.is_over(), "the last second has not passed");
        assert!(scheduler.take_due(ms(1000)).is_none());
        assert!(scheduler.source.is_over() && scheduler.source.was_over_at(ms(1000)));
    }

    #[test]
    fn those_who_wait_are_taken_in_turn_once_there_is_room() {
        let mut scheduler = scheduler(1);
        let first = scheduler.take_due(ms(0)).unwrap();
        assert!(!first.has_waited && scheduler.take_waiting(ms(0)).is_none());
        scheduler.begin();
        let second = scheduler.take_due(ms(100)).unwrap();
        assert!(second.has_waited);
        scheduler.enqueue(second).unwrap();
        assert!(scheduler.take_waiting(ms(100)).is_none(), "no room");
        scheduler.put_back(first);
        let waiting = std::iter::from_fn(|| scheduler.take_waiting(ms(100)));
        assert_eq!(waiting.map(|request| request.due).collect::<Vec<_>>(), [ms(0), ms(100)]);
    }

    /// Those of one connection come back in the order in which they were sent.
    #[test]
    fn requests_that_are_put_back_together_are_sent_again_oldest_first() {
        let mut scheduler = scheduler(2);
        let sent = [ms(0), ms(100)].map(|now| scheduler.take_due(now).unwrap());
        sent.iter().for_each(|_| scheduler.begin());
        sent.into_iter().for_each(|request| scheduler.put_back(request));
        assert_eq!(scheduler.earliest_to_come(ms(150)), ms(0));
        let waiting = std::iter::from_fn(|| scheduler.take_waiting(ms(150)));
        assert_eq!(waiting.map(|request| request.due).collect::<Vec<_>>(), [ms(0), ms(100)]);
    }
}
