//! Latencies by the million million: counts in bins of one percent.

use crate::model::simulator::{Ending, Outcome};

/// The shortest latency that is told apart, seconds.
const SHORTEST_S: f64 = 1e-6;
/// A bin's width, as a logarithm.
const WIDTH: f64 = 0.01;

/// How many requests took how long, and how many got no reply. Counts are fractions where one
/// simulated request stands for many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    bins: Vec<f64>,
    replies: f64,
    /// Of all replies.
    latency_s: f64,
    failed: f64,
}

impl Tally {
    /// `count` requests that took `latency_s`.
    pub fn reply(&mut self, latency_s: f64, count: f64) {
        let bin = ((latency_s / SHORTEST_S).max(1.0).ln() / WIDTH) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0.0);
        }
        self.bins[bin] += count;
        self.replies += count;
        self.latency_s += latency_s * count;
    }

    /// `count` requests without a reply.
    pub fn fail(&mut self, count: f64) {
        self.failed += count;
    }

    /// One request that was simulated.
    pub fn note(&mut self, outcome: &Outcome) {
        match outcome.ending {
            Ending::Reply => self.reply(outcome.ended_s - outcome.due_s, 1.0),
            _ => self.fail(1.0),
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.add_times(other, 1.0);
    }

    /// `other`, `factor` times over.
    pub fn add_times(&mut self, other: &Self, factor: f64) {
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), 0.0);
        }
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            *mine += factor * theirs;
        }
        self.replies += factor * other.replies;
        self.latency_s += factor * other.latency_s;
        self.failed += factor * other.failed;
    }

    /// `other`, `factor` times over, each reply `later_s` later; what then takes longer than
    /// `timeout_s` fails.
    pub fn add_later(&mut self, other: &Self, factor: f64, later_s: f64, timeout_s: f64) {
        for (bin, count) in other.bins.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let latency_s = middle_s(bin) + later_s;
            if latency_s < timeout_s {
                self.reply(latency_s, factor * count);
            } else {
                self.fail(factor * count);
            }
        }
        self.fail(factor * other.failed);
    }

    /// All that ended, with or without a reply.
    pub fn requests(&self) -> f64 {
        self.replies + self.failed
    }

    /// 0 when nothing ended.
    pub fn failed_share(&self) -> f64 {
        if self.requests() > 0.0 { self.failed / self.requests() } else { 0.0 }
    }

    /// The share that takes longer than this, or gets no reply; 0 when nothing ended.
    pub fn share_above(&self, latency_s: f64) -> f64 {
        let above = self.bins.iter().enumerate().filter(|(bin, _)| middle_s(*bin) > latency_s);
        let above: f64 = above.map(|(_, count)| count).sum();
        if self.requests() > 0.0 { (above + self.failed) / self.requests() } else { 0.0 }
    }

    /// Of the replies; 0 when there are none.
    pub fn mean_s(&self) -> f64 {
        if self.replies > 0.0 { self.latency_s / self.replies } else { 0.0 }
    }

    /// Of the replies, to one percent; 0 when there are none.
    pub fn quantile_s(&self, share: f64) -> f64 {
        let mut left = share * self.replies;
        for (bin, count) in self.bins.iter().enumerate() {
            left -= count;
            if left <= 0.0 && *count > 0.0 {
                return middle_s(bin);
            }
        }
        0.0
    }
}

fn middle_s(bin: usize) -> f64 {
    SHORTEST_S * ((bin as f64 + 0.5) * WIDTH).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_met_to_a_percent() {
        let mut tally = Tally::default();
        for i in 1..=1000 {
            tally.reply(f64::from(i) * 1e-3, 2.0);
        }
        for (share, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99)] {
            assert!((tally.quantile_s(share) / expected - 1.0).abs() < 0.01);
        }
        assert!((tally.mean_s() / 0.5005 - 1.0).abs() < 1e-9);
        assert!((tally.share_above(0.9) - 0.1).abs() < 0.01);
        tally.fail(2000.0);
        assert_eq!((tally.requests(), tally.failed_share()), (4000.0, 0.5));
        assert_eq!(Tally::default().quantile_s(0.5), 0.0);
    }

    #[test]
    fn what_comes_too_late_fails() {
        let mut quick = Tally::default();
        quick.reply(0.1, 1.0);
        quick.reply(5.0, 1.0);
        let mut tally = Tally::default();
        tally.add_later(&quick, 10.0, 6.0, 10.0);
        assert_eq!((tally.requests(), tally.failed_share()), (20.0, 0.5));
        assert!((tally.quantile_s(0.5) / 6.1 - 1.0).abs() < 0.01);
        tally.add_times(&quick, 1.0);
        assert_eq!(tally.requests(), 22.0);
    }
}
