//! Does a series grow? A straight line with an interval that allows for autocorrelation; and the
//! same of several short series that have one slope in common.

use super::Estimate;
use super::interval::t_quantile;

/// Least-squares slope of `values` against their index, per step. `None` below four values or when
/// one is not finite.
///
/// `b ± t_{0.975, n'-2} sqrt(s^2 / Sxx) sqrt(n / n')` with s^2 the residual variance, Sxx the
/// spread of the indices and `n' = n (1-r) / (1+r)` the effective number of observations, r the
/// residuals' lag-1 autocorrelation (at least 0). Source: Santer et al. (2000), section 4, after
/// Bartlett (1935).
pub fn slope(values: &[f64]) -> Option<Estimate> {
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
    Some(Estimate::around(per_step, half, values.len() as u64))
}

/// The slope that several groups have in common, each at a level of its own; per unit of x, with
/// its interval of this level. `groups`: points (x, y). `None` when fewer than three points are
/// left to judge the scatter by, or no group has two different x.
///
/// Within-group least squares: `b = Sxy / Sxx` with sums of deviations from each group's means,
/// `b ± t_{N-G-1} sqrt(s^2 / Sxx)`. Source: Wooldridge (2010), section 10.5.
pub fn common_slope(groups: &[Vec<(f64, f64)>], level: f64) -> Option<Estimate> {
    let points: Vec<(f64, f64)> = groups.iter().flat_map(|group| deviations(group)).collect();
    let used = groups.iter().filter(|group| !group.is_empty()).count();
    let degrees = points.len() as f64 - used as f64 - 1.0;
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let sxx = sum(&|(x, _)| x * x);
    if degrees < 2.0 || sxx <= 0.0 {
        return None;
    }
    let per_step = sum(&|(x, y)| x * y) / sxx;
    let squares = sum(&|(x, y)| (y - per_step * x).powi(2));
    let half = t_quantile(0.5 + 0.5 * level, degrees) * (squares / degrees / sxx).sqrt();
    Some(Estimate::around(per_step, half, points.len() as u64))
}

/// Of every point from its group's means.
fn deviations(group: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let count = group.len().max(1) as f64;
    let (x, y) = group.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    group.iter().map(|point| (point.0 - x / count, point.1 - y / count)).collect()
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
        assert!((s.value - 0.5).abs() < 1e-12 && (s.high - s.low) < 1e-9);
    }

    #[test]
    fn a_small_case_worked_by_hand() {
        // y = 1, 3, 2, 5, 4: slope 0.8, s^2 = 3.6 / 3, negative autocorrelation counts as none.
        let s = slope(&[1.0, 3.0, 2.0, 5.0, 4.0]).unwrap();
        assert!((s.value - 0.8).abs() < 1e-12);
        assert!((s.high - 0.8 - 3.182_446 * (1.2_f64 / 10.0).sqrt()).abs() < 1e-4);
    }

    #[test]
    fn three_values_say_nothing() {
        assert_eq!(slope(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn groups_at_different_levels_show_the_slope_that_they_share() {
        // By hand: deviations (-1, -2) (1, 2) and (-1, -1) (1, 1): Sxx 4, Sxy 6, squares 1, of
        // four points in two groups one degree of freedom: too few. With a third group: Sxx 6.
        let two = [vec![(0.0, 1.0), (2.0, 5.0)], vec![(0.0, 9.0), (2.0, 11.0)]];
        assert_eq!(common_slope(&two, 0.95), None);
        let three = [two[0].clone(), two[1].clone(), vec![(4.0, 0.0), (6.0, 3.0)]];
        let found = common_slope(&three, 0.95).unwrap();
        assert!((found.value - 1.5).abs() < 1e-12, "{found:?}");
        let half = t_quantile(0.975, 2.0) * (1.0_f64 / 2.0 / 6.0).sqrt();
        assert!((found.high - 1.5 - half).abs() < 1e-9, "{found:?}");
        assert_eq!(
            common_slope(&[vec![(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]], 0.95),
            None
        );
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
