//! The first stage: the current configuration with one client. It shows the floor of latency, and
//! settles the goal where none was given.

use std::time::Duration;

use super::ask::TrialRequest;
use super::constants::SETTLE;
use super::ledger::{Alone, Ledger};
use super::plan::{goal_from_unloaded, is_goal_its_own};
use crate::model::{self, Sizes};
use crate::terms::{Goals, Offered, SearchNote, TrialPurpose, TrialSummary, Verdict, WarmUpKind};

/// Which measurement of one client alone it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// As long as the first.
    Again,
    /// For much longer.
    Longer,
}

pub(super) fn request(ledger: &Ledger, attempt: Attempt) -> TrialRequest {
    let offered = Offered::Closed { clients: 1, think: Duration::ZERO };
    let duration = match attempt {
        Attempt::First | Attempt::Again => ledger.plan.seconds(0.015, 3.0, 15.0),
        Attempt::Longer => longer(ledger.plan.budget),
    };
    TrialRequest::new(ledger.plan.current, TrialPurpose::Unloaded, offered, SETTLE, duration)
}

/// How long one client alone is measured where a first time told too little.
pub(super) fn longer(budget: Duration) -> Duration {
    Duration::from_secs_f64((0.1 * budget.as_secs_f64()).clamp(15.0, 120.0).round())
}

/// The measurement that stands in place of the first, where that told too little: no request began
/// in the time, or the server was still cold, and by that the goal would be missed, or set.
pub(super) fn in_place_of_first(ledger: &Ledger, summary: &TrialSummary) -> Option<Attempt> {
    let load = &summary.summary;
    let is_cold = matches!(summary.warm_up.kind, WarmUpKind::Warmed | WarmUpKind::NotSteady);
    let p95 = Duration::from_secs_f64(model::common_p95_s(load));
    match ledger.slo {
        _ if load.due == 0 => Some(Attempt::Longer),
        Some(_) => (is_cold && summary.verdict == Verdict::No).then_some(Attempt::Longer),
        None => (is_cold && is_goal_its_own(p95)).then_some(Attempt::Again),
    }
}

/// Takes the result. False where even one client alone misses the goals, or no request began in the
/// time: no rate can be searched for.
pub(super) fn take(ledger: &mut Ledger, summary: &TrialSummary) -> bool {
    let load = &summary.summary;
    if load.due == 0 {
        ledger.note(SearchNote::AloneNotMeasured { why: summary.reason.clone() });
        return false;
    }
    let p95 = Duration::from_secs_f64(model::common_p95_s(load));
    let slo = ledger.slo.get_or_insert_with(|| goal_from_unloaded(p95)).clone();
    ledger.alone = Some(Alone {
        latency_mean_s: load.latency_s.mean,
        cpu_per_request_s: model::Costs::of(summary).server_s,
        sizes: Sizes::of(&load.latency_s),
        replies: load.completed,
        limit: model::limit_that_binds(load, &slo),
    });
    if summary.verdict != Verdict::No {
        return true;
    }
    let judged = load.slo.as_ref().map(|it| it.goals.clone());
    let goals = judged.unwrap_or_else(|| Goals::one(slo).list());
    let (latency_s_p95, why) = (p95.as_secs_f64(), summary.reason.clone());
    ledger.note(SearchNote::GoalsOutOfReach { goals, latency_s_p95, why });
    false
}
