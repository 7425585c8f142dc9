//! The last part of a session: the chosen setting, started afresh, at the printed rate.
//!
//! In: a [`Story`]. Out: a sentence, and a [`Section`] with each second. Computes only.

use super::{Block, Medium, Section, Table};
use crate::report::figures;
use crate::report::story::Story;
use crate::report::wording::{Language, Sureness};
use crate::stats::binomial;
use crate::terms::{HeldRate, Reason, TrialSummary, Window};

/// How sure it is that no more fail than is said.
const LEVEL: f64 = 0.95;

/// What was sent for how long, and how sure it is that the goal was met; `None` where nothing was
/// held.
pub fn sentence(story: &Story, language: Language) -> Option<String> {
    let held = story.decision.as_ref()?.held?;
    let trial = trial(story, &held);
    Some(said(&held, trial.and_then(|trial| trial.reason.fact()), language))
}

/// Each second of it, its warm-up included; `None` where nothing was held.
pub fn section(story: &Story, language: Language) -> Option<Section> {
    let held = story.decision.as_ref()?.held?;
    let trial = trial(story, &held)?;
    let labels = language.labels();
    let head = [labels.second, labels.due, labels.answered, labels.errors, labels.in_flight];
    let head: Vec<&str> = head.into_iter().chain(["p50", "p95", labels.longest]).collect();
    let rows = trial.summary.windows.iter().map(row).collect();
    let title = language.phrases().second_by_second(&figures::rate(held.rate_rps));
    let table = Block::Table(Table::new(&head, .., rows));
    let sentence = said(&held, trial.reason.fact(), language);
    Some(Section::new(&title, vec![table]).folded(sentence).only(Medium::Page))
}

fn trial<'a>(story: &'a Story, held: &HeldRate) -> Option<&'a TrialSummary> {
    story.trials.iter().find(|trial| trial.id == held.trial)
}

/// `reason`: why its trial's verdict is what it is, where that is known.
fn said(it: &HeldRate, reason: Option<&Reason>, language: Language) -> String {
    let say = language.phrases();
    let at_most = figures::fine_percent(binomial::upper_bound(it.requests, it.failed, LEVEL));
    let sureness = match (it.certain, reason) {
        (false, _) => Sureness::PlainFigures,
        // The latencies of one goal at least are certain then, and the share of errors is not.
        (true, Some(Reason::MetButUncertain { .. })) => Sureness::InPart,
        (true, _) => Sureness::BeyondChance,
    };
    say.held(it, &say.span(it.duration_s), &at_most, sureness)
}

fn row(window: &Window) -> Vec<String> {
    let latency = &window.latency_s;
    let times = [latency.p50, latency.p95, latency.max].map(figures::latency);
    let counts = [window.due, window.completed, window.failed, window.in_flight];
    let second = format!("{:.0}", window.start_s);
    let counts = counts.map(|count| count.to_string());
    std::iter::once(second).chain(counts).chain(times).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_whose_errors_too_few_requests_certify_is_not_said_to_be_met_beyond_chance() {
        let held = HeldRate {
            rate_rps: 60.0,
            duration_s: 30.0,
            requests: 1800,
            failed: 0,
            trial: 9,
            certain: true,
        };
        let counted = Reason::Counted { goals: Vec::new() };
        let in_part = Reason::MetButUncertain { goals: Vec::new() };
        for (certain, reason, met) in [
            (true, &counted, "met the goal beyond chance (trial 9)"),
            (true, &in_part, "met the goal (trial 9)"),
            (false, &counted, "met the goal by its plain figures, which chance might explain"),
        ] {
            let told = said(&HeldRate { certain, ..held }, Some(reason), Language::English);
            assert!(told.contains(met), "{told}");
            assert!(told.ends_with("none of 1800 requests failed: at most 0.17 %, 95 % sure"));
        }
        let told = |reason| said(&held, Some(reason), Language::Japanese);
        assert!(told(&counted).contains("偶然では説明できない"), "{}", told(&counted));
        assert!(told(&in_part).contains("かけ続け、目標を満たしました（試行 9）"));
    }
}
