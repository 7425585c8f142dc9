//! Student's t-interval, plain and on log-ratios.

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

/// Mean of `values` with its two-sided t-interval at `level` (0.95). `None` below two values or
/// when one is not finite.
///
/// `mean ± t_{(1+level)/2, n-1} s / sqrt(n)`, s the sample standard deviation (Student, 1908).
/// Assumes independent values: give it blocks, not requests.
pub fn t_interval(values: &[f64], level: f64) -> Option<Estimate> {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_quantile(0.5 + 0.5 * level, n - 1.0) * (variance / n).sqrt();
    Some(Estimate { value: mean, low: mean - half, high: mean + half, count: values.len() as u64 })
}

/// Geometric mean of a/b over blocks `(a, b)` with its t-interval, taken on the logarithms and
/// transformed back. `None` below two blocks or when a value is not above zero.
pub fn log_ratio_interval(pairs: &[(f64, f64)], level: f64) -> Option<Estimate> {
    if pairs.iter().any(|&(a, b)| a <= 0.0 || b <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|&(a, b)| (a / b).ln()).collect();
    let log = t_interval(&logs, level)?;
    Some(Estimate {
        value: log.value.exp(),
        low: log.low.exp(),
        high: log.high.exp(),
        count: log.count,
    })
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
        let e = t_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!((e.value, e.count), (3.0, 5));
        assert!((e.high - (3.0 + 2.776_445 * 0.5_f64.sqrt())).abs() < 1e-5);
        assert!((e.value - e.low - (e.high - e.value)).abs() < 1e-12);
    }

    #[test]
    fn one_value_or_a_bad_one_has_no_interval() {
        assert_eq!(t_interval(&[1.0], 0.95), None);
        assert_eq!(t_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(log_ratio_interval(&[(1.0, 0.0), (1.0, 1.0)], 0.95), None);
    }

    #[test]
    fn a_ratio_does_not_see_what_both_sides_of_a_block_share() {
        let pairs = [(110.0, 100.0), (55.0, 50.0), (220.0, 200.0)];
        let e = log_ratio_interval(&pairs, 0.95).unwrap();
        assert!((e.value - 1.1).abs() < 1e-12 && (e.high - e.low) < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn swapping_the_sides_inverts_the_ratio(
            pairs in proptest::collection::vec((0.1..100.0_f64, 0.1..100.0_f64), 2..20)
        ) {
            let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let one = log_ratio_interval(&pairs, 0.9).unwrap();
            let other = log_ratio_interval(&swapped, 0.9).unwrap();
            proptest::prop_assert!((one.value * other.value - 1.0).abs() < 1e-9);
            proptest::prop_assert!((one.low * other.high - 1.0).abs() < 1e-6);
        }
    }
}
