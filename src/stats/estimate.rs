//! A figure with its uncertainty: the only form in which a figure may decide something.

use serde::{Deserialize, Serialize};

/// A point, the interval around it, and how many observations it rests on. The level of the
/// interval is the maker's matter; 95 % unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    /// At most `value`.
    pub low: f64,
    /// At least `value`.
    pub high: f64,
    /// Observations: trials, blocks or windows, whichever the maker counts.
    pub count: u64,
}

impl Estimate {
    /// With this half width on either side.
    pub fn around(value: f64, half: f64, count: u64) -> Self {
        Self { value, low: value - half, high: value + half, count }
    }

    /// Of what was estimated as a logarithm.
    pub fn exp(self) -> Self {
        let Self { value, low, high, count } = self;
        Self { value: value.exp(), low: low.exp(), high: high.exp(), count }
    }

    /// So many times as much; `factor`: not below zero.
    pub fn times(self, factor: f64) -> Self {
        let Self { value, low, high, count } = self;
        Self { value: value * factor, low: low * factor, high: high * factor, count }
    }

    /// With another, independent error of the logarithm, of this half width. For what is above
    /// zero.
    pub fn widened(self, half_log: f64) -> Self {
        let wider = |ratio: f64| ratio.ln().hypot(half_log).exp();
        Self {
            low: self.value / wider(self.value / self.low),
            high: self.value * wider(self.high / self.value),
            ..self
        }
    }

    /// Both ends, as they are stored and printed.
    pub fn interval(&self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// Half the interval's width relative to the point; infinite when the point is zero.
    pub fn relative_half_width(&self) -> f64 {
        if self.value == 0.0 { f64::INFINITY } else { (self.high - self.low) / (2.0 * self.value) }
    }

    /// Half the interval's width as a logarithm: 0.03 is about 3 % either way. For what is above
    /// zero.
    pub fn log_half_width(&self) -> f64 {
        (self.high / self.low).ln() / 2.0
    }

    /// True when the whole interval lies between `low` and `high`, both included.
    pub fn lies_within(&self, low: f64, high: f64) -> bool {
        low <= self.low && self.high <= high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalence_asks_for_the_whole_interval() {
        let ratio = Estimate { value: 1.0, low: 0.98, high: 1.02, count: 6 };
        assert!(ratio.lies_within(0.97, 1.03));
        assert!(!ratio.lies_within(0.99, 1.03));
        assert!((ratio.relative_half_width() - 0.02).abs() < 1e-12);
        assert!((ratio.log_half_width() - 0.02).abs() < 1e-4);
    }
}
