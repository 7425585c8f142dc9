//! Random durations with a given mean and variability.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded source of durations.
#[derive(Debug, Clone)]
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform over (0, 1], 53 bits.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform over 0..bound; the bias of less than bound / 2^32 is far below what a run can show.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (((self.0.next_u64() >> 32) * bound as u64) >> 32) as usize
    }

    /// Exponential with this mean.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// A gamma variable with this mean and squared coefficient of variation: constant at 0,
    /// exponential at 1.
    pub(super) fn gamma(&mut self, mean: f64, cv2: f64) -> f64 {
        if cv2 <= 0.0 || mean <= 0.0 {
            mean.max(0.0)
        } else if cv2 == 1.0 {
            self.exponential(mean)
        } else {
            mean * cv2 * self.gamma_of_shape(1.0 / cv2)
        }
    }

    /// Marsaglia and Tsang (2000); below shape 1 by their boost from shape + 1.
    fn gamma_of_shape(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = self.unit().powf(1.0 / shape);
            return boost * self.gamma_of_shape(shape + 1.0);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// Standard normal, by Marsaglia's polar method (1964).
    pub(super) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_mean_and_the_variability_asked_for() {
        for cv2 in [0.0, 0.1, 0.5, 1.0, 3.0] {
            let mut random = Random::new(3);
            let n = 200_000;
            let values: Vec<f64> = (0..n).map(|_| random.gamma(2.0, cv2)).collect();
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean / 2.0 - 1.0).abs() < 0.02, "mean {mean} at cv2 {cv2}");
            assert!(
                (variance / 4.0 - cv2).abs() < 0.05 * cv2 + 1e-9,
                "{} at {cv2}",
                variance / 4.0
            );
        }
    }
}
