//! What the generators record becomes one record: counts are added, distributions merged bucket by
//! bucket.
//!
//! In: each generator's seconds, in its order. Out: the load's, in order. Only computes.

use std::collections::VecDeque;
use std::time::Duration;

use crate::terms::{GeneratorUse, LiveSecond, LoadRun, LoadSecond, Phase};

/// What one generator has told so far.
#[derive(Debug, Default)]
pub struct Progress {
    /// Seconds of the record.
    seconds: usize,
    /// By the clock, until all have told the same.
    pub live: VecDeque<LiveSecond>,
    /// Once it came to its end.
    pub run: Option<LoadRun>,
    /// It is given up. What it told before stays; nothing that it tells later is to be added, as
    /// those seconds may be handed on already.
    pub is_lost: bool,
}

impl Progress {
    pub fn is_over(&self) -> bool {
        self.run.is_some() || self.is_lost
    }
}

/// The record while it grows. Holds only seconds that some generator has yet to tell.
#[derive(Debug)]
pub struct Merge {
    pub generators: Vec<Progress>,
    seconds: VecDeque<LoadSecond>,
    handed_on: usize,
}

impl Merge {
    pub fn new(generators: u16) -> Self {
        Self {
            generators: (0..generators).map(|_| Progress::default()).collect(),
            seconds: VecDeque::new(),
            handed_on: 0,
        }
    }

    /// The next second of one generator's record.
    pub fn second(&mut self, generator: usize, second: &LoadSecond) {
        let progress = &mut self.generators[generator];
        let at = progress.seconds.saturating_sub(self.handed_on);
        progress.seconds += 1;
        if self.seconds.len() <= at {
            self.seconds.resize_with(at + 1, LoadSecond::default);
        }
        self.seconds[at].add(second);
    }

    pub fn is_over(&self) -> bool {
        self.generators.iter().all(Progress::is_over)
    }

    /// The oldest second, once nothing can be added to it.
    pub fn next_second(&mut self) -> Option<LoadSecond> {
        let is_told = |one: &Progress| one.is_over() || one.seconds > self.handed_on;
        if !self.generators.iter().all(is_told) {
            return None;
        }
        let second = self.seconds.pop_front()?;
        self.handed_on += 1;
        Some(second)
    }

    /// The next second by the clock that all generators that still run have told. Its quantiles are
    /// those of the generator that has the longest: these are for watching, and have no
    /// distributions.
    pub fn next_live(&mut self) -> Option<LiveSecond> {
        let is_told = |one: &Progress| one.is_over() || !one.live.is_empty();
        if !self.generators.iter().all(is_told) {
            return None;
        }
        let told: Vec<LiveSecond> =
            self.generators.iter_mut().filter_map(|one| one.live.pop_front()).collect();
        told.into_iter().reduce(|sum, other| LiveSecond {
            at: sum.at,
            phase: if sum.phase == Phase::Drain { other.phase } else { sum.phase },
            due: sum.due + other.due,
            sent: sum.sent + other.sent,
            replies: sum.replies + other.replies,
            errors: sum.errors + other.errors,
            in_flight: sum.in_flight + other.in_flight,
            in_flight_mean: sum.in_flight_mean + other.in_flight_mean,
            p95: sum.p95.max(other.p95),
            send_lag_p99: sum.send_lag_p99.max(other.send_lag_p99),
        })
    }

    /// All generators' run as one; `None` where none came to its end.
    pub fn run(&self) -> Option<LoadRun> {
        let is_lost = self.generators.iter().any(|one| one.is_lost);
        let runs = self.generators.iter().filter_map(|one| one.run.clone());
        let sum = runs.reduce(|sum, other| LoadRun {
            duration: sum.duration.max(other.duration),
            last_reply: sum.last_reply.max(other.last_reply),
            is_cut_short: sum.is_cut_short || other.is_cut_short,
            tls_trouble: sum.tls_trouble.or(other.tls_trouble),
            rows_left_out: sum.rows_left_out + other.rows_left_out,
            generator: together(sum.generator, other.generator),
            ..sum
        });
        sum.map(|run| LoadRun { is_cut_short: run.is_cut_short || is_lost, ..run })
    }
}

fn together(one: GeneratorUse, other: GeneratorUse) -> GeneratorUse {
    let sum = |of: fn(&GeneratorUse) -> Duration| of(&one) + of(&other);
    GeneratorUse {
        cpu_user: sum(|it| it.cpu_user),
        cpu_system: sum(|it| it.cpu_system),
        rss_bytes_max: one.rss_bytes_max + other.rss_bytes_max,
        busiest_loop: one.busiest_loop.max(other.busiest_loop),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::terms::{Offered, Rate};

    fn run(cpu_ms: u64) -> LoadRun {
        LoadRun {
            offered: Offered::Closed { clients: 1, think: Duration::ZERO },
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(1),
            last_reply: Duration::from_millis(cpu_ms),
            is_cut_short: false,
            tls_trouble: None,
            rows_left_out: 0,
            generator: GeneratorUse {
                cpu_user: Duration::from_millis(cpu_ms),
                ..GeneratorUse::default()
            },
        }
    }

    fn due(due: u64) -> LoadSecond {
        LoadSecond { due, ..LoadSecond::default() }
    }

    #[test]
    fn a_second_is_handed_on_when_no_generator_can_add_to_it() {
        let mut merge = Merge::new(2);
        merge.second(0, &due(1));
        merge.second(0, &due(2));
        assert!(merge.next_second().is_none());
        merge.second(1, &due(10));
        assert_eq!(merge.next_second().map(|it| it.due), Some(11));
        assert!(merge.next_second().is_none());
        merge.generators[1].is_lost = true;
        assert_eq!(merge.next_second().map(|it| it.due), Some(2));
        assert!(!merge.is_over());
        merge.generators[0].run = Some(run(30));
        assert!(merge.is_over());
        assert!(merge.run().unwrap().is_cut_short, "a part of it is missing");
    }

    #[test]
    fn what_generators_use_is_added_up_and_the_last_reply_is_the_latest() {
        let mut merge = Merge::new(2);
        merge.generators[0].run = Some(run(30));
        merge.generators[1].run = Some(run(70));
        let run = merge.run().unwrap();
        assert_eq!(run.generator.cpu_user, Duration::from_millis(100));
        assert_eq!(run.last_reply, Duration::from_millis(70));
        assert_eq!(run.offered.rate(), None::<Rate>);
        assert!(!run.is_cut_short);
    }

    proptest! {
        #[test]
        fn merged_seconds_are_what_one_generator_would_have_recorded(
            requests in proptest::collection::vec((0usize..3, 0usize..4, 1u64..9_000_000), 1..200),
        ) {
            let mut merge = Merge::new(3);
            let mut pooled = vec![LoadSecond::default(); 4];
            let mut parts = vec![vec![LoadSecond::default(); 4]; 3];
            for (generator, second, us) in requests {
                for one in [&mut pooled[second], &mut parts[generator][second]] {
                    one.due += 1;
                    *one.status.entry(200).or_default() += 1;
                    one.latency.record(Duration::from_micros(us));
                }
            }
            for (generator, seconds) in parts.iter().enumerate() {
                seconds.iter().for_each(|second| merge.second(generator, second));
            }
            let merged: Vec<LoadSecond> = std::iter::from_fn(|| merge.next_second()).collect();
            prop_assert_eq!(merged, pooled);
        }
    }
}
