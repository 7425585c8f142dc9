//! Figures of several rounds: the median and how far they lie apart.
//!
//! In: numbers. Out: numbers and their text. Computes only; tests/it/bench_load.rs tests it.

use sweetspot::stats::quantile;

/// Where the figures of several rounds lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub count: usize,
    pub min: f64,
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    pub max: f64,
}

/// The spread of these; `None` when there are none. Quartiles lie between neighbours in proportion.
pub fn spread(values: &[f64]) -> Option<Spread> {
    let at = |share| quantile(values, share);
    Some(Spread {
        count: values.len(),
        min: at(0.0)?,
        lower_quartile: at(0.25)?,
        median: at(0.5)?,
        upper_quartile: at(0.75)?,
        max: at(1.0)?,
    })
}

impl Spread {
    /// `median (min..max; quartile..quartile)`, each multiplied by `scale`; one figure alone stands
    /// by itself.
    pub fn text(&self, scale: f64, digits: usize) -> String {
        let one = |value: f64| format!("{:.digits$}", value * scale);
        if self.count == 1 {
            return one(self.median);
        }
        format!(
            "{} ({}..{}; {}..{})",
            one(self.median),
            one(self.min),
            one(self.max),
            one(self.lower_quartile),
            one(self.upper_quartile)
        )
    }
}

/// Whole seconds of a rate: how many were not disturbed, and how many of those were exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exactness {
    pub clean: u32,
    pub exact: u32,
}

/// How far the rate of a second may be off.
const EXACT: f64 = 0.005;

impl Exactness {
    /// One more second, with so many requests a second.
    pub fn add(&mut self, is_clean: bool, rps: f64, planned_rps: f64) {
        let is_exact = (rps / planned_rps - 1.0).abs() <= EXACT;
        self.clean += u32::from(is_clean);
        self.exact += u32::from(is_clean && is_exact);
    }

    /// The share of exact ones among the undisturbed; `None` when all were disturbed.
    pub fn share(self) -> Option<f64> {
        (self.clean > 0).then(|| f64::from(self.exact) / f64::from(self.clean))
    }
}
