//! By how much one figure of an app differs, and over what time. Computes only.
//!
//! In: what the windows of each start showed. Out: coefficients of variation, as standard
//! deviations of logarithms, which for some percent are the same.

use sweetspot::stats::{self, Estimate};

/// Of `n` starts with `m` windows each, from the logarithms `x`. With `y` the mean of a start's
/// windows: `w^2`, the mean of the variances of `x` within starts; `v^2`, the variance of all `y`;
/// and `d^2 = sum (y_next - y)^2 / 2 (n - 1)`, which slow changes leave alone (von Neumann 1941).
pub struct Differing {
    pub starts: usize,
    /// Geometric.
    pub mean: f64,
    /// `v`.
    pub between_starts: f64,
    /// `w`.
    pub within_starts: f64,
    /// `sqrt(d^2 - w^2 / m)`: what starts that follow each other differ by beyond their windows; 0
    /// where that is negative.
    pub start_noise: f64,
    /// `sqrt(v^2 - d^2)`: what starts differ by beyond their neighbours; 0 where that is negative.
    pub drift: f64,
    /// Change of the logarithm from the first start to the last; `None` below four starts.
    pub trend: Option<Estimate>,
    /// Autocorrelation of `y` at lag 1; NaN where all are the same.
    pub neighbours: f64,
}

impl Differing {
    /// `starts`: oldest first, each with as many windows, all above zero. `None` below two starts.
    pub fn of(starts: &[Vec<f64>]) -> Option<Self> {
        let logs: Vec<Vec<f64>> =
            starts.iter().map(|start| start.iter().map(|it| it.ln()).collect()).collect();
        let means: Vec<f64> = logs.iter().map(|start| mean(start)).collect();
        if means.len() < 2 {
            return None;
        }
        let steps = means.len() as f64 - 1.0;
        let all = variance(&means);
        let within = mean(&logs.iter().map(|start| variance(start)).collect::<Vec<_>>());
        let next: f64 = means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let next = next / (2.0 * steps);
        let middle = mean(&means);
        let together = |pair: &[f64]| (pair[0] - middle) * (pair[1] - middle);
        let trend = stats::slope(&means).map(|it| it.times(steps));
        Some(Self {
            starts: means.len(),
            mean: middle.exp(),
            between_starts: all.sqrt(),
            within_starts: within.sqrt(),
            start_noise: (next - within / logs[0].len() as f64).max(0.0).sqrt(),
            drift: (all - next).max(0.0).sqrt(),
            trend,
            neighbours: means.windows(2).map(together).sum::<f64>() / (steps * all),
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Unbiased; 0 of one.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0).max(1.0)
}
