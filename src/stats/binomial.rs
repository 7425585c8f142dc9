//! Exact binomial probabilities and one-sided bounds, for counting violations instead of comparing
//! a sample quantile.
//!
//! Source: Clopper and Pearson (1934). `n` is the number of requests, `k` how many of them
//! violated, `p` the probability of a violation.

use std::cmp::Ordering;

use statrs::function::beta::beta_reg;

/// P(K <= k) for K ~ Binomial(n, p).
///
/// `P(K <= k) = I_{1-p}(n - k, k + 1)`, I the regularised incomplete beta function.
pub fn cdf(n: u64, k: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        1.0
    } else if p >= 1.0 {
        0.0
    } else {
        beta_reg((n - k) as f64, (k + 1) as f64, 1.0 - p)
    }
}

/// Upper bound of the violation probability after `k` violations in `n`, at one-sided confidence
/// `level`: the largest p under which so few violations still had probability `1 - level`. 1 when
/// nothing was observed. To certify p99 it must be at most 0.01.
pub fn upper_bound(n: u64, k: u64, level: f64) -> f64 {
    if n == 0 || k >= n {
        return 1.0;
    }
    root(|p| cdf(n, k, p) > 1.0 - level)
}

/// Lower bound of the violation probability, likewise: the smallest p under which at
/// least `k` violations had probability `1 - level`. 0 when none was observed.
pub fn lower_bound(n: u64, k: u64, level: f64) -> f64 {
    if n == 0 || k == 0 {
        return 0.0;
    }
    root(|p| 1.0 - cdf(n, k.min(n) - 1, p) < 1.0 - level)
}

/// Is a share of violations, `(n, k)`, beyond doubt above or below another: do the intervals of
/// both, which leave out `1 - level` on each side, lie apart? `None` where they don't.
pub fn apart(one: (u64, u64), other: (u64, u64), level: f64) -> Option<Ordering> {
    let bounds = |(n, k)| (lower_bound(n, k, level), upper_bound(n, k, level));
    match (bounds(one), bounds(other)) {
        ((least, _), (_, most)) if least > most => Some(Ordering::Greater),
        ((_, most), (least, _)) if most < least => Some(Ordering::Less),
        _ => None,
    }
}

/// Trials without any violation that show a probability below `allowed` at one-sided confidence
/// `level`: the least n with (1 - allowed)^n <= 1 - level.
pub fn needed_without(allowed: f64, level: f64) -> u64 {
    ((1.0 - level).ln() / (1.0 - allowed).ln()).ceil() as u64
}

/// The p in 0..=1 up to which `is_below` holds.
fn root(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_are_summed_exactly() {
        // (1-p)^3 and (1-p)^3 + 3p(1-p)^2.
        assert!((cdf(3, 0, 0.2) - 0.512).abs() < 1e-12);
        assert!((cdf(3, 1, 0.2) - 0.896).abs() < 1e-12);
        assert_eq!(cdf(3, 3, 0.2), 1.0);
        assert_eq!(cdf(3, 0, 1.0), 0.0);
    }

    #[test]
    fn p99_needs_as_many_requests_as_the_published_tables_say() {
        // Violations seen, requests needed at 95 % and at 99 %.
        for (k, at_95, at_99) in [(0, 299, 459), (1, 473, 662), (2, 628, 838), (5, 1049, 1307)] {
            for (n, level) in [(at_95, 0.95), (at_99, 0.99)] {
                assert!(upper_bound(n, k, level) <= 0.01, "{k} of {n} at {level} certify p99");
                assert!(upper_bound(n - 1, k, level) > 0.01, "{k} of {} don't", n - 1);
            }
        }
        for (k, n) in [(0, 59), (1, 93), (2, 124), (5, 208)] {
            assert!(upper_bound(n, k, 0.95) <= 0.05 && upper_bound(n - 1, k, 0.95) > 0.05);
        }
    }

    #[test]
    fn without_a_violation_as_many_are_needed_as_the_bound_takes() {
        for (allowed, needed) in [(0.05, 59), (0.01, 299), (0.001, 2995)] {
            assert_eq!(needed_without(allowed, 0.95), needed);
            assert!(upper_bound(needed, 0, 0.95) <= allowed);
            assert!(upper_bound(needed - 1, 0, 0.95) > allowed);
        }
    }

    #[test]
    fn bounds_of_one_in_ten_are_clopper_and_pearsons() {
        assert!((lower_bound(10, 1, 0.975) - 0.002_528_6).abs() < 1e-6);
        assert!((upper_bound(10, 1, 0.975) - 0.445_016_1).abs() < 1e-6);
        assert_eq!(lower_bound(10, 0, 0.95), 0.0);
        assert_eq!(upper_bound(0, 0, 0.95), 1.0);
        assert_eq!(upper_bound(7, 7, 0.95), 1.0);
    }

    proptest::proptest! {
        #[test]
        fn the_bounds_enclose_the_observed_share(n in 1_u64..5000, share in 0.0..=1.0_f64) {
            let k = (n as f64 * share) as u64;
            let observed = k as f64 / n as f64;
            proptest::prop_assert!(lower_bound(n, k, 0.95) <= observed + 1e-12);
            proptest::prop_assert!(upper_bound(n, k, 0.95) >= observed - 1e-12);
        }
    }
}
