//! Student's t-interval for a mean, also of few values whose spread is partly known beforehand.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Estimate;

/// The `p` quantile of Student's t with `degrees` of freedom; NaN when these are not positive.
pub fn t_quantile(p: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// Standard deviation of the logarithm of a mean, or of a rate, of so many values with the squared
/// coefficient of variation `cv2`: `sqrt(cv2 / n)`, for it small.
pub fn mean_sd_log(cv2: f64, count: u64) -> f64 {
    (cv2 / count.max(1) as f64).sqrt()
}

/// What is known of one value's variance before any is seen: as if from `degrees` earlier values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorSpread {
    pub variance: f64,
    /// Not below zero.
    pub degrees: f64,
}

impl PriorSpread {
    /// Nothing is known: the interval is Student's (1908), and two values are the least.
    pub const NONE: Self = Self { variance: 0.0, degrees: 0.0 };
}

/// The mean with a t-interval whose variance is pooled with `prior`:
///
/// `v = (d0 v0 + sum (x - mean)^2) / (d0 + n - 1)`, half width `t(d0 + n - 1) sqrt(v / n)`
///
/// (v0, d0: the prior's variance and degrees; a scaled inverse chi-squared prior, Gelman et al.,
/// Bayesian Data Analysis, 2013, section 2.6). `None` when empty, when a value is not finite, or
/// when `d0 + n` is not above one: with a prior it works from one value up. Assumes independent
/// values: give it blocks, not requests.
pub fn shrunk_interval(values: &[f64], prior: PriorSpread, level: f64) -> Option<Estimate> {
    let n = values.len() as f64;
    let degrees = prior.degrees + n - 1.0;
    let is_known = !values.is_empty() && values.iter().all(|v| v.is_finite()) && degrees > 0.0;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let variance = (prior.degrees * prior.variance + squares) / degrees;
    let half = t_quantile(0.5 + level / 2.0, degrees) * (variance / n).sqrt();
    is_known.then(|| Estimate::around(mean, half, values.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_are_those_of_the_tables() {
        for (degrees, t) in [(1.0, 12.7062), (2.0, 4.3027), (5.0, 2.5706), (30.0, 2.0423)] {
            assert!((t_quantile(0.975, degrees) - t).abs() < 1e-3, "{degrees} degrees of freedom");
        }
    }

    #[test]
    fn an_interval_worked_by_hand() {
        // Mean 3, s^2 = 2.5, n = 5, t = 2.7764.
        let e = shrunk_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], PriorSpread::NONE, 0.95).unwrap();
        assert_eq!((e.value, e.count), (3.0, 5));
        assert!((e.high - (3.0 + 2.776_445 * 0.5_f64.sqrt())).abs() < 1e-5);
        assert!((e.value - e.low - (e.high - e.value)).abs() < 1e-12);
    }

    #[test]
    fn without_a_prior_one_value_or_a_bad_one_has_no_interval() {
        assert_eq!(shrunk_interval(&[1.0], PriorSpread::NONE, 0.95), None);
        assert_eq!(shrunk_interval(&[1.0, f64::NAN], PriorSpread::NONE, 0.95), None);
    }

    #[test]
    fn with_one_value_the_prior_alone_gives_the_width() {
        let prior = PriorSpread { variance: 0.01, degrees: 4.0 };
        let estimate = shrunk_interval(&[1.0], prior, 0.95).unwrap();
        // t(4, 97.5 %) = 2.7764
        assert!((estimate.high - 1.277_64).abs() < 1e-4, "{estimate:?}");
    }

    #[test]
    fn with_many_values_the_prior_hardly_counts() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 2)).collect();
        let prior = PriorSpread { variance: 100.0, degrees: 0.01 };
        let estimate = shrunk_interval(&values, prior, 0.95).unwrap();
        assert!((estimate.high - estimate.low - 2.0 * 1.96 * 0.5 / 1000f64.sqrt()).abs() < 2e-3);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert!(shrunk_interval(&[], PriorSpread { variance: 1.0, degrees: 1.0 }, 0.9).is_none());
    }
}
