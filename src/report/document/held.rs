//! The last part of a session: the chosen setting, started afresh, at the printed rate.
//!
//! In: a [`Story`]. Out: a sentence, and a [`Section`] with each second. Computes only.

use super::{Block, Medium, Section, Table};
use crate::report::figures;
use crate::report::story::Story;
use crate::report::wording::{Held, Language};
use crate::stats::binomial;
use crate::terms::{HeldRate, Window};

/// How sure it is that no more fail than is said.
const LEVEL: f64 = 0.95;

/// What was sent for how long, and how sure it is that the goal was met.
pub fn sentence(it: &HeldRate, language: Language) -> String {
    let say = language.phrases();
    let at_most = binomial::upper_bound(it.requests, it.failed, LEVEL);
    say.held(&Held {
        rate: &figures::rate(it.rate_rps),
        time: &say.span(it.duration_s),
        requests: it.requests,
        failed: it.failed,
        failed_at_most: &figures::fine_percent(at_most),
        trial: it.trial,
        is_certain: it.certain,
    })
}

/// Each second of it, its warm-up included; `None` where nothing was held.
pub fn section(story: &Story, language: Language) -> Option<Section> {
    let held = story.decision.as_ref()?.held?;
    let trial = story.trials.iter().find(|trial| trial.id == held.trial)?;
    let labels = language.labels();
    let head = [labels.second, labels.due, labels.answered, labels.errors, labels.in_flight];
    let head: Vec<&str> = head.into_iter().chain(["p50", "p95", labels.longest]).collect();
    let rows = trial.summary.windows.iter().map(row).collect();
    let title = language.phrases().second_by_second(&figures::rate(held.rate_rps));
    let table = Block::Table(Table::new(&head, 0, rows));
    Some(Section::new(&title, vec![table]).folded(sentence(&held, language)).only(Medium::Page))
}

fn row(window: &Window) -> Vec<String> {
    let latency = &window.latency_s;
    let times = [latency.p50, latency.p95, latency.max].map(figures::latency);
    let counts = [window.due, window.completed, window.failed, window.in_flight];
    let second = format!("{:.0}", window.start_s);
    let counts = counts.map(|count| count.to_string());
    std::iter::once(second).chain(counts).chain(times).collect()
}
