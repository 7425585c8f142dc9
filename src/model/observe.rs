//! What a trial says of the cost of a request.

use super::Observation;
use crate::terms::{LatencySummary, TrialPurpose, TrialSummary};

impl Observation {
    /// `None` when the trial says nothing of it: not valid, nothing answered, its server died, or
    /// it asked whether a rate holds.
    pub fn from_trial(trial: &TrialSummary) -> Option<Self> {
        if !trial.valid || trial.failure.is_some() || trial.summary.completed == 0 {
            return None;
        }
        let costs = Costs::of(trial);
        let observation = Self {
            cpu_per_request_s: costs.server_s,
            generator_s: costs.generator_s,
            ..Self::of(trial.configuration)
        };
        match trial.purpose {
            TrialPurpose::Unloaded => Some(Self {
                unloaded_latency_s: Some(trial.summary.latency_s.mean),
                unloaded_cv2: Some(cv2(&trial.summary.latency_s)),
                ..observation
            }),
            TrialPurpose::Saturate => Some(Self {
                saturated_rps: Some(trial.summary.got_through_rps()),
                worker_busy_cores: costs.worker_busy_cores,
                ..observation
            }),
            TrialPurpose::Probe | TrialPurpose::Confirm => None,
        }
    }
}

/// CPU that a trial used for a request; `None` what was not seen, or when nothing was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Costs {
    /// All of the server's processes, seconds a request.
    pub server_s: Option<f64>,
    /// Of the load generator, where it shares the server's cores; seconds a request.
    pub generator_s: Option<f64>,
    /// Of the busiest worker, cores.
    pub worker_busy_cores: Option<f64>,
}

impl Costs {
    pub fn of(trial: &TrialSummary) -> Self {
        let completed = trial.summary.completed;
        if completed == 0 {
            return Self::default();
        }
        let (generator, server): (Vec<_>, Vec<_>) =
            trial.cpu_s.iter().partition(|(role, _)| *role == "generator");
        let per_request = |part: &[(&String, &f64)]| {
            let seconds: f64 = part.iter().map(|(_, s)| **s).sum();
            (seconds > 0.0).then(|| seconds / completed as f64)
        };
        Self {
            server_s: per_request(&server),
            generator_s: per_request(&generator),
            worker_busy_cores: trial.workers.iter().map(|w| w.cpu_cores).reduce(f64::max),
        }
    }
}

/// The squared coefficient of variation of a distribution of which the quantiles are known, taken
/// as straight lines in between: E[X^2] of such a piece from a to b is (a^2 + ab + b^2) / 3.
fn cv2(latency: &LatencySummary) -> f64 {
    let points = [
        (0.0, latency.min),
        (0.5, latency.p50),
        (0.75, latency.p75),
        (0.9, latency.p90),
        (0.95, latency.p95),
        (0.99, latency.p99),
        (0.999, latency.p999),
        (1.0, latency.max),
    ];
    let (mut mean, mut square) = (0.0, 0.0);
    for pair in points.windows(2) {
        let ((from, a), (to, b)) = (pair[0], pair[1]);
        mean += (to - from) * (a + b) / 2.0;
        square += (to - from) * (a * a + a * b + b * b) / 3.0;
    }
    if mean > 0.0 { (square / (mean * mean) - 1.0).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variation_of_an_exponential_is_met_from_its_quantiles() {
        let q = |p: f64| -(1.0 - p).ln();
        let latency = LatencySummary {
            min: 0.0,
            mean: 1.0,
            p50: q(0.5),
            p75: q(0.75),
            p90: q(0.9),
            p95: q(0.95),
            p99: q(0.99),
            p999: q(0.999),
            max: q(0.9999),
        };
        assert!((cv2(&latency) - 1.0).abs() < 0.2, "{}", cv2(&latency));
        let constant = LatencySummary {
            min: 2.0,
            mean: 2.0,
            p50: 2.0,
            p75: 2.0,
            p90: 2.0,
            p95: 2.0,
            p99: 2.0,
            p999: 2.0,
            max: 2.0,
        };
        assert!(cv2(&constant) < 1e-12);
        assert_eq!(cv2(&LatencySummary::default()), 0.0);
    }
}
