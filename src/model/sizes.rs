//! How much the requests of an app differ from one another.

use crate::terms::LatencySummary;

/// A distribution of which eight quantiles are known, straight lines in between; its mean is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// At [`LEVELS`], ascending.
    values: [f64; 8],
}

/// The shares of requests that are smaller.
const LEVELS: [f64; 8] = [0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];

/// See [`Sizes::cv2_of`]. Judgement.
const UNSEEN: f64 = 20.0;

impl Sizes {
    /// As the latencies of requests that met nobody differ; `None` when they took no time.
    pub fn of(latency: &LatencySummary) -> Option<Self> {
        let values = [
            latency.min,
            latency.p50,
            latency.p75,
            latency.p90,
            latency.p95,
            latency.p99,
            latency.p999,
            latency.max,
        ];
        let mean = pieces(&values).map(|(share, a, b)| share * (a + b) / 2.0).sum::<f64>();
        (mean > 0.0).then(|| Self { values: values.map(|value| value / mean) })
    }

    /// Squared coefficient of variation. E[X^2] of a straight piece from a to b is
    /// (a^2 + ab + b^2) / 3.
    pub fn cv2(&self) -> f64 {
        let square = |(share, a, b)| share * (a * a + a * b + b * b) / 3.0;
        (pieces(&self.values).map(square).sum::<f64>() - 1.0).max(0.0)
    }

    /// The squared coefficient of variation from so few requests, which hardly ever show the
    /// largest: drawn towards 1, that of an exponential distribution, which counts as 20 requests.
    pub fn cv2_of(&self, requests: u64) -> f64 {
        let requests = requests as f64;
        (self.cv2() * requests + UNSEEN) / (requests + UNSEEN)
    }

    /// Shares of the requests that are about as large, with the mean and the variance of their
    /// sizes, the smallest first.
    pub(super) fn parts(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        pieces(&self.values).map(|(share, a, b)| (share, 0.5 * (a + b), (b - a).powi(2) / 12.0))
    }

    /// The size that a share of the requests (0..=1) stays below.
    pub fn quantile(&self, share: f64) -> f64 {
        let above = LEVELS.iter().position(|&level| level >= share).unwrap_or(LEVELS.len() - 1);
        let Some(below) = above.checked_sub(1) else { return self.values[0] };
        let (from, to) = (LEVELS[below], LEVELS[above]);
        let along = (share - from) / (to - from);
        self.values[below] + along.min(1.0) * (self.values[above] - self.values[below])
    }
}

/// The share of requests between two neighbouring quantiles, and those.
fn pieces(values: &[f64; 8]) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
    (1..LEVELS.len()).map(|i| (LEVELS[i] - LEVELS[i - 1], values[i - 1], values[i]))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Latencies of which the quantiles are these.
    pub fn with(quantile: impl Fn(f64) -> f64) -> LatencySummary {
        LatencySummary {
            min: quantile(0.0),
            mean: 1.0,
            p50: quantile(0.5),
            p75: quantile(0.75),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: quantile(0.9999),
        }
    }

    #[test]
    fn the_variation_of_an_exponential_is_met_from_its_quantiles() {
        let sizes = Sizes::of(&with(|p| -(1.0 - p).ln())).unwrap();
        assert!((sizes.cv2() - 1.0).abs() < 0.2, "{}", sizes.cv2());
        let constant = Sizes::of(&with(|_| 2.0)).unwrap();
        assert!(constant.cv2() < 1e-12 && constant.quantile(0.7) == 1.0);
        assert_eq!(Sizes::of(&LatencySummary::default()), None);
    }

    #[test]
    fn a_quantile_lies_on_the_line_between_its_neighbours() {
        let sizes = Sizes::of(&with(|p| 1.0 + p)).unwrap();
        let mean = 1.5;
        for share in [0.0, 0.25, 0.5, 0.6, 0.97] {
            assert!((sizes.quantile(share) * mean - 1.0 - share).abs() < 1e-3, "{share}");
        }
        assert_eq!(sizes.quantile(1.0), sizes.values[7]);
    }
}
