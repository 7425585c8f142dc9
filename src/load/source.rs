//! Where a loop's requests come from: a schedule or clients, until the load's length is reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::lifecycle::Ended;
use super::shape::{Due, DueTimes, LoopClients, LoopTimes, Nanos, Part, Shape, Span};
use super::spec::{Length, LoadSpec};

/// When the load is over: one limit for all loops.
#[derive(Debug, Clone)]
pub enum Limit {
    /// Nothing is due at or after this.
    At(Nanos),
    /// As many may be due from `from` on as `left` says; loops take from one count, one request at
    /// a time.
    After { from: Nanos, left: Arc<AtomicU64> },
}

impl Limit {
    /// A shape that has an end of its own is over then, whatever the length. Of a number of
    /// requests this generator has a share; a duration is all generators'.
    pub fn of(spec: &LoadSpec) -> Self {
        let from = Nanos::from(spec.warm_up);
        match (spec.shape.end(spec.warm_up), spec.length) {
            (Some(end), _) => Self::At(end.into()),
            (None, Length::Duration(length)) => Self::At(from + length.into()),
            (None, Length::Requests(count)) => {
                Self::After { from, left: Arc::new(AtomicU64::new(spec.part.share(count))) }
            }
        }
    }

    /// Whether a request may be due at this time; takes it from the count.
    #[inline]
    fn admits(&self, at: Nanos) -> bool {
        match self {
            Self::At(end) => at < *end,
            Self::After { from, left } => {
                at < *from
                    || left
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                            left.checked_sub(1)
                        })
                        .is_ok()
            }
        }
    }
}

#[derive(Debug)]
enum Kind {
    Open(DueTimes),
    Replayed(LoopTimes),
    Closed(LoopClients),
}

/// One loop's requests.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    limit: Limit,
    /// Since when nothing is due any more.
    over_at: Option<Nanos>,
}

impl Source {
    pub fn new(shape: &Shape, warm_up: Duration, part: Part, seed: u64, limit: Limit) -> Self {
        let kind = match shape {
            Shape::Constant { rate, arrivals } => {
                Kind::Open(DueTimes::new(*rate, *arrivals, part, seed))
            }
            Shape::Stages { stages, arrivals } => {
                Kind::Open(DueTimes::staged(stages, warm_up, *arrivals, part, seed))
            }
            Shape::Times(times) => Kind::Replayed(LoopTimes::new(Arc::clone(times), part)),
            Shape::Clients { clients, think } => {
                Kind::Closed(LoopClients::new(*clients, *think, part))
            }
        };
        Self { kind, limit, over_at: None }
    }

    /// The earliest time at which [`take`](Self::take) has a request, or notices the end; `None`
    /// when the next request waits for a reply, or nothing is due any more.
    #[inline]
    pub fn peek(&self) -> Option<Nanos> {
        if self.is_over() {
            return None;
        }
        let next = match &self.kind {
            Kind::Open(times) => times.peek(),
            Kind::Replayed(times) => times.peek(),
            Kind::Closed(clients) => clients.peek(),
        };
        match self.limit {
            Limit::At(end) => Some(next.map_or(end, |next| next.min(end))),
            // The last has been taken: that is noticed now, not when one more would be due.
            Limit::After { ref left, .. } if left.load(Ordering::Relaxed) == 0 => {
                Some(Nanos::START)
            }
            Limit::After { .. } => next,
        }
    }

    /// The next request that is due by `now`; without one, notices whether the load is over.
    #[inline]
    pub fn take(&mut self, now: Nanos) -> Option<Due> {
        if self.is_over() {
            return None;
        }
        let due = match &mut self.kind {
            Kind::Open(times) => times.take_due(now),
            Kind::Replayed(times) => times.take(now),
            Kind::Closed(clients) => clients.take(now),
        };
        let has_ended = match (&self.limit, due) {
            (_, Some(due)) => !self.limit.admits(due.at),
            (Limit::At(end), None) => now >= *end,
            (Limit::After { left, .. }, None) => left.load(Ordering::Relaxed) == 0,
        };
        if has_ended {
            self.over_at = match self.limit {
                Limit::At(end) => Some(end),
                Limit::After { .. } => Some(now),
            };
        }
        due.filter(|_| !has_ended)
    }

    /// Nothing is due any more from `now` on.
    pub fn end(&mut self, now: Nanos) {
        self.over_at = self.over_at.or(Some(now));
    }

    /// Whether nothing is due any more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over_at.is_some()
    }

    /// Whether nothing at all was due from `time` on.
    pub fn was_over_at(&self, time: Nanos) -> bool {
        self.over_at.is_some_and(|over_at| over_at <= time)
    }

    /// A client's request has ended; the client is ready again after thinking.
    #[inline]
    pub fn ended(&mut self, ended: &Ended) {
        if let Kind::Closed(clients) = &mut self.kind {
            match ended.result {
                Ok(_) => clients.answered(ended.request.client, ended.at),
                Err(_) => clients.failed(ended.request.client, ended.at),
            }
        }
    }

    /// How long a client thinks between a reply and its next request; `None` in the open model.
    #[inline]
    pub fn think(&self) -> Option<Span> {
        match &self.kind {
            Kind::Open(_) | Kind::Replayed(_) => None,
            Kind::Closed(clients) => Some(clients.think),
        }
    }

    /// How many clients have connections of their own; `None` in the open model.
    pub fn clients(&self) -> Option<u32> {
        match &self.kind {
            Kind::Open(_) | Kind::Replayed(_) => None,
            Kind::Closed(clients) => Some(clients.count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shape::{Stages, Times};
    use crate::load::spec::tests::spec;
    use crate::terms::{Arrivals, Rate};

    /// Of a load whose shape has no end of its own.
    fn limit(warm_up: Duration, length: Length) -> Limit {
        Limit::of(&LoadSpec { warm_up, length, ..spec() })
    }

    /// Ten requests a second.
    fn source(part: Part, limit: Limit) -> Source {
        let rate = Rate::per_second(10.0).unwrap();
        let shape = Shape::Constant { rate, arrivals: Arrivals::Uniform };
        Source::new(&shape, Duration::ZERO, part, 1, limit)
    }

    fn all(source: &mut Source) -> Vec<Nanos> {
        std::iter::from_fn(|| source.take(Nanos::MAX)).map(|due| due.at).collect()
    }

    #[test]
    fn a_duration_ends_before_its_last_moment() {
        let end = limit(Duration::from_secs(1), Length::Duration(Duration::from_secs(2)));
        let mut source = source(Part::WHOLE, end);
        assert_eq!(all(&mut source).len(), 30);
        assert!(source.is_over());
        assert_eq!(source.peek(), None);
    }

    #[test]
    fn a_number_of_requests_counts_from_the_end_of_the_warm_up_over_all_loops() {
        let end = limit(Duration::from_secs(1), Length::Requests(7));
        let count = (0..3).map(|index| {
            let part = Part { index, of: 3 };
            all(&mut source(part, end.clone())).len()
        });
        assert_eq!(count.sum::<usize>(), 10 + 7);
    }

    #[test]
    fn after_the_last_of_a_number_of_requests_nothing_is_waited_for() {
        let end = limit(Duration::ZERO, Length::Requests(1));
        let mut source = source(Part::WHOLE, end);
        assert!(source.take(Nanos::new(0)).is_some());
        assert!(
            source.peek().is_some_and(|at| at <= Nanos::new(1)),
            "not at 100 ms, the next due time"
        );
        assert_eq!(source.take(Nanos::new(1)), None);
        assert!(source.is_over());
    }

    #[test]
    fn the_end_is_noticed_while_every_client_waits_for_its_reply() {
        let end = limit(Duration::ZERO, Length::Duration(Duration::from_secs(1)));
        let shape = Shape::Clients { clients: 1, think: Duration::ZERO };
        let mut source = Source::new(&shape, Duration::ZERO, Part::WHOLE, 1, end);
        assert!(source.take(Nanos::new(0)).is_some());
        assert_eq!(source.peek(), Some(Nanos::new(1_000_000_000)));
        assert_eq!(source.take(Nanos::new(1_000_000_000)), None);
        assert!(source.is_over());
    }

    #[test]
    fn stages_are_over_when_the_last_one_is_and_a_silent_one_is_waited_for() {
        let Stages(stages) = "10/s:1s,0:2s".parse().unwrap();
        let shape = Shape::Stages { stages, arrivals: Arrivals::Uniform };
        let warm_up = Duration::from_secs(1);
        let end = Limit::At(shape.end(warm_up).unwrap().into());
        let mut source = Source::new(&shape, warm_up, Part::WHOLE, 1, end);
        assert_eq!(std::iter::from_fn(|| source.take(Nanos::new(2_000_000_000))).count(), 20);
        assert_eq!(source.peek(), Some(Nanos::new(4_000_000_000)));
        assert!(!source.is_over());
        assert_eq!(source.take(Nanos::new(4_000_000_000)), None);
        assert!(source.is_over());
    }

    #[test]
    fn a_replay_names_its_targets_and_is_over_after_its_last_request_in_every_loop() {
        let ms = Duration::from_millis;
        let times = Times::new(vec![(ms(0), 4), (ms(10), 5), (ms(20), 4)]).unwrap();
        let shape = Shape::Times(Arc::new(times));
        let end = Limit::At(shape.end(Duration::ZERO).unwrap().into());
        let parts = [(0, 2, vec![Some(4), Some(4)]), (1, 2, vec![Some(5)]), (3, 4, vec![])];
        for (index, of, expected) in parts {
            let part = Part { index, of };
            let mut source = Source::new(&shape, Duration::ZERO, part, 1, end.clone());
            let taken = std::iter::from_fn(|| source.take(Nanos::new(20_000_000)));
            assert_eq!(taken.map(|due| due.target).collect::<Vec<_>>(), expected);
            assert_eq!((source.peek(), source.is_over()), (Some(Nanos::new(20_000_001)), false));
            assert_eq!(source.take(Nanos::new(20_000_001)), None);
            assert!(source.is_over());
        }
    }
}
