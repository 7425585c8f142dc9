//! Of several goals the one that is missed first.
//!
//! In: what one client alone saw of each goal's requests. Out: one limit for the formulas, which
//! know one kind of request. Computes only.

use std::time::Duration;

use crate::terms::{GoalSummary, LoadSummary, QuantileLimit, Slo};

/// A goal that is as good as missed alone still leaves the formulas this much to wait.
const LEAST_SLACK_S: f64 = 1e-3;

/// The 95th percentile (seconds) of the requests that the common goal is about: all of them, unless
/// some targets have goals of their own.
pub fn common_p95_s(unloaded: &LoadSummary) -> f64 {
    let common = unloaded.goals.iter().find(|goal| !goal.own && goal.due > 0);
    common.map_or(unloaded.latency_s.p95, |goal| goal.latency_s.p95)
}

/// The limit on all requests together that stands for every goal of a mix; with one goal its
/// tightest limit. `common`: the goal of targets without one of their own.
///
/// All requests queue for the same workers and wait alike, whatever their own work. So the goal
/// that leaves the least beyond what its requests take alone is missed first, and what it leaves is
/// what all may wait: limit = p95 of all alone + the least of (limit - p95 alone) over the goals.
pub fn limit_that_binds(unloaded: &LoadSummary, common: &Slo) -> QuantileLimit {
    let has_own = unloaded.goals.iter().any(|goal| goal.own);
    let slack = |goal: &GoalSummary| {
        let own = goal.slo.as_ref().filter(|_| goal.own);
        let limit = own.unwrap_or(common).tightest();
        let slack_s = limit.limit.as_secs_f64() - goal.latency_s.p95;
        (slack_s.max(LEAST_SLACK_S), limit)
    };
    let seen = unloaded.goals.iter().filter(|goal| has_own && goal.due > 0);
    let binding = seen.map(slack).min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((slack_s, limit)) = binding else { return common.tightest() };
    let limit_s = unloaded.latency_s.p95 + slack_s;
    QuantileLimit { limit: Duration::from_secs_f64(limit_s), ..limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{LatencySummary, WindowLatency};

    fn goal(slo: Option<&str>, own: bool, p95: f64) -> GoalSummary {
        let latency_s = WindowLatency { p95, ..WindowLatency::default() };
        GoalSummary {
            slo: slo.map(|slo| slo.parse().unwrap()),
            own,
            due: 100,
            latency_s,
            ..Default::default()
        }
    }

    fn unloaded(p95: f64, goals: Vec<GoalSummary>) -> LoadSummary {
        let latency_s = LatencySummary { p95, ..LatencySummary::default() };
        LoadSummary { latency_s, goals, ..LoadSummary::default() }
    }

    #[test]
    fn one_goal_is_taken_as_it_is() {
        let common: Slo = "p99<1s,p95<200ms".parse().unwrap();
        let alone = unloaded(0.05, Vec::new());
        assert_eq!(limit_that_binds(&alone, &common), common.tightest());
        let several_targets = unloaded(0.05, vec![goal(None, false, 0.05)]);
        assert_eq!(limit_that_binds(&several_targets, &common), common.tightest());
        assert_eq!(common_p95_s(&alone), 0.05);
    }

    #[test]
    fn the_goal_that_leaves_the_least_to_wait_binds() {
        let common: Slo = "p95<200ms".parse().unwrap();
        // The others leave 180 ms, the report 800 ms.
        let mix = unloaded(1.1, vec![goal(None, false, 0.02), goal(Some("p95<2s"), true, 1.2)]);
        let limit = limit_that_binds(&mix, &common);
        assert!((limit.limit.as_secs_f64() - 1.28).abs() < 1e-9, "{limit:?}");
        assert_eq!(common_p95_s(&mix), 0.02, "the slow one does not loosen the others' goal");
        let tight = unloaded(1.1, vec![goal(None, false, 0.02), goal(Some("p95<1s"), true, 1.2)]);
        let limit = limit_that_binds(&tight, &common).limit.as_secs_f64();
        assert!((limit - 1.101).abs() < 1e-9, "missed alone: hardly anything is left, {limit}");
    }
}
