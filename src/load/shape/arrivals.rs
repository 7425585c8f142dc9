//! Due times of the open model: they never depend on a reply.

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cumulative::Cumulative;
use super::due::{Due, Part};
use super::nanos::Nanos;
use super::stages::Stage;
use crate::terms::{Arrivals, Rate};

/// The due times of one loop, ascending; without end at one rate, up to the end of the last stage
/// otherwise.
///
/// N(t) is the mean number of requests due up to t in all loops; at one rate it is rate x t.
/// Uniform: the k-th request of the whole load is due at N⁻¹(k), and request k belongs to loop
/// k mod loops, so that the loops together are exactly uniform and never fire together. Poisson:
/// every loop draws a stream of its own with mean distance `loops` on the scale of N, and N⁻¹ makes
/// times of it; the sum of independent Poisson streams is one of the full rate. That N⁻¹ turns a
/// stream of rate 1 into one of any changing rate ("time rescaling"): E. Cinlar, Introduction to
/// Stochastic Processes, 1975, chapter 4; P. Lewis and G. Shedler, Simulation of nonhomogeneous
/// Poisson processes by thinning, 1979, weigh it against other ways.
#[derive(Debug, Clone)]
pub struct DueTimes {
    counts: Counts,
    cumulative: Cumulative,
    next: Option<Nanos>,
}

/// The requests of one loop on the scale of N, ascending without end.
#[derive(Debug, Clone)]
enum Counts {
    Uniform { k: u64, step: u64 },
    Poisson { at: f64, distance: f64, random: Xoshiro256PlusPlus },
}

impl DueTimes {
    /// The part of the load at `rate` that one loop sends. A rate of zero has no due time.
    pub fn new(rate: Rate, arrivals: Arrivals, part: Part, seed: u64) -> Self {
        Self::along(Cumulative::constant(rate), arrivals, part, seed)
    }

    /// The part of the load in `stages`, after a warm-up at the rate that they begin with.
    pub fn staged(
        stages: &[Stage],
        warm_up: Duration,
        arrivals: Arrivals,
        part: Part,
        seed: u64,
    ) -> Self {
        Self::along(Cumulative::of_stages(stages, warm_up), arrivals, part, seed)
    }

    fn along(cumulative: Cumulative, arrivals: Arrivals, part: Part, seed: u64) -> Self {
        let counts = match arrivals {
            Arrivals::Uniform => {
                Counts::Uniform { k: u64::from(part.index), step: u64::from(part.of) }
            }
            Arrivals::Poisson => Counts::Poisson {
                at: 0.0,
                distance: f64::from(part.of),
                random: stream(seed, part.index),
            },
        };
        let mut times = Self { counts, cumulative, next: None };
        times.advance();
        times
    }

    /// The next due time; `None` at rate zero and after the last stage.
    #[inline]
    pub fn peek(&self) -> Option<Nanos> {
        self.next
    }

    /// Takes the next request that is due by `now`.
    #[inline]
    pub fn take_due(&mut self, now: Nanos) -> Option<Due> {
        let at = self.next.filter(|at| *at <= now)?;
        self.advance();
        Some(Due { at, client: 0, target: None })
    }

    fn advance(&mut self) {
        let due = self.cumulative.due(self.counts.next());
        // Rounding must not put two that are due at almost the same moment in the wrong order.
        self.next = due.map(|due| due.max(self.next.unwrap_or_default()));
    }
}

impl Counts {
    fn next(&mut self) -> f64 {
        match self {
            // From k itself, so that rounding does not add up over the run.
            Self::Uniform { k, step } => {
                let count = *k as f64;
                *k += *step;
                count
            }
            Self::Poisson { at, distance, random } => {
                *at += exponential(random) * *distance;
                *at
            }
        }
    }
}

/// Independent random streams from one seed, one for each loop.
fn stream(seed: u64, index: u16) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..index).for_each(|_| random.jump());
    random
}

/// Exponentially distributed with mean 1: -ln(u), u uniform in (0, 1].
fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    let bits = random.next_u64() >> 11;
    let u = (bits + 1) as f64 / (1u64 << 53) as f64;
    -u.ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NANOSECONDS: f64 = 1e9;

    impl Iterator for DueTimes {
        type Item = Nanos;

        fn next(&mut self) -> Option<Nanos> {
            let due = self.next?;
            self.advance();
            Some(due)
        }
    }

    fn rate(per_second: f64) -> Rate {
        Rate::per_second(per_second).unwrap()
    }

    #[test]
    fn uniform_requests_are_due_at_k_over_rate_without_drift() {
        let times = DueTimes::new(rate(3.0), Arrivals::Uniform, Part::WHOLE, 1);
        let last = times.take(3_000_001).last().unwrap();
        assert_eq!(last.get(), 1_000_000_000_000_000, "a million seconds to the nanosecond");
    }

    #[test]
    fn a_rate_of_zero_is_never_due() {
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            assert_eq!(DueTimes::new(rate(0.0), arrivals, Part::WHOLE, 1).peek(), None);
        }
    }

    proptest! {
        #[test]
        fn loops_together_send_the_uniform_schedule_and_never_at_once(
            of in 1u16..9, per_second in 1.0f64..50_000.0
        ) {
            let whole = DueTimes::new(rate(per_second), Arrivals::Uniform, Part::WHOLE, 0);
            let whole: Vec<Nanos> = whole.take(500).collect();
            let mut dealt: Vec<Nanos> = (0..of)
                .flat_map(|index| {
                    let part = Part { index, of };
                    DueTimes::new(rate(per_second), Arrivals::Uniform, part, 0).take(500)
                })
                .collect();
            dealt.sort_unstable();
            prop_assert_eq!(&dealt[..500], &whole[..]);
            prop_assert!(whole.windows(2).all(|pair| pair[0] < pair[1]));
        }

        #[test]
        fn due_times_ascend(seed: u64, per_second in 0.1f64..100_000.0) {
            let times = DueTimes::new(rate(per_second), Arrivals::Poisson, Part::WHOLE, seed);
            let times: Vec<Nanos> = times.take(300).collect();
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }

    #[test]
    fn poisson_distances_have_the_mean_and_variance_of_an_exponential() {
        let n = 200_000;
        for (index, of) in [(0, 1), (0, 2), (1, 2)] {
            let part = Part { index, of };
            let times = DueTimes::new(rate(1000.0), Arrivals::Poisson, part, 42).take(n + 1);
            let times: Vec<f64> = times.map(|at| at.get() as f64 / NANOSECONDS).collect();
            let distances: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let mean = distances.iter().sum::<f64>() / n as f64;
            let variance = distances.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64;
            let expected = f64::from(of) / 1000.0;
            // Four standard errors: 4 / sqrt(n) for the mean, 4 sqrt(8 / n) for the variance.
            assert!((mean / expected - 1.0).abs() < 0.009, "mean {mean}");
            assert!((variance / expected.powi(2) - 1.0).abs() < 0.026, "variance {variance}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals_and_loops_draw_different_ones() {
        let draw = |seed, index| -> Vec<Nanos> {
            DueTimes::new(rate(10.0), Arrivals::Poisson, Part { index, of: 2 }, seed)
                .take(20)
                .collect()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(8, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
    }

    fn stage(from: f64, to: f64, seconds: f64) -> Stage {
        Stage { from: rate(from), to: rate(to), length: Duration::from_secs_f64(seconds) }
    }

    /// All due times of one loop, in seconds.
    fn staged(stages: &[Stage], warm_up: u64, arrivals: Arrivals, part: Part) -> Vec<f64> {
        let warm_up = Duration::from_secs(warm_up);
        let times = DueTimes::staged(stages, warm_up, arrivals, part, 42);
        times.map(|at| at.get() as f64 / NANOSECONDS).collect()
    }

    #[test]
    fn a_ramp_from_nothing_to_500_in_a_minute_has_15_000_requests() {
        let times = staged(&[stage(0.0, 500.0, 60.0)], 0, Arrivals::Uniform, Part::WHOLE);
        assert_eq!(times.len(), 15_000);
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_long_stage_does_not_drift() {
        let stages = [stage(5.0, 5.0, 2.0), stage(3.0, 3.0, 1e6), stage(0.0, 0.0, 1.0)];
        let times = DueTimes::staged(&stages, Duration::ZERO, Arrivals::Uniform, Part::WHOLE, 1);
        let (count, last) = times.fold((0, 0), |(count, _), due| (count + 1, due.get()));
        assert_eq!((count, last), (3_000_010, 1_000_001_666_666_666), "to the nanosecond");
    }

    #[test]
    fn a_warm_up_holds_the_rate_that_the_first_stage_begins_with() {
        let before = |times: &[f64], end: f64| times.iter().filter(|at| **at < end).count();
        let times = staged(&[stage(20.0, 40.0, 1.0)], 2, Arrivals::Uniform, Part::WHOLE);
        assert_eq!((before(&times, 2.0), times.len()), (40, 70));
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            let times = staged(&[stage(0.0, 40.0, 1.0)], 2, arrivals, Part::WHOLE);
            assert_eq!(before(&times, 2.0), 0, "a ramp from 0 begins with nothing");
        }
    }

    #[test]
    fn poisson_arrivals_have_the_mean_of_every_piece_of_every_stage() {
        let stages =
            [stage(1000.0, 1000.0, 20.0), stage(1000.0, 3000.0, 20.0), stage(0.0, 0.0, 5.0)];
        let stages = [&stages[..], &[stage(3000.0, 0.0, 20.0)]].concat();
        // Begin and end, in seconds, and the integral of the rate between them.
        let pieces = [
            (0.0, 20.0, 20_000.0),
            (20.0, 30.0, 15_000.0),
            (30.0, 40.0, 25_000.0),
            (40.0, 45.0, 0.0),
            (45.0, 55.0, 22_500.0),
            (55.0, 65.0, 7_500.0),
        ];
        for of in [1, 3] {
            let loops = (0..of).map(|index| Part { index, of });
            let times: Vec<f64> =
                loops.flat_map(|part| staged(&stages, 0, Arrivals::Poisson, part)).collect();
            for (begin, end, expected) in pieces {
                let count = times.iter().filter(|at| (begin..end).contains(*at)).count() as f64;
                // Four standard errors of a Poisson count.
                let off = (count - expected).abs();
                assert!(off <= 4.0 * f64::sqrt(expected), "{begin} to {end}: {count}");
            }
            assert!(times.iter().all(|at| *at < 65.0));
        }
    }

    /// N(t), by adding up the area below the rate.
    fn due_up_to(stages: &[Stage], time_s: f64) -> f64 {
        let mut left = time_s;
        let mut area = 0.0;
        for stage in stages {
            let length = stage.length.as_secs_f64();
            let part = left.clamp(0.0, length);
            let (from, to) = (stage.from.as_per_second(), stage.to.as_per_second());
            area += part * (from + (to - from) * part / length / 2.0);
            left -= part;
        }
        area
    }

    fn some_stages() -> impl Strategy<Value = Vec<Stage>> {
        let some_rate = || prop_oneof![1 => Just(0.0), 3 => 0.1f64..400.0];
        let some_stage = prop_oneof![
            (some_rate(), some_rate(), 0.001f64..3.0),
            (some_rate(), 0.001f64..3.0).prop_map(|(rate, length)| (rate, rate, length)),
        ];
        let some_stage = some_stage.prop_map(|(from, to, length)| stage(from, to, length));
        proptest::collection::vec(some_stage, 1..6)
    }

    proptest! {
        #[test]
        fn what_is_due_up_to_a_time_in_all_loops_is_the_area_below_the_rate(
            stages in some_stages(), of in 1u16..5, share in 0.0f64..1.1
        ) {
            let whole = staged(&stages, 0, Arrivals::Uniform, Part::WHOLE);
            let mut dealt = Vec::new();
            for index in 0..of {
                let part = staged(&stages, 0, Arrivals::Uniform, Part { index, of });
                prop_assert!(part.windows(2).all(|pair| pair[0] <= pair[1]));
                dealt.extend(part);
            }
            dealt.sort_by(f64::total_cmp);
            prop_assert_eq!(&dealt, &whole);

            let length = super::super::stages::length(&stages).as_secs_f64();
            let time = share * length;
            let count = whole.iter().filter(|at| **at < time).count() as f64;
            let expected = due_up_to(&stages, time);
            prop_assert!((count - expected).abs() <= 1.0 + 1e-6, "{count}, not {expected}");
            prop_assert!(whole.last().is_none_or(|last| *last < length));
        }

        #[test]
        fn due_times_of_stages_ascend_and_end(stages in some_stages(), seed: u64) {
            let times =
                DueTimes::staged(&stages, Duration::ZERO, Arrivals::Poisson, Part::WHOLE, seed);
            let times: Vec<Nanos> = times.collect();
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
            let end = Nanos::from(super::super::stages::length(&stages));
            prop_assert!(times.last().is_none_or(|last| *last < end));
        }
    }
}
