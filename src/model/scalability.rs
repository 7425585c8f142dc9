//! Throughput of a server whose inside is not known, from nothing but throughputs.

use std::collections::BTreeMap;

use super::fit::geometric_mean;
use super::least_squares::nonnegative;
use crate::terms::Configuration;

/// The universal scalability law (Gunther, 1993), n being the threads of all workers together:
///
/// ```text
/// X(n) = a n / (1 + s (n - 1) + k n (n - 1))
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalability {
    /// a: what one thread does, requests/s.
    pub one_rps: f64,
    /// s: the share of the work that only one can do at a time.
    pub contention: f64,
    /// k: what every pair costs, by waiting until they agree.
    pub coherency: f64,
    /// Root mean square of the relative residuals.
    pub misfit: f64,
}

/// Three numbers need at least as many places to be seen from.
const PLACES: usize = 3;

/// Holds contention and coherency weakly at zero, as a residual of 0.1 % would: where the points do
/// not tell them apart neither grows out of bounds.
const HOLD: f64 = 1e-6;

impl Scalability {
    /// From pairs of n and requests/s; `None` with fewer than three different n. In the form
    /// n / X = (1 + s (n - 1) + k n (n - 1)) / a it is linear in what is sought.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let points: Vec<(f64, f64)> =
            points.iter().copied().filter(|&(n, rps)| n >= 1.0 && rps > 0.0).collect();
        let mut places: Vec<f64> = points.iter().map(|point| point.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if places.len() < PLACES {
            return None;
        }
        let row = |&(n, rps): &(f64, f64)| [1.0, n - 1.0, n * (n - 1.0)].map(|it| it * rps / n);
        let rows: Vec<[f64; 3]> = points.iter().map(row).collect();
        let per_one = points.iter().map(|(n, rps)| n / rps).fold(0.0, f64::max);
        let hold = HOLD / (per_one * per_one);
        let [each_s, shared_s, paired_s] = nonnegative(&rows, [0.0, hold, hold], 0)?;
        if each_s <= 0.0 {
            return None;
        }
        let mut fitted = Self {
            one_rps: 1.0 / each_s,
            contention: shared_s / each_s,
            coherency: paired_s / each_s,
            misfit: 0.0,
        };
        let square = |(n, rps): &(f64, f64)| (fitted.rps(*n) / rps).ln().powi(2);
        let squares: f64 = points.iter().map(square).sum();
        fitted.misfit = (squares / points.len() as f64).sqrt();
        Some(fitted)
    }

    /// What was held within a goal as a share of what goes through, by the curve: the geometric
    /// mean; 1 when nothing was held.
    pub fn held_share(&self, capacities: &BTreeMap<Configuration, f64>) -> f64 {
        let share = |(at, held): (&Configuration, &f64)| held / self.rps(f64::from(at.slots()));
        let shares: Vec<f64> =
            capacities.iter().map(share).filter(|share| share.ln().is_finite()).collect();
        geometric_mean(&shares).unwrap_or(1.0)
    }

    /// Requests/s of n threads.
    pub fn rps(&self, n: f64) -> f64 {
        self.one_rps * n / (1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_found_again_from_its_points() {
        let law = Scalability { one_rps: 50.0, contention: 0.05, coherency: 0.002, misfit: 0.0 };
        let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n| (n, law.rps(n))).to_vec();
        let fitted = Scalability::fit(&points).unwrap();
        assert!((fitted.one_rps / 50.0 - 1.0).abs() < 0.01, "{fitted:?}");
        assert!((fitted.contention / 0.05 - 1.0).abs() < 0.05, "{fitted:?}");
        assert!((fitted.rps(32.0) / law.rps(32.0) - 1.0).abs() < 0.05 && fitted.misfit < 0.01);
    }

    #[test]
    fn nothing_grows_without_bound_from_points_on_a_line() {
        let fitted = Scalability::fit(&[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]).unwrap();
        assert!((fitted.rps(6.0) / 60.0 - 1.0).abs() < 0.01, "{fitted:?}");
        // Faster than in proportion is noise: no part is negative.
        let noisy = Scalability::fit(&[(1.0, 10.0), (2.0, 23.0), (4.0, 42.0)]).unwrap();
        assert!(noisy.contention >= 0.0 && noisy.coherency >= 0.0, "{noisy:?}");
    }

    #[test]
    fn two_places_are_too_few() {
        assert_eq!(Scalability::fit(&[(1.0, 10.0), (4.0, 30.0), (4.0, 31.0)]), None);
        assert_eq!(Scalability::fit(&[]), None);
    }
}
