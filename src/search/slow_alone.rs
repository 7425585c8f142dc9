//! Requests that are slow by themselves: a few in a hundred that take most of what the goal allows,
//! or more, with one client alone.
//!
//! In: the trial with one client alone. Out: how far from the goal's edge another trial was by what
//! its rate is the reason for. Where slow requests alone use up part of what may be late, the rest
//! is soon used up too, and falls slowly as the rate does. Computes only.

use super::constants::{BEYOND_LEAST, EDGE_SD_MOST, NEARLY_LATE, RATE_LEAST};
use crate::terms::{Edge, LatencySummary, TrialPurpose, TrialSummary};

/// The latencies of one client alone, once they were measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SlowAlone(Option<(LatencySummary, f64)>);

impl SlowAlone {
    pub fn take(&mut self, trial: &TrialSummary) {
        if trial.purpose == TrialPurpose::Unloaded && trial.summary.completed > 0 {
            self.0 = Some((trial.summary.latency_s, trial.summary.completed as f64));
        }
    }

    /// The edge of what the goal allows beside those that are slow alone.
    pub fn beyond(self, edge: Edge) -> Edge {
        let Some((latency_s, requests)) = self.0 else { return edge };
        let allowed = edge.allowed_ratio;
        let late = slower_than(&latency_s, NEARLY_LATE * edge.limit_s, requests);
        let alone = late.min((1.0 - RATE_LEAST) * allowed);
        if alone <= 0.0 {
            return edge;
        }
        let alone_sd = (alone / requests).sqrt();
        let share = allowed * edge.excess_log.exp();
        let sd = (share * edge.excess_sd).hypot(alone_sd);
        let beyond = (share - alone).max(BEYOND_LEAST * sd);
        let excess_sd = (sd / beyond).hypot(alone_sd / (allowed - alone)).min(EDGE_SD_MOST);
        Edge { excess_log: (beyond / (allowed - alone)).ln(), excess_sd, ..edge }
    }
}

/// Share of `requests` slower than this, log-linear between the quantiles that so many tell.
fn slower_than(of: &LatencySummary, limit_s: f64, requests: f64) -> f64 {
    let quantiles = [(0.5, of.p50), (0.25, of.p75), (0.1, of.p90), (0.05, of.p95), (0.01, of.p99)];
    let all = quantiles.into_iter().chain([(0.001, of.p999)]);
    let known: Vec<(f64, f64)> = all.filter(|(share, _)| share * requests >= 1.0).collect();
    if let Some(&(share, _)) = known.first().filter(|(_, at_s)| limit_s <= *at_s) {
        return share;
    }
    let between = known.windows(2).find(|pair| limit_s <= pair[1].1);
    match between {
        Some(pair) => {
            let ((more, low_s), (fewer, high_s)) = (pair[0], pair[1]);
            let part = (limit_s - low_s) / (high_s - low_s);
            more * (fewer / more).powf(part)
        }
        None if limit_s < of.max => 1.0 / requests,
        None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 95 % take 20 ms; 4 % take 190 ms, and the slowest of a thousand 400 ms.
    fn mixture() -> LatencySummary {
        let (p50, p95, p99, p999) = (0.02, 0.02, 0.19, 0.4);
        LatencySummary { p50, p75: p50, p90: p50, p95, p99, p999, max: p999, ..Default::default() }
    }

    fn edge(share: f64) -> Edge {
        Edge { excess_log: (share / 0.05).ln(), excess_sd: 0.1, limit_s: 0.2, allowed_ratio: 0.05 }
    }

    #[test]
    fn shares_lie_between_the_quantiles_that_are_known() {
        let of = mixture();
        assert_eq!(slower_than(&of, 0.01, 1e4), 0.5);
        assert!((slower_than(&of, 0.02 + 1e-9, 1e4) - 0.05).abs() < 1e-6);
        assert!((slower_than(&of, 0.19, 1e4) - 0.01).abs() < 1e-6);
        assert_eq!(slower_than(&of, 0.5, 1e4), 0.0);
        // Of 300 requests no quantile of one in a thousand is known.
        assert!((slower_than(&of, 0.3, 300.0) - 1.0 / 300.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_slow_alone_leaves_less_to_the_rate() {
        let alone = SlowAlone(Some((mixture(), 1e6)));
        let slow = slower_than(&mixture(), 0.16, 1e6);
        assert!((0.01..0.02).contains(&slow), "{slow}");
        let on_it = alone.beyond(edge(0.05));
        assert!(on_it.excess_log.abs() < 1e-9, "the edge stays where it is: {on_it:?}");
        assert!(on_it.excess_sd > 0.12, "{on_it:?}");
        let above = alone.beyond(edge(0.08));
        assert!((above.excess_log - ((0.08 - slow) / (0.05 - slow)).ln()).abs() < 1e-9);
        assert!(above.excess_log > edge(0.08).excess_log);
    }

    #[test]
    fn an_app_without_slow_ones_is_as_it_was_and_so_is_one_that_was_not_measured() {
        let fast = LatencySummary { p95: 0.03, p99: 0.04, p999: 0.05, max: 0.06, ..mixture() };
        let alone = SlowAlone(Some((fast, 500.0)));
        assert_eq!(alone.beyond(edge(0.08)), edge(0.08));
        assert_eq!(SlowAlone::default().beyond(edge(0.08)), edge(0.08));
        let unwritten = Edge { allowed_ratio: 0.0, ..edge(0.08) };
        assert_eq!(SlowAlone(Some((mixture(), 500.0))).beyond(unwritten), unwritten);
    }

    #[test]
    fn fewer_late_than_alone_is_no_number_that_is_none() {
        let alone = SlowAlone(Some((mixture(), 200.0)));
        let fewer = alone.beyond(edge(0.005));
        assert!(fewer.excess_log.is_finite() && fewer.excess_log < 0.0, "{fewer:?}");
        assert!(fewer.excess_sd <= EDGE_SD_MOST);
    }
}
