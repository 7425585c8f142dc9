//! Figures of several rounds: the median and how far they lie apart.

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

impl Spread {
    /// `None` of none. Quartiles lie between neighbours in proportion.
    pub fn of(values: &[f64]) -> Option<Self> {
        let at = |share| quantile(values, share);
        Some(Self {
            count: values.len(),
            min: at(0.0)?,
            lower_quartile: at(0.25)?,
            median: at(0.5)?,
            upper_quartile: at(0.75)?,
            max: at(1.0)?,
        })
    }

    /// `median (min..max)`, each multiplied by `scale`.
    pub fn range(&self, scale: f64, digits: usize) -> String {
        let [median, min, max] = [self.median, self.min, self.max].map(|value| value * scale);
        format!("{median:.digits$} ({min:.digits$}..{max:.digits$})")
    }

    /// `median (min..max; quartile..quartile)`, each multiplied by `scale`; one figure alone stands
    /// by itself.
    pub fn text(&self, scale: f64, digits: usize) -> String {
        if self.count == 1 {
            return format!("{:.digits$}", self.median * scale);
        }
        let range = self.range(scale, digits);
        let [lower, upper] = [self.lower_quartile, self.upper_quartile].map(|value| value * scale);
        format!("{}; {lower:.digits$}..{upper:.digits$})", range.trim_end_matches(')'))
    }
}

/// `None` of none.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
