//! Is one thing more than another? A ratio with its interval, and what it says beside a band within
//! which two things count as equal.

use super::{Estimate, t_quantile};
use crate::terms::{FigureKind, Standing};

/// A ratio on the logarithm's scale, with its standard error and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogRatio {
    /// ln(b / a).
    pub value: f64,
    /// Standard error of `value`.
    pub error: f64,
    /// The part of it that no number of observations makes smaller.
    pub lasting: f64,
    /// Of Student's t; infinite where the error is known.
    pub degrees: f64,
    /// Observations on either side.
    pub count: [u64; 2],
}

/// What a ratio says beside a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Beyond doubt above one, and by more than the band as far as is known.
    Above,
    /// Beyond doubt below one, and by more than the band as far as is known.
    Below,
    /// The 90 % interval lies within the band (two one-sided tests at 5 %: Schuirmann 1987).
    Within,
    Undecided,
}

impl Beside {
    /// By an interval of a figure of 95 % or more and its interval of 90 %, and a band around the
    /// value that means that nothing changed: 1 of a ratio, 0 of a difference.
    pub fn of(sure: &Estimate, near: &Estimate, same: f64, band: f64) -> Self {
        if near.lies_within(same - band, same + band) {
            Self::Within
        } else if sure.low > same && sure.value > same + band {
            Self::Above
        } else if sure.high < same && sure.value < same - band {
            Self::Below
        } else {
            Self::Undecided
        }
    }

    /// What it says of B, when B's figure of this kind lies so beside A's.
    pub fn standing(self, kind: FigureKind) -> Standing {
        match (self, kind.is_less_better()) {
            (Self::Within, _) => Standing::Equivalent,
            (Self::Undecided, _) => Standing::Undecided,
            (Self::Above, false) | (Self::Below, true) => Standing::Better,
            (Self::Above, true) | (Self::Below, false) => Standing::Worse,
        }
    }
}

/// How many times as many observations would say what the logarithm of a ratio, `value`, is beside
/// a band around one; `None` when no number would. `more_for` says it for an interval's level and
/// half width.
pub fn more_to_decide(
    value: f64,
    band: f64,
    more_for: impl Fn(f64, f64) -> Option<f64>,
) -> Option<f64> {
    let (low, high) = ((1.0 - band).ln(), (1.0 + band).ln());
    match (low..=high).contains(&value) {
        true => more_for(0.90, (high - value).min(value - low)),
        false => more_for(0.95, value.abs()),
    }
}

/// So many times as many observations are beyond any session's time.
const TIMES_MOST: f64 = 100.0;
/// With more degrees of freedom Student's t is the normal distribution.
const DEGREES_MOST: f64 = 1e4;

impl LogRatio {
    /// b / a from values that were taken in pairs, one pair a block: `(a, b, variance)`, this of
    /// ln(b / a) as it is expected. What both share of a block falls out. `None` without a pair, or
    /// when a value is not above zero.
    pub fn paired(pairs: &[(f64, f64, f64)], degrees: f64) -> Option<Self> {
        let logs = pairs.iter().map(|&(a, b, variance)| Some((log(b)? - log(a)?, variance)));
        let one = Sample::weighed(&logs.collect::<Option<Vec<_>>>()?, degrees)?;
        Some(Self {
            value: one.mean,
            error: one.error_squared.sqrt(),
            lasting: 0.0,
            degrees: one.degrees,
            count: [pairs.len() as u64; 2],
        })
    }

    /// b / a of two sets of `(value, variance)` that were taken apart; the variance is that of
    /// ln(value) as it is expected, a guess worth `degrees` observations. `None` when a value is
    /// not above zero, or a side is empty.
    ///
    /// The difference of the weighed means of the logarithms, with Welch's (1947) degrees of
    /// freedom: `d = (ea^2 + eb^2)^2 / (ea^4 / da + eb^4 / db)`.
    pub fn between(a: &[(f64, f64)], b: &[(f64, f64)], degrees: f64) -> Option<Self> {
        let sample = |values: &[(f64, f64)]| {
            let logs = values.iter().map(|&(value, variance)| Some((log(value)?, variance)));
            Sample::weighed(&logs.collect::<Option<Vec<_>>>()?, degrees)
        };
        let (of_a, of_b) = (sample(a)?, sample(b)?);
        let parts = [of_a, of_b].map(|it| (it.error_squared, it.degrees));
        let count = [a.len() as u64, b.len() as u64];
        Some(Self::of_parts(of_b.mean - of_a.mean, &parts, count))
    }

    /// Their ratio where nothing is known beforehand of how they vary: from two values a side.
    pub fn plain(a: &[f64], b: &[f64]) -> Option<Self> {
        let alike = |values: &[f64]| values.iter().map(|&it| (it, 1.0)).collect::<Vec<_>>();
        Self::between(&alike(a), &alike(b), 0.0)
    }

    /// b / a of two figures of which only the 95 % intervals are known, independent of each other.
    /// `None` when one is not above zero.
    pub fn of_estimates(a: &Estimate, b: &Estimate) -> Option<Self> {
        let error = |e: &Estimate| Some((log(e.high)? - log(e.low)?) / (2.0 * 1.96));
        Some(Self {
            value: log(b.value)? - log(a.value)?,
            error: error(a)?.hypot(error(b)?),
            lasting: 0.0,
            degrees: f64::INFINITY,
            count: [a.count, b.count],
        })
    }

    /// A ratio whose error has several independent parts, each a squared error with its degrees of
    /// freedom.
    pub fn of_parts(value: f64, parts: &[(f64, f64)], count: [u64; 2]) -> Self {
        let squared: f64 = parts.iter().map(|part| part.0).sum();
        let spread: f64 = parts.iter().map(|(part, degrees)| part * part / degrees).sum();
        let degrees = if spread > 0.0 { squared * squared / spread } else { f64::INFINITY };
        Self { value, error: squared.sqrt(), lasting: 0.0, degrees, count }
    }

    /// With another, independent error that no number of observations makes smaller: a standard
    /// deviation, and what it is worth.
    pub fn with_lasting(self, sd: f64, degrees: f64) -> Self {
        let parts = [(self.error.powi(2), self.degrees), (sd.powi(2), degrees)];
        Self { lasting: sd, ..Self::of_parts(self.value, &parts, self.count) }
    }

    /// The ratio with its interval of `level`, such as 0.95.
    pub fn estimate(&self, level: f64) -> Estimate {
        let count = self.count[0].min(self.count[1]);
        Estimate::around(self.value, self.half_width(level), count).exp()
    }

    /// What it says beside a band such as 0.03.
    pub fn beside(&self, band: f64) -> Beside {
        self.beside_at(band, 0.95)
    }

    /// The same where it takes an interval of `level` to be beyond doubt, such as where several
    /// ratios are looked at.
    pub fn beside_at(&self, band: f64, level: f64) -> Beside {
        Beside::of(&self.estimate(level), &self.estimate(0.90), 1.0, band)
    }

    /// How many times as many observations would decide, if the ratio stays where it is; `None`
    /// when it lies where no number of them would.
    pub fn more_to_decide(&self, band: f64) -> Option<f64> {
        more_to_decide(self.value, band, |level, half| self.more_for(level, half))
    }

    /// How many times as many observations would bring half of the interval of `level` down to
    /// `half`; 1 where it is, `None` where no number in any session's time would.
    pub fn more_for(&self, level: f64, half: f64) -> Option<f64> {
        let wanted = (self.error * half / self.half_width(level)).powi(2) - self.lasting.powi(2);
        let times = (self.error.powi(2) - self.lasting.powi(2)) / wanted;
        if self.half_width(level) <= half {
            return Some(1.0);
        }
        (half > 0.0 && wanted > 0.0 && times < TIMES_MOST).then(|| times.max(1.0))
    }

    fn half_width(&self, level: f64) -> f64 {
        if self.error == 0.0 {
            return 0.0;
        }
        t_quantile(0.5 + 0.5 * level, self.degrees.min(DEGREES_MOST)) * self.error
    }
}

/// Geometric mean of a / b over blocks `(a, b)` with its t-interval, of which nothing is known
/// beforehand. `None` below two blocks or when a value is not above zero.
pub fn log_ratio_interval(pairs: &[(f64, f64)], level: f64) -> Option<Estimate> {
    let alike: Vec<_> = pairs.iter().map(|&(a, b)| (b, a, 1.0)).collect();
    Some(LogRatio::paired(&alike, 0.0)?.estimate(level))
}

/// A mean of logarithms with its squared error.
#[derive(Clone, Copy)]
struct Sample {
    mean: f64,
    error_squared: f64,
    degrees: f64,
}

impl Sample {
    /// `mean = sum(w x) / sum(w)`, w = 1 / variance; `error^2 = s^2 / sum(w)` with
    /// `s^2 = (d0 + sum(w (x - mean)^2)) / (d0 + n - 1)`: the spread that was seen, beside the one
    /// that was expected, as in [`shrunk_interval`](super::shrunk_interval).
    fn weighed(logs: &[(f64, f64)], degrees: f64) -> Option<Self> {
        let total: f64 = logs.iter().map(|(_, variance)| 1.0 / variance).sum();
        let degrees_left = degrees + logs.len() as f64 - 1.0;
        let mean = logs.iter().map(|(x, variance)| x / variance).sum::<f64>() / total;
        let squares: f64 = logs.iter().map(|(x, variance)| (x - mean).powi(2) / variance).sum();
        let scale = (degrees + squares) / degrees_left;
        let is_known = !logs.is_empty() && degrees_left > 0.0 && total.is_finite();
        is_known.then(|| Self { mean, error_squared: scale / total, degrees: degrees_left })
    }
}

/// The mean of `(value, variance of its logarithm)`, as ratios of them are made; NaN when empty.
pub fn weighed_mean(values: &[(f64, f64)]) -> f64 {
    let total: f64 = values.iter().map(|(_, variance)| 1.0 / variance).sum();
    (values.iter().map(|(value, variance)| value.ln() / variance).sum::<f64>() / total).exp()
}

fn log(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then(|| value.ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const BAND: f64 = 0.03;
    /// As is expected of a start: 3 %.
    const VARIANCE: f64 = 0.0009;
    const DEGREES: f64 = 4.0;

    fn weighed(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().map(|&value| (value, VARIANCE)).collect()
    }

    fn between(a: &[f64], b: &[f64]) -> Option<LogRatio> {
        LogRatio::between(&weighed(a), &weighed(b), DEGREES)
    }

    fn starts(random: &mut Xoshiro256PlusPlus, count: usize, mean: f64, sd: f64) -> Vec<f64> {
        let mut one = || normal::quantile(random.random_range(1e-9..1.0 - 1e-9));
        (0..count).map(|_| mean * (sd * one()).exp()).collect()
    }

    fn known(value: f64, error: f64, degrees: f64, count: u64) -> LogRatio {
        LogRatio { value, error, lasting: 0.0, degrees, count: [count; 2] }
    }

    /// How often of 2000 pairs of sets `is_it` holds; `ratio` is the truth.
    fn share(
        ratio: f64,
        count: usize,
        sd: f64,
        is_paired: bool,
        is_it: impl Fn(Beside) -> bool,
    ) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let hits = (0..2000).filter(|_| {
            let a = starts(&mut random, count, 100.0, sd);
            let b = starts(&mut random, count, 100.0 * ratio, sd);
            let pairs = a.iter().zip(&b).map(|(&a, &b)| (a, b, 2.0 * VARIANCE));
            let compared = match is_paired {
                true => LogRatio::paired(&pairs.collect::<Vec<_>>(), DEGREES),
                false => between(&a, &b),
            };
            is_it(compared.unwrap().beside(BAND))
        });
        hits.count() as f64 / 2000.0
    }

    #[test]
    fn identical_populations_are_declared_different_at_most_once_in_twenty_times() {
        let differ = |found| matches!(found, Beside::Above | Beside::Below);
        for count in [1, 2, 3, 6, 12] {
            for sd in [0.01, 0.02, 0.03, 0.04] {
                for is_paired in [false, true] {
                    let found = share(1.0, count, sd, is_paired, differ);
                    let case = format!("{count} starts of {sd}, paired: {is_paired}");
                    // A third noisier than is expected beforehand, few starts cannot know it.
                    let most = if sd > 0.03 { 0.10 } else { 0.05 };
                    assert!(found <= most, "{case}: {found}");
                }
            }
        }
        // Far noisier than is expected beforehand: enough starts show it.
        assert!(share(1.0, 8, 0.10, false, differ) <= 0.12);
        assert!(share(1.0, 40, 0.10, false, differ) <= 0.06);
    }

    #[test]
    fn a_tenth_more_or_less_is_told_apart() {
        for (ratio, beside) in [(1.1, Beside::Above), (0.9, Beside::Below)] {
            for is_paired in [false, true] {
                let found = share(ratio, 4, 0.03, is_paired, |found| found == beside);
                assert!(found >= 0.9, "{ratio}, paired: {is_paired}: {found}");
            }
        }
    }

    #[test]
    fn a_tenth_is_hardly_ever_called_equal_and_equal_things_are_with_enough_starts() {
        assert!(share(1.1, 6, 0.03, false, |found| found == Beside::Within) < 0.001);
        assert!(share(1.04, 20, 0.03, false, |found| found == Beside::Within) < 0.05);
        assert!(share(1.0, 20, 0.02, false, |found| found == Beside::Within) > 0.9);
    }

    #[test]
    fn an_interval_worked_by_hand() {
        // ln(b / a): 0.1 and 0.3; mean 0.2, s^2 = 0.02, n = 2, and t(1) = 12.706.
        let pairs = [(1.0, 0.1_f64.exp(), 1.0), (1.0, 0.3_f64.exp(), 1.0)];
        let found = LogRatio::paired(&pairs, 0.0).unwrap();
        let high = found.estimate(0.95).high.ln();
        assert!((high - (0.2 + 12.7062 * 0.1)).abs() < 1e-3, "{high}");
        // A spread that is as expected, of which 4 degrees of freedom are known:
        // s^2 = (4 + 0.02 / 0.02) / 5 x 0.02.
        let pairs = pairs.map(|(a, b, _)| (a, b, 0.02));
        let high = LogRatio::paired(&pairs, 4.0).unwrap().estimate(0.95).high.ln();
        assert!((high - (0.2 + 2.5706 * 0.1)).abs() < 1e-3, "{high}");
    }

    #[test]
    fn a_value_that_is_hardly_known_hardly_counts() {
        let a = [(100.0, 0.001), (150.0, 0.1)];
        assert!((weighed_mean(&a) / 100.0 - 1.0).abs() < 0.01);
        let found = LogRatio::between(&a, &[(100.0, 0.001)], DEGREES).unwrap();
        assert!((found.value.exp() - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn without_anything_known_two_values_a_side_are_the_least() {
        assert_eq!(LogRatio::plain(&[1.0], &[1.0, 2.0]), None);
        assert!(LogRatio::plain(&[1.0, 1.1], &[1.0, 2.0]).is_some());
        assert_eq!(between(&[], &[1.0]), None);
        assert_eq!(between(&[0.0], &[1.0]), None);
        assert_eq!(log_ratio_interval(&[(1.0, 0.0), (1.0, 1.0)], 0.95), None);
    }

    #[test]
    fn a_ratio_does_not_see_what_both_sides_of_a_block_share() {
        let pairs = [(110.0, 100.0), (55.0, 50.0), (220.0, 200.0)];
        let e = log_ratio_interval(&pairs, 0.95).unwrap();
        assert!((e.value - 1.1).abs() < 1e-12 && (e.high - e.low) < 1e-9);
    }

    #[test]
    fn what_it_would_take_shrinks_with_the_difference() {
        let ratio = |value| known(value, 0.05, 20.0, 3);
        let (small, large) = (ratio(0.05).more_to_decide(BAND), ratio(0.09).more_to_decide(BAND));
        assert!(small.unwrap() > large.unwrap() && large.unwrap() > 1.0, "{small:?} {large:?}");
        // t(20) = 2.086: half of the interval is 0.1043, to be brought to 0.09; it shrinks with the
        // root.
        assert!((large.unwrap() - (0.1043_f64 / 0.09).powi(2)).abs() < 0.001, "{large:?}");
        assert_eq!(ratio(0.0295).more_to_decide(BAND), None, "at the band's edge for ever");
        // Half of the interval is nineteen times as long as the way to the edge.
        assert_eq!(ratio(0.025).more_to_decide(BAND), None, "not in any session's time");
    }

    #[test]
    fn no_number_of_starts_makes_smaller_what_two_days_differ_by() {
        let ratio = known(-0.12, 0.03, 1e4, 3).with_lasting(0.05, 1e4);
        // Half of the interval is 1.96 x 0.0583 = 0.1143; for 0.11 the other error has to come down
        // from 0.03 to sqrt(0.0561^2 - 0.05^2) = 0.0255.
        assert!((ratio.more_for(0.95, 0.11).unwrap() - 1.385).abs() < 0.01);
        assert_eq!(ratio.more_for(0.95, 0.097), None, "1.96 x 0.05 = 0.098 stays");
        assert_eq!(ratio.more_for(0.95, 0.12), Some(1.0));
    }

    #[test]
    fn more_beyond_doubt_but_by_less_than_the_band_is_not_above() {
        let ratio = |value| known(value, 0.006, 100.0, 9);
        for value in [0.025, -0.025] {
            let sure = ratio(value).estimate(0.95);
            assert!(sure.low > 1.0 || sure.high < 1.0, "{sure:?}");
            assert_eq!(ratio(value).beside(BAND), Beside::Undecided);
        }
        assert_eq!(ratio(0.035).beside(BAND), Beside::Above);
        assert_eq!(ratio(-0.035).beside(BAND), Beside::Below);
    }

    proptest! {
        #[test]
        fn turning_the_sides_round_turns_the_ratio_round(
            a in proptest::collection::vec(1.0..100.0_f64, 1..8),
            b in proptest::collection::vec(1.0..100.0_f64, 1..8),
        ) {
            let (one, other) = (between(&a, &b).unwrap(), between(&b, &a).unwrap());
            prop_assert!((one.value + other.value).abs() < 1e-9);
            let (one, other) = (one.estimate(0.95), other.estimate(0.95));
            prop_assert!((one.low * other.high - 1.0).abs() < 1e-6);
            prop_assert!(one.low <= one.value && one.value <= one.high);
        }

        #[test]
        fn swapping_the_sides_inverts_the_ratio(
            pairs in proptest::collection::vec((0.1..100.0_f64, 0.1..100.0_f64), 2..20)
        ) {
            let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let one = log_ratio_interval(&pairs, 0.9).unwrap();
            let other = log_ratio_interval(&swapped, 0.9).unwrap();
            prop_assert!((one.value * other.value - 1.0).abs() < 1e-9);
            prop_assert!((one.low * other.high - 1.0).abs() < 1e-6);
        }

        #[test]
        fn a_common_factor_changes_nothing(
            a in proptest::collection::vec(1.0..100.0_f64, 2..8),
            b in proptest::collection::vec(1.0..100.0_f64, 2..8),
            factor in 0.01..100.0_f64,
        ) {
            let times = |values: &[f64]| values.iter().map(|v| v * factor).collect::<Vec<_>>();
            let one = LogRatio::plain(&a, &b);
            let other = LogRatio::plain(&times(&a), &times(&b));
            if let (Some(one), Some(other)) = (one, other) {
                prop_assert!((one.value - other.value).abs() < 1e-9);
                prop_assert!((one.error - other.error).abs() < 1e-9);
            }
        }
    }
}
