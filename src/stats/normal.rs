//! The standard normal distribution.

use std::f64::consts::SQRT_2;

use statrs::function::erf::{erfc, erfc_inv};

/// P(Z <= x) of a standard normal Z.
pub fn cdf(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// The x with P(Z <= x) = `p`; minus and plus infinity at 0 and 1.
pub fn quantile(p: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_values_are_met_and_the_two_functions_undo_each_other() {
        for (x, p) in
            [(0.0, 0.5), (1.0, 0.841_344_746), (1.959_963_985, 0.975), (-3.0, 0.001_349_898)]
        {
            assert!((cdf(x) - p).abs() < 1e-8, "cdf({x}) = {}", cdf(x));
            assert!((quantile(p) - x).abs() < 1e-6, "quantile({p}) = {}", quantile(p));
        }
    }
}
