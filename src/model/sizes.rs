//! How much the requests of an app differ from one another.

use crate::terms::{Latencies, LatencySummary};

/// A distribution in parts, each with its share of the requests and a straight line of quantiles;
/// the mean of all is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Where parts meet: the shares of requests that are smaller, from 0 to 1.
    levels: &'static [f64],
    /// Both ends of each part's line, one part fewer than levels; the rest is not used.
    lines: [[f64; 2]; PARTS_MOST],
}

/// The quantiles of a [`LatencySummary`].
const PRINTED: [f64; 8] = [0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];

/// Where parts of a whole histogram meet: the closer the larger requests are, as goals are of
/// those.
const COUNTED: [f64; PARTS_MOST + 1] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.985,
    0.99, 0.995, 0.998, 0.999, 1.0,
];

const PARTS_MOST: usize = 21;

/// See [`Sizes::cv2_of`]. Judgement.
const UNSEEN: f64 = 20.0;

impl Sizes {
    /// As the latencies of requests that met nobody differ, by their printed quantiles, straight
    /// lines in between: a heavy tail is taken for a heavier one. `None` when they took no time.
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
        let mut lines = [[0.0; 2]; PARTS_MOST];
        for (line, ends) in lines.iter_mut().zip(values.windows(2)) {
            *line = [ends[0], ends[1]];
        }
        Self { levels: &PRINTED, lines }.scaled()
    }

    /// As all of these differ: each part has the mean and the variance of its requests, and so has
    /// the whole. `None` when there are none, or they took no time.
    pub fn of_all(latencies: &Latencies) -> Option<Self> {
        let count = latencies.count() as f64;
        let mut buckets = latencies.buckets();
        let mut rest = Rest { buckets: &mut buckets, value: 0.0, left: 0.0 };
        let mut lines = [[0.0; 2]; PARTS_MOST];
        for (line, ends) in lines.iter_mut().zip(COUNTED.windows(2)) {
            *line = rest.line((ends[1] - ends[0]) * count);
        }
        Self { levels: &COUNTED, lines }.scaled()
    }

    /// With a mean of 1.
    fn scaled(self) -> Option<Self> {
        let mean = self.pieces().map(|(share, a, b)| share * (a + b) / 2.0).sum::<f64>();
        let lines = self.lines.map(|line| line.map(|end| end / mean));
        (mean > 0.0).then_some(Self { lines, ..self })
    }

    /// Squared coefficient of variation. E[X^2] of a straight piece from a to b is
    /// (a^2 + ab + b^2) / 3.
    pub fn cv2(&self) -> f64 {
        let square = |(share, a, b)| share * (a * a + a * b + b * b) / 3.0;
        (self.pieces().map(square).sum::<f64>() - 1.0).max(0.0)
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
        self.pieces().map(|(share, a, b)| (share, 0.5 * (a + b), (b - a).powi(2) / 12.0))
    }

    /// The size that a share of the requests (0..=1) stays below.
    pub fn quantile(&self, share: f64) -> f64 {
        let last = self.levels.len() - 1;
        let above = self.levels.iter().position(|&level| level >= share).unwrap_or(last).max(1);
        let (from, to) = (self.levels[above - 1], self.levels[above]);
        let [low, high] = self.lines[above - 1];
        let along = ((share - from) / (to - from)).clamp(0.0, 1.0);
        // A part with a gap in it has a line that is longer than what is in it.
        (low + along * (high - low)).max(0.0)
    }

    /// The share of the requests in each part, and the ends of its line.
    fn pieces(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let shares = self.levels.windows(2).map(|ends| ends[1] - ends[0]);
        shares.zip(&self.lines).map(|(share, &[a, b])| (share, a, b))
    }
}

/// What is left of a histogram, the smallest first.
struct Rest<'a> {
    /// Value and count.
    buckets: &'a mut dyn Iterator<Item = (u64, u64)>,
    /// That of the bucket at hand, and what is left in it.
    value: f64,
    left: f64,
}

impl Rest<'_> {
    /// Takes the next `wanted` requests: the line with their mean and their variance, which a line
    /// from a to b has as (b - a)^2 / 12.
    fn line(&mut self, mut wanted: f64) -> [f64; 2] {
        let (mut weight, mut sum, mut squares) = (0.0, 0.0, 0.0);
        while wanted > 0.0 {
            if self.left <= 0.0 {
                let Some((value, count)) = self.buckets.next() else { break };
                (self.value, self.left) = (value as f64, count as f64);
            }
            let taken = wanted.min(self.left);
            weight += taken;
            sum += taken * self.value;
            squares += taken * self.value.powi(2);
            self.left -= taken;
            wanted -= taken;
        }
        if weight <= 0.0 {
            return [self.value; 2];
        }
        let mean = sum / weight;
        let half = (3.0 * (squares / weight - mean.powi(2)).max(0.0)).sqrt();
        [mean - half, mean + half]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::stats::normal;

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

    /// 20,000 latencies of which the quantiles are these, in seconds.
    fn all(quantile: impl Fn(f64) -> f64) -> Latencies {
        let mut latencies = Latencies::default();
        for index in 0..20_000 {
            let value_s = quantile((f64::from(index) + 0.5) / 20_000.0);
            latencies.record(Duration::from_secs_f64(value_s));
        }
        latencies
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
        assert_eq!(sizes.quantile(1.0), sizes.lines[6][1]);
    }

    #[test]
    fn a_heavy_tail_and_a_gap_are_met_by_all_that_was_counted() {
        // Lognormal with a mean of 20 ms; one in about ten takes 92 ms, and the rest 20.
        let tail = |cv2: f64| {
            let variance = (1.0 + cv2).ln();
            move |p: f64| 0.02 * (variance.sqrt() * normal::quantile(p) - 0.5 * variance).exp()
        };
        let gap = |at: f64| move |p: f64| if p < at { 0.02 } else { 0.092 };
        let check = |latencies: Latencies, what: &str| {
            let sizes = Sizes::of_all(&latencies).unwrap();
            let mean_s = latencies.mean().unwrap().as_secs_f64();
            let cv2 = (latencies.standard_deviation().unwrap().as_secs_f64() / mean_s).powi(2);
            let mean = sizes.parts().map(|(share, size, _)| share * size).sum::<f64>();
            assert!((mean - 1.0).abs() < 1e-9, "{what}: {mean}");
            assert!((sizes.cv2() / cv2 - 1.0).abs() < 0.01, "{what}: {} {cv2}", sizes.cv2());
            for share in [0.5, 0.95, 0.99] {
                let size = latencies.quantile(share).unwrap().as_secs_f64() / mean_s;
                let ratio = sizes.quantile(share) / size;
                assert!((ratio - 1.0).abs() < 0.03, "{what}, {share}: {ratio}");
            }
        };
        for cv2 in [0.3, 1.0, 8.0] {
            check(all(tail(cv2)), &format!("lognormal, {cv2}"));
        }
        for at in [0.897, 0.9, 0.903] {
            check(all(gap(at)), &format!("a gap at {at}"));
        }
        assert_eq!(Sizes::of_all(&Latencies::default()), None);
        let mut one = Latencies::default();
        one.record(Duration::from_millis(5));
        assert!(Sizes::of_all(&one).unwrap().cv2() < 1e-9);
    }
}
