//! A distribution of durations that can be added to another: an HDR histogram with three
//! significant digits from 1 microsecond up.

use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Durations counted in buckets of at most 0.1 % width. Grows with the largest value seen, up to an
/// hour; longer ones count as an hour. Stored as `[[microseconds, count], ...]`, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies(Histogram<u64>);

/// A distribution in seconds; all zero when nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// The longest duration told apart from longer ones.
const LONGEST: Duration = Duration::from_secs(3600);

impl Default for Latencies {
    fn default() -> Self {
        let mut histogram =
            Histogram::new(3).expect("three significant digits are within what HDR allows");
        histogram.auto(true);
        Self(histogram)
    }
}

impl Latencies {
    /// An empty one that has room for durations of up to `us` microseconds: growing to them one by
    /// one is what takes the time where many are read.
    fn up_to(us: u64) -> Self {
        let longest = us.clamp(2, LONGEST.as_micros() as u64);
        let mut histogram =
            Histogram::new_with_max(longest, 3).expect("three significant digits of 2 us and more");
        histogram.auto(true);
        Self(histogram)
    }

    /// Counts one duration.
    pub fn record(&mut self, value: Duration) {
        self.record_n(value, 1);
    }

    /// Counts one duration `count` times.
    pub fn record_n(&mut self, value: Duration, count: u64) {
        let us = value.min(LONGEST).as_micros() as u64;
        self.0.record_n(us, count).expect("a resizing histogram takes every value up to its limit");
    }

    /// Adds all of `other`'s durations.
    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("a resizing histogram takes every other histogram");
    }

    /// How many durations.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// True when nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The duration below or at which `q` (0..=1) of the recorded ones lie; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_micros(self.0.value_at_quantile(q)))
    }

    /// Mean; `None` when empty.
    pub fn mean(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_secs_f64(self.0.mean() / 1e6))
    }

    /// Standard deviation; `None` when empty.
    pub fn standard_deviation(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_secs_f64(self.0.stdev() / 1e6))
    }

    /// Share within one standard deviation of the mean, 0..=1, to the histogram's resolution;
    /// `None` when empty.
    pub fn share_within_deviation(&self) -> Option<f64> {
        let (mean, deviation) = (self.0.mean(), self.0.stdev());
        let is_within = |us: u64| {
            self.0.highest_equivalent(us) as f64 >= mean - deviation
                && self.0.lowest_equivalent(us) as f64 <= mean + deviation
        };
        let within = self.buckets().filter(|(us, _)| is_within(*us));
        let within: u64 = within.map(|(_, count)| count).sum();
        (!self.is_empty()).then(|| within as f64 / self.count() as f64)
    }

    /// As it is printed, in seconds; all zero when empty.
    pub fn summary(&self) -> LatencySummary {
        let seconds = |value: Option<Duration>| value.unwrap_or_default().as_secs_f64();
        let at = |q| seconds(self.quantile(q));
        LatencySummary {
            min: seconds(self.min()),
            mean: seconds(self.mean()),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: seconds(self.max()),
        }
    }

    /// Smallest; `None` when empty.
    pub fn min(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_micros(self.0.min()))
    }

    /// Largest; `None` when empty.
    pub fn max(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_micros(self.0.max()))
    }

    /// How many lie above `limit` (to the histogram's resolution).
    pub fn count_above(&self, limit: Duration) -> u64 {
        let us = limit.min(LONGEST).as_micros() as u64;
        self.0
            .iter_recorded()
            .filter(|step| {
                step.value_iterated_to() > us && !self.0.equivalent(step.value_iterated_to(), us)
            })
            .map(|step| step.count_at_value())
            .sum()
    }

    /// `(upper edge in microseconds, count)` of every bucket in use, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// The histogram itself, in microseconds, for the formats that are made of one.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl Serialize for Latencies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let buckets = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let mut latencies = Self::up_to(buckets.last().map_or(0, |(us, _)| *us));
        for (us, count) in buckets {
            latencies.record_n(Duration::from_micros(us), count);
        }
        Ok(latencies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn what_is_stored_reads_back_with_the_same_counts_and_quantiles() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|n| latencies.record(ms(n)));
        let text = serde_json::to_string(&latencies).unwrap();
        let back: Latencies = serde_json::from_str(&text).unwrap();
        assert_eq!(back.count(), 1000);
        assert_eq!(back.quantile(0.5), latencies.quantile(0.5));
        assert_eq!(back.max(), latencies.max());
    }

    #[test]
    fn what_lies_above_a_limit_is_counted() {
        let mut latencies = Latencies::default();
        (1..=100).for_each(|n| latencies.record(ms(n)));
        assert_eq!(latencies.count_above(ms(90)), 10);
        assert_eq!(latencies.count_above(ms(100)), 0);
        assert_eq!(Latencies::default().count_above(ms(1)), 0);
    }

    #[test]
    fn the_share_within_one_deviation_is_counted() {
        let mut latencies = Latencies::default();
        latencies.record_n(ms(20), 10);
        assert_eq!(latencies.share_within_deviation(), Some(1.0), "without any deviation: all");
        // Mean 28 ms, deviation 25 ms: only the slow one lies outside.
        latencies.record(ms(108));
        let share = latencies.share_within_deviation().unwrap();
        assert!((share - 10.0 / 11.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn an_empty_one_has_no_quantile() {
        assert_eq!(Latencies::default().quantile(0.5), None);
        assert_eq!(Latencies::default().share_within_deviation(), None);
        assert_eq!(Latencies::default().mean(), None);
    }
}
