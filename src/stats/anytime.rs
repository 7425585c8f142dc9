//! The mean of values that come in one after the other, with an interval that holds at all times at
//! once: whoever looks after every value, and stops when they like what they see, is wrong no more
//! often than its level says.

use super::{Beside, Estimate};

/// How long neighbouring values are taken to be alike before they show it themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// So many neighbours say as much as one value that is independent of the others; 1: none are
    /// alike.
    pub neighbours: f64,
    /// How many values that is worth.
    pub worth: f64,
}

/// What is taken for granted before the first value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Before {
    pub alike: Alike,
    /// The prior's precision (below): about a sixth of the independent values after which the
    /// interval is to be narrowest beside that of a test which is looked at once.
    pub precision: f64,
}

/// A mean of values in their order, and what its interval is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnytimeMean {
    pub mean: f64,
    /// Of one value.
    pub variance: f64,
    pub count: u64,
    /// So many independent values would say as much; at most `count`.
    pub independent: f64,
    precision: f64,
}

/// Neighbours further apart than so many values are taken to be unlike.
const FARTHEST: usize = 48;
/// More times as many values are beyond anybody's patience.
const TIMES_MOST: f64 = 100.0;

impl AnytimeMean {
    /// Of values in the order in which they came, at equal distances. `None` of fewer than two, or
    /// when one is not finite.
    pub fn of(values: &[f64], before: Before) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let apart: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let squares = apart.iter().map(|it| it * it).sum::<f64>() / count;
        let seen = alike(&apart, squares);
        let Alike { neighbours, worth } = before.alike;
        let neighbours = (count * seen + worth * neighbours) / (count + worth);
        let independent = count / neighbours.max(1.0);
        // Values lie nearer to their own mean than to the true one.
        let variance = squares / (1.0 - (1.0 / independent).min(0.5));
        let precision = before.precision;
        Some(Self { mean, variance, count: values.len() as u64, independent, precision })
    }

    /// The mean with its interval of `level`, such as 0.95, at all times at once; infinitely wide
    /// as long as too little was seen.
    pub fn estimate(&self, level: f64) -> Estimate {
        Estimate::around(self.mean, self.half_width(level, self.independent), self.count)
    }

    /// [`Self::estimate`] of values that are logarithms of ratios.
    pub fn ratio(&self, level: f64) -> Estimate {
        self.estimate(level).exp()
    }

    /// What values that are logarithms of ratios say beside a band around one.
    pub fn ratio_beside(&self, band: f64) -> Beside {
        Beside::of(&self.ratio(0.95), &self.ratio(0.90), 1.0, band)
    }

    /// What values that are differences say beside a band around zero; `level`: how sure it is to
    /// be that there is one.
    pub fn beside(&self, band: f64, level: f64) -> Beside {
        Beside::of(&self.estimate(level), &self.estimate(0.90), 0.0, band)
    }

    /// How many times as many values would bring half of the interval of `level` down to `half`;
    /// `None` when no number in anybody's time would.
    pub fn more_for(&self, level: f64, half: f64) -> Option<f64> {
        let is_enough = |times: &f64| self.half_width(level, self.independent * times) <= half;
        let steps = std::iter::successors(Some(1.0), |times| Some(times * 1.05));
        steps.take_while(|times| *times < TIMES_MOST).find(is_enough)
    }

    /// `sqrt(t^2 s^2 / n)` with the boundary `t^2 = v (c - 1) / (1 - r c)`, where v = n - 1,
    /// `r = p / (p + n)` and `c = (a sqrt(r))^(-2 / n)`; n: independent values, p: the prior's
    /// precision, a = 1 - level, s^2: the variance of one value.
    ///
    /// The mean m is outside when the mixture of likelihood ratios of t = (mean - m) / sqrt(s^2 /
    /// n) over effects of s N(0, 1 / p) has ever reached 1 / a, which a true m does with a
    /// probability of at most a (Ville 1939). Sources: Lindon, Ham, Tingley and Bojinov (2022),
    /// arXiv 2210.08589, of which this is the model without regressors; Wang and Ramdas (2024),
    /// arXiv 2310.03722. Exact for independent normal values.
    fn half_width(&self, level: f64, independent: f64) -> f64 {
        if self.variance == 0.0 {
            return 0.0;
        }
        let ratio = self.precision / (self.precision + independent);
        let most = ((1.0 - level) * ratio.sqrt()).powf(-2.0 / independent);
        let t_squared = (independent - 1.0) * (most - 1.0) / (1.0 - ratio * most);
        match independent > 1.0 && ratio * most < 1.0 {
            true => (t_squared * self.variance / independent).sqrt(),
            false => f64::INFINITY,
        }
    }
}

/// How many neighbours say as much as one independent value: `1 + 2 sum(r_k)` over the
/// autocorrelations r_k, added in pairs as long as a pair is positive and not more than the one
/// before (Geyer 1992). Deviations from their own mean are less alike than those from the true
/// one, by what that mean's own variance is, which is given back.
fn alike(apart: &[f64], squares: f64) -> f64 {
    if squares <= 0.0 {
        return 1.0;
    }
    let count = apart.len() as f64;
    let correlation = |lag: usize| {
        let products = apart.iter().zip(&apart[lag..]).map(|(a, b)| a * b);
        products.sum::<f64>() / count / squares
    };
    let (mut sum, mut lags, mut last) = (-1.0, 0, f64::INFINITY);
    while lags < FARTHEST.min(apart.len() / 3) || lags == 0 {
        let pair = correlation(lags) + correlation(lags + 1);
        if lags > 0 && pair <= 0.0 {
            break;
        }
        last = pair.min(last);
        sum += 2.0 * last;
        lags += 2;
    }
    let terms = 2.0 * lags as f64 - 1.0;
    let given_back = |neighbours: f64| {
        let share = (neighbours / count).min(0.5);
        ((sum + terms * share) / (1.0 + share)).max(1.0)
    };
    given_back(given_back(sum.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const APART: Before = Before { alike: Alike { neighbours: 1.0, worth: 0.0 }, precision: 4.0 };

    fn drawn(random: &mut Xoshiro256PlusPlus, count: usize, alike: f64) -> Vec<f64> {
        let mut last = 0.0;
        let mut one = || {
            let fresh = normal::quantile(random.random_range(1e-9..1.0 - 1e-9));
            last = alike * last + (1.0 - alike * alike).sqrt() * fresh;
            last
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn an_interval_worked_by_hand() {
        // n = 4, s^2 = 20/3, r = 4/8, c = (0.05 * 0.7071)^(-1/2) = 5.3183: r c > 1, nothing known.
        let few = AnytimeMean::of(&[1.0, 7.0, 3.0, 5.0], APART).unwrap();
        assert_eq!((few.mean, few.count), (4.0, 4));
        assert_eq!(few.half_width(0.95, 4.0), f64::INFINITY);
        // n = 16, r = 0.2, c = (0.05 * 0.44721)^(-1/8) = 1.60816, t^2 = 15 * 0.60816 / 0.678368.
        let half = few.half_width(0.95, 16.0);
        assert!((half - (13.447_5_f64 * 20.0 / 3.0 / 16.0).sqrt()).abs() < 1e-3, "{half}");
    }

    #[test]
    fn values_that_are_alike_count_for_fewer() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        for (alike, least, most) in [(0.0, 600.0, 1001.0), (0.8, 70.0, 200.0)] {
            let found = AnytimeMean::of(&drawn(&mut random, 1000, alike), APART).unwrap();
            assert!((least..most).contains(&found.independent), "{alike}: {found:?}");
        }
        let assumed = Before { alike: Alike { neighbours: 12.0, worth: 24.0 }, ..APART };
        let first = AnytimeMean::of(&drawn(&mut random, 12, 0.0), assumed).unwrap();
        assert!(first.independent < 3.0, "{first:?}");
    }

    #[test]
    fn what_is_looked_at_after_every_value_is_wrong_seldom_enough() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(17);
        let is_wrong = |values: &[f64]| {
            let seen = (2..=values.len()).filter_map(|n| AnytimeMean::of(&values[..n], APART));
            seen.map(|it| it.estimate(0.95)).any(|it| it.low > 0.0 || it.high < 0.0)
        };
        let wrong = (0..400).filter(|_| is_wrong(&drawn(&mut random, 150, 0.0))).count();
        assert!(wrong <= 28, "{wrong} of 400");
    }

    #[test]
    fn more_values_bring_the_interval_down_as_was_said() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let found = AnytimeMean::of(&drawn(&mut random, 100, 0.0), APART).unwrap();
        let now = found.half_width(0.95, found.independent);
        let times = found.more_for(0.95, now / 2.0).unwrap();
        assert!((4.0..7.0).contains(&times), "{times}");
        assert_eq!(found.more_for(0.95, now), Some(1.0));
        assert_eq!(found.more_for(0.95, now / 100.0), None);
    }

    #[test]
    fn how_sure_a_difference_is_to_be_is_asked() {
        let few = AnytimeMean::of(&[1.0, 7.0, 3.0, 5.0], APART).unwrap();
        let mean = f64::midpoint(few.half_width(0.95, 16.0), few.half_width(0.99, 16.0));
        let found = AnytimeMean { mean, independent: 16.0, ..few };
        assert_eq!(found.beside(0.1, 0.95), Beside::Above);
        assert_eq!(found.beside(0.1, 0.99), Beside::Undecided);
    }

    #[test]
    fn what_never_varies_is_known_and_what_is_no_number_is_not() {
        let same = AnytimeMean::of(&[2.0; 5], APART).unwrap();
        assert_eq!((same.estimate(0.95).low, same.estimate(0.95).high), (2.0, 2.0));
        assert_eq!(AnytimeMean::of(&[1.0], APART), None);
        assert_eq!(AnytimeMean::of(&[1.0, f64::NAN], APART), None);
    }
}
