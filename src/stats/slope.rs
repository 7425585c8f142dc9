//! Does a series grow? A straight line with an interval that allows for autocorrelation.

use super::interval::t_quantile;

/// Change per step of an equally spaced series, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    pub per_step: f64,
    pub low: f64,
    pub high: f64,
}

/// Least-squares slope of `values` against their index. `None` below four values or when one is not
/// finite.
///
/// `b ± t_{0.975, n'-2} sqrt(s^2 / Sxx) sqrt(n / n')` with s^2 the residual variance, Sxx the
/// spread of the indices and `n' = n (1-r) / (1+r)` the effective number of observations, r the
/// residuals' lag-1 autocorrelation (at least 0). Source: Santer et al. (2000), section 4, after
/// Bartlett (1935).
pub fn slope(values: &[f64]) -> Option<Slope> {
    if values.len() < 4 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let n = values.len() as f64;
    let (mid, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let sxx = n * (n * n - 1.0) / 12.0;
    let sxy: f64 = values.iter().enumerate().map(|(i, y)| (i as f64 - mid) * (y - mean)).sum();
    let per_step = sxy / sxx;
    let residuals: Vec<f64> =
        values.iter().enumerate().map(|(i, y)| y - mean - per_step * (i as f64 - mid)).collect();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let lagged: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let r = if squares > 0.0 { (lagged / squares).clamp(0.0, 0.99) } else { 0.0 };
    // At least three: a t-interval needs one degree of freedom.
    let effective = (n * (1.0 - r) / (1.0 + r)).max(3.0);
    let error = (squares / (n - 2.0) / sxx * n / effective).sqrt();
    let half = t_quantile(0.975, effective - 2.0) * error;
    Some(Slope { per_step, low: per_step - half, high: per_step + half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn a_straight_line_has_its_slope_and_no_doubt() {
        let values: Vec<f64> = (0..20).map(|i| 3.0 + 0.5 * f64::from(i)).collect();
        let s = slope(&values).unwrap();
        assert!((s.per_step - 0.5).abs() < 1e-12 && (s.high - s.low) < 1e-9);
    }

    #[test]
    fn a_small_case_worked_by_hand() {
        // y = 1, 3, 2, 5, 4: slope 0.8, s^2 = 3.6 / 3, negative autocorrelation counts as none.
        let s = slope(&[1.0, 3.0, 2.0, 5.0, 4.0]).unwrap();
        assert!((s.per_step - 0.8).abs() < 1e-12);
        assert!((s.high - 0.8 - 3.182_446 * (1.2_f64 / 10.0).sqrt()).abs() < 1e-4);
    }

    #[test]
    fn three_values_say_nothing() {
        assert_eq!(slope(&[1.0, 2.0, 3.0]), None);
    }

    /// Share of 95 % intervals that miss the true slope, for AR(1) noise.
    fn missed(autocorrelation: f64, length: usize) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let rounds = 2000;
        let misses = (0..rounds)
            .filter(|_| {
                let mut noise = 0.0;
                let values: Vec<f64> = (0..length)
                    .map(|i| {
                        let fresh = normal::quantile(random.random_range(1e-9..1.0));
                        noise = autocorrelation * noise
                            + (1.0 - autocorrelation * autocorrelation).sqrt() * fresh;
                        0.1 * i as f64 + noise
                    })
                    .collect();
                let s = slope(&values).unwrap();
                s.low > 0.1 || s.high < 0.1
            })
            .count();
        misses as f64 / f64::from(rounds)
    }

    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        assert!((0.02..0.07).contains(&missed(0.0, 10)), "{}", missed(0.0, 10));
        assert!((0.02..0.07).contains(&missed(0.0, 40)), "{}", missed(0.0, 40));
        // Autocorrelation is estimated too low from short series, so some is lost; without the
        // allowance a quarter would miss.
        assert!(missed(0.5, 40) < 0.11, "{}", missed(0.5, 40));
    }
}
