//! A Gaussian process over two coordinates, as Bayesian optimisation uses it.
//!
//! In: measured values with their noise. Out: what is expected elsewhere, and how much a
//! measurement there may improve on the best. Computes only; chooses no setting.

use sweetspot::stats::normal;

/// One measured value.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    pub at: [f64; 2],
    pub value: f64,
    /// Standard deviation of its noise.
    pub noise: f64,
}

/// Hyperparameters that are tried; those of the highest marginal likelihood are taken. Lengths in
/// the coordinates' unit; amplitudes as multiples of the values' spread.
const LENGTHS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
const AMPLITUDES: [f64; 3] = [0.7, 1.0, 2.0];
/// Noise is at least this share of the values' spread, so that the matrix can be factored.
const NOISE_LEAST: f64 = 0.01;

/// A process that was fitted to values.
#[derive(Debug, Clone)]
pub struct Process {
    points: Vec<[f64; 2]>,
    mean: f64,
    spread: f64,
    amplitude: f64,
    lengths: [f64; 2],
    /// Lower factor of the values' covariance.
    factor: Vec<Vec<f64>>,
    /// That covariance's inverse times the values.
    weights: Vec<f64>,
    log_likelihood: f64,
}

impl Process {
    /// `None` without values.
    pub fn fitted(observed: &[Observed]) -> Option<Self> {
        let lengths = LENGTHS.iter().flat_map(|&a| LENGTHS.iter().map(move |&b| [a, b]));
        lengths
            .flat_map(|lengths| AMPLITUDES.iter().map(move |&amplitude| (lengths, amplitude)))
            .filter_map(|(lengths, amplitude)| Self::with(observed, lengths, amplitude))
            .max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood))
    }

    fn with(observed: &[Observed], lengths: [f64; 2], amplitude: f64) -> Option<Self> {
        let (mean, spread) = moments(observed)?;
        let points: Vec<[f64; 2]> = observed.iter().map(|one| one.at).collect();
        let mut covariance: Vec<Vec<f64>> = points
            .iter()
            .map(|&a| points.iter().map(|&b| kernel(a, b, lengths, amplitude)).collect())
            .collect();
        for (index, one) in observed.iter().enumerate() {
            covariance[index][index] += (one.noise / spread).max(NOISE_LEAST).powi(2);
        }
        let factor = cholesky(&covariance)?;
        let values: Vec<f64> = observed.iter().map(|one| (one.value - mean) / spread).collect();
        let half = forward(&factor, &values);
        let weights = backward(&factor, &half);
        // Rasmussen and Williams, 2006, equation 2.30, without the constant.
        let log_likelihood = -0.5 * half.iter().map(|v| v * v).sum::<f64>()
            - (0..points.len()).map(|i| factor[i][i].ln()).sum::<f64>();
        Some(Self { points, mean, spread, amplitude, lengths, factor, weights, log_likelihood })
    }

    /// Mean and standard deviation of the value at this point, its noise left out.
    pub fn expected(&self, at: [f64; 2]) -> (f64, f64) {
        let near: Vec<f64> =
            self.points.iter().map(|&p| kernel(at, p, self.lengths, self.amplitude)).collect();
        let mean: f64 = near.iter().zip(&self.weights).map(|(k, w)| k * w).sum();
        let explained: f64 = forward(&self.factor, &near).iter().map(|v| v * v).sum();
        let variance = (self.amplitude.powi(2) - explained).max(0.0);
        (self.mean + self.spread * mean, self.spread * variance.sqrt())
    }

    /// By how much a value at this point is expected to exceed `best` (Jones, Schonlau and Welch,
    /// 1998, equation 15).
    pub fn improvement(&self, at: [f64; 2], best: f64) -> f64 {
        let (mean, sd) = self.expected(at);
        if sd <= 0.0 {
            return (mean - best).max(0.0);
        }
        let z = (mean - best) / sd;
        let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        (mean - best) * normal::cdf(z) + sd * density
    }
}

/// Mean and standard deviation of the values; the latter above zero.
fn moments(observed: &[Observed]) -> Option<(f64, f64)> {
    let count = observed.len() as f64;
    let mean = observed.iter().map(|one| one.value).sum::<f64>() / count;
    let variance = observed.iter().map(|one| (one.value - mean).powi(2)).sum::<f64>() / count;
    (!observed.is_empty()).then(|| (mean, variance.sqrt().max(0.05 * mean.abs()).max(1e-9)))
}

fn kernel(a: [f64; 2], b: [f64; 2], lengths: [f64; 2], amplitude: f64) -> f64 {
    let distance: f64 = (0..2).map(|i| ((a[i] - b[i]) / lengths[i]).powi(2)).sum();
    amplitude.powi(2) * (-0.5 * distance).exp()
}

/// The lower triangle whose product with its transpose is `matrix`; `None` when there is none.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let mut lower = vec![vec![0.0; matrix.len()]; matrix.len()];
    for row in 0..matrix.len() {
        for column in 0..=row {
            let done: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
            let left = matrix[row][column] - done;
            lower[row][column] = match row == column {
                true if left > 0.0 => left.sqrt(),
                true => return None,
                false => left / lower[column][column],
            };
        }
    }
    Some(lower)
}

/// x with `lower` x = `right`.
fn forward(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(right.len());
    for (row, value) in lower.iter().zip(right) {
        let done: f64 = row.iter().zip(&x).map(|(l, x)| l * x).sum();
        x.push((value - done) / row[x.len()]);
    }
    x
}

/// x with the transpose of `lower` times x = `right`.
fn backward(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x = right.to_vec();
    for row in (0..x.len()).rev() {
        let done: f64 = (row + 1..x.len()).map(|k| lower[k][row] * x[k]).sum();
        x[row] = (x[row] - done) / lower[row][row];
    }
    x
}
