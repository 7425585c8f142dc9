//! An interval for a mean of few values whose spread is partly known beforehand.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Estimate;

/// What is known of one value's variance before any is seen: as if from `degrees` earlier values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorSpread {
    pub variance: f64,
    /// Above zero.
    pub degrees: f64,
}

/// The mean with a t-interval whose variance is pooled with `prior`:
///
/// `v = (d0 v0 + sum (x - mean)^2) / (d0 + n - 1)`, half width `t(d0 + n - 1) sqrt(v / n)`
///
/// (v0, d0: the prior's variance and degrees; a scaled inverse chi-squared prior, Gelman et al.,
/// Bayesian Data Analysis, 2013, section 2.6). `None` when empty; works from one value up.
pub fn shrunk_interval(values: &[f64], prior: PriorSpread, level: f64) -> Option<Estimate> {
    let n = values.len() as f64;
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let degrees = prior.degrees + n - 1.0;
    let variance = (prior.degrees * prior.variance + squares) / degrees;
    let t = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(0.5 + level / 2.0);
    let half = t * (variance / n).sqrt();
    Some(Estimate { value: mean, low: mean - half, high: mean + half, count: values.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

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
