//! What the formulas do not know of a server, from how wrong they were on what was measured nearby.

use crate::terms::Configuration;

/// The width of the correction, a logarithm: configurations whose workers, or threads, differ by
/// this factor say little of each other.
const LIKE: f64 = 0.7;

/// The correction's weight where nothing was measured.
const NO_CORRECTION: f64 = 0.5;

/// Factors on a predicted figure. Far from all that was measured there is none: a server that waits
/// for more requests on a kept connection, say, does so with like numbers of workers and threads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Correction {
    /// Logarithms of measured over predicted.
    residuals: Vec<(Configuration, f64)>,
}

impl Correction {
    /// From pairs of configuration and measured over predicted; what is not above zero is left out.
    pub fn new(ratios: impl IntoIterator<Item = (Configuration, f64)>) -> Self {
        let usable = ratios.into_iter().filter(|(_, ratio)| ratio.is_finite() && *ratio > 0.0);
        Self { residuals: usable.map(|(of, ratio)| (of, ratio.ln())).collect() }
    }

    /// What to multiply the prediction for a configuration by: the weighted mean of the residuals,
    /// drawn towards none.
    pub fn factor(&self, configuration: Configuration) -> f64 {
        let weighted = self.residuals.iter().map(|(measured, residual)| {
            let weight = likeness(*measured, configuration);
            (weight, weight * residual)
        });
        let (weights, sum) = weighted.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        (sum / (weights + NO_CORRECTION)).exp()
    }
}

/// 1 for the same configuration, near 0 for one of another kind.
fn likeness(a: Configuration, b: Configuration) -> f64 {
    let distance = |a: u16, b: u16| (f64::from(a) / f64::from(b)).ln() / LIKE;
    let workers = distance(a.workers.get(), b.workers.get());
    let threads = distance(a.threads.get(), b.threads.get());
    (-0.5 * (workers.powi(2) + threads.powi(2))).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(workers: u16, threads: u16) -> Configuration {
        Configuration::new(workers, threads).unwrap()
    }

    #[test]
    fn a_correction_holds_for_its_like_and_fades_with_distance() {
        let correction = Correction::new([(at(2, 1), 0.5)]);
        let (here, near, far) = (
            correction.factor(at(2, 1)),
            correction.factor(at(3, 1)),
            correction.factor(at(2, 16)),
        );
        assert!(here < 0.65 && here > 0.5, "{here}");
        assert!(near > here && near < 0.8, "{near}");
        assert!(far > 0.99, "{far}");
    }

    #[test]
    fn nothing_measured_corrects_nothing() {
        assert_eq!(Correction::default().factor(at(2, 2)), 1.0);
        assert_eq!(Correction::new([(at(1, 1), 0.0), (at(1, 1), f64::NAN)]).factor(at(1, 1)), 1.0);
    }
}
