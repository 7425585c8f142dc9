//! Due times of the open model: they never depend on a reply.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Part;
use crate::terms::{Arrivals, Rate};

/// The due times of one loop: nanoseconds since the load began, ascending, without end.
///
/// Uniform: the k-th request of the whole load is due at k / rate, and request k belongs to loop
/// k mod loops, so that the loops together are exactly uniform and never fire together. Poisson:
/// every loop draws a stream of its own with rate / loops; the sum of independent Poisson streams
/// is one of the full rate.
#[derive(Debug, Clone)]
pub struct DueTimes {
    kind: Kind,
    next: Option<u64>,
}

#[derive(Debug, Clone)]
enum Kind {
    Uniform { k: u64, step: u64, per_second: f64 },
    Poisson { at_s: f64, per_second: f64, random: Xoshiro256PlusPlus },
}

const NANOSECONDS: f64 = 1e9;

impl DueTimes {
    /// The part of the load at `rate` that one loop sends. A rate of zero has no due time.
    pub fn new(rate: Rate, arrivals: Arrivals, part: Part, seed: u64) -> Self {
        let rate = rate.as_per_second();
        let (index, of) = (u64::from(part.index), u64::from(part.of));
        let kind = match arrivals {
            Arrivals::Uniform => Kind::Uniform { k: index, step: of, per_second: rate },
            Arrivals::Poisson => Kind::Poisson {
                at_s: 0.0,
                per_second: rate / of as f64,
                random: stream(seed, part.index),
            },
        };
        let mut times = Self { kind, next: None };
        if rate > 0.0 {
            times.advance();
        }
        times
    }

    /// The next due time; `None` only at rate zero.
    pub fn peek(&self) -> Option<u64> {
        self.next
    }

    /// Moves on to the one after it.
    pub fn advance(&mut self) {
        let due = match &mut self.kind {
            Kind::Uniform { k, step, per_second } => {
                // In closed form, so that rounding does not add up over the run.
                let due_s = *k as f64 / *per_second;
                *k += *step;
                due_s
            }
            Kind::Poisson { at_s, per_second, random } => {
                *at_s += exponential(random) / *per_second;
                *at_s
            }
        };
        self.next = Some((due * NANOSECONDS) as u64);
    }
}

impl Iterator for DueTimes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let due = self.peek()?;
        self.advance();
        Some(due)
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

    fn rate(per_second: f64) -> Rate {
        Rate::per_second(per_second).unwrap()
    }

    #[test]
    fn uniform_requests_are_due_at_k_over_rate_without_drift() {
        let times = DueTimes::new(rate(3.0), Arrivals::Uniform, Part::WHOLE, 1);
        let last = times.take(3_000_001).last().unwrap();
        assert_eq!(last, 1_000_000_000_000_000, "a million seconds to the nanosecond");
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
            let whole: Vec<u64> = whole.take(500).collect();
            let mut dealt: Vec<u64> = (0..of)
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
            let times: Vec<u64> = times.take(300).collect();
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }

    #[test]
    fn poisson_distances_have_the_mean_and_variance_of_an_exponential() {
        let n = 200_000;
        for (index, of) in [(0, 1), (0, 2), (1, 2)] {
            let part = Part { index, of };
            let times = DueTimes::new(rate(1000.0), Arrivals::Poisson, part, 42).take(n + 1);
            let times: Vec<f64> = times.map(|ns| ns as f64 / NANOSECONDS).collect();
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
        let draw = |seed, index| -> Vec<u64> {
            DueTimes::new(rate(10.0), Arrivals::Poisson, Part { index, of: 2 }, seed)
                .take(20)
                .collect()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(8, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
    }
}
