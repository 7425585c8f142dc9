//! Several goals, or several targets, as lines for people: whose goal it is, whether it was met,
//! and the figures that it was judged by.
//!
//! In: the goals of a load or of a decision. Out: sentences, or a [`Section`] of them. Computes
//! only, and judges nothing.

use super::Section;
use crate::report::figures;
use crate::report::wording::{Counted, Language};
use crate::terms::{Decision, GoalSummary, Slo, WindowLatency};

/// A line each; of a goal of several targets one for each of these as well.
pub fn lines(goals: &[GoalSummary], language: Language) -> Vec<String> {
    let of_goal = |goal: &GoalSummary| {
        let mut lines = vec![line(goal, goals.len(), language)];
        if goal.targets.len() > 1 {
            lines.extend(goal.targets.iter().map(|target| {
                let seen = seen(target.due, target.failed, &target.latency_s, language);
                format!("{}: {seen}", target.target)
            }));
        }
        lines
    };
    goals.iter().flat_map(of_goal).collect()
}

/// Each goal of several, at the rate that was confirmed; `None` when there are none.
pub(super) fn section(decision: &Decision, language: Language) -> Option<Section> {
    let title = language.phrases().targets_at(&figures::rate(decision.goals_rps?));
    Some(Section::bullets(title, lines(&decision.goals, language)))
}

/// Whom a goal is about: one target, all, or those without a goal of their own; `count`: goals in
/// all.
pub fn name(goal: &GoalSummary, count: usize, language: Language) -> &str {
    let labels = language.labels();
    match &goal.targets[..] {
        [only] => &only.target,
        _ if count > 1 => labels.other_targets,
        _ => labels.all_targets,
    }
}

fn line(goal: &GoalSummary, count: usize, language: Language) -> String {
    let say = language.phrases();
    let met = say.goal_met(goal);
    let slo = goal.slo.as_ref().map(Slo::to_string);
    say.goal(
        name(goal, count, language),
        slo.as_deref().zip(Some(met.as_str())),
        &seen(goal.due, goal.failed, &goal.latency_s, language),
    )
}

fn seen(due: u64, failed: u64, latency: &WindowLatency, language: Language) -> String {
    let say = language.phrases();
    let requests = say.count(due, Counted::Requests);
    if due == 0 {
        return requests;
    }
    let (p95, p99) = (figures::latency(latency.p95), figures::latency(latency.p99));
    let requests = say.requests_failed(&requests, (failed > 0).then_some(failed));
    say.list(&[requests, format!("p95 {p95}"), format!("p99 {p99}")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::TargetSummary;

    fn target(name: &str, due: u64, p95: f64) -> TargetSummary {
        let latency_s = WindowLatency { p95, p99: p95 * 2.0, ..WindowLatency::default() };
        TargetSummary { target: name.to_string(), due, failed: 0, latency_s }
    }

    fn goal(slo: Option<&str>, targets: Vec<TargetSummary>, met: Option<bool>) -> GoalSummary {
        let due = targets.iter().map(|target| target.due).sum();
        let (slo, latency_s) = (slo.map(|slo| slo.parse().unwrap()), targets[0].latency_s);
        GoalSummary { slo, targets, due, latency_s, met, ..GoalSummary::default() }
    }

    #[test]
    fn each_goal_says_whether_it_was_met_and_by_which_figures() {
        let common = vec![target("GET /", 700, 0.02), target("GET /orders", 200, 0.03)];
        let common = goal(Some("p95<200ms"), common, Some(true));
        let rare = vec![target("GET /report", 12, 1.2)];
        let rare = GoalSummary {
            requests_needed: Some(59),
            failed: 1,
            leaning: Some(true),
            ..goal(Some("p95<2s"), rare, None)
        };
        assert_eq!(
            lines(&[common.clone(), rare], Language::English),
            [
                "the other targets: p95<200ms met; 900 requests, p95 20 ms, p99 40 ms",
                "GET /: 700 requests, p95 20 ms, p99 40 ms",
                "GET /orders: 200 requests, p95 30 ms, p99 60 ms",
                "GET /report: p95<2s held (not certain: 59 requests are needed); 12 requests, 1 \
                 failed, p95 1.20 s, p99 2.40 s",
            ]
        );
        assert!(lines(&[common], Language::English)[0].starts_with("all targets: p95<200ms met"));
        let none = goal(None, vec![target("GET /", 0, 0.0)], None);
        assert_eq!(lines(&[none], Language::English), ["GET /: no goal; 0 requests"]);
    }
}
