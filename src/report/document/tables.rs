//! Trials and plans as tables, for who has columns enough.
//!
//! In: trials of a [`Story`] and their lines, lines of a plan. Out: [`TrialLine`]s and [`Table`]s.
//! Computes only.

use super::{Column, Kind, Table, TrialLine, knobs, names};
use crate::report::figures;
use crate::report::story::{Outcome, Story};
use crate::report::wording::Language;
use crate::report::wording::planned::PlanRow;
use crate::terms::TrialSummary;

/// The quantiles that a line has, in the order of its figures.
pub const QUANTILES: [usize; 3] = [0, P95, 2];
pub const P95: usize = 1;
const NAMES: [&str; 3] = ["p50", "p95", "p99"];

/// What became of one trial.
pub fn trial(story: &Story, trial: &TrialSummary, language: Language) -> TrialLine {
    let say = language.phrases();
    let summary = &trial.summary;
    let windows = summary.windows.iter();
    let measured: Vec<_> =
        windows.filter(|window| window.start_s >= trial.warm_up.left_out_s).collect();
    let latency = &summary.latency_s;
    let latencies = [latency.p50, latency.p95, latency.p99].map(figures::latency);
    let outcome = Outcome::of(trial);
    let is_doubtful = matches!(outcome, Outcome::Undecided | Outcome::NotValid);
    TrialLine {
        id: trial.id,
        configuration: names::name(story, trial.configuration, language),
        has_threads: story.has_threads(),
        changes: knobs::changes(story, trial.variant, language),
        purpose: say.purpose(trial.purpose),
        load: names::offered(&trial.offered, language),
        outcome,
        answered: (summary.completed > 0)
            .then(|| (figures::rate(summary.throughput_rps), latencies)),
        limit: names::limit_title(story, trial.limit.kind, language),
        seconds: [
            measured.iter().map(|window| window.latency_s.p95).collect(),
            measured.iter().map(|window| window.completed as f64).collect(),
        ],
        doubt: is_doubtful.then(|| language.say(&trial.reason)),
    }
}

/// The trials with these of their [`QUANTILES`].
pub fn trials(trials: &[TrialLine], quantiles: &[usize], language: Language) -> Table {
    let (say, labels) = (language.phrases(), language.labels());
    let has_threads = trials.iter().any(|trial| trial.has_threads);
    let setting = if has_threads { labels.workers_x_threads } else { labels.workers };
    let mut head = vec![labels.trial, setting, labels.purpose, labels.outcome, labels.load];
    head.push(labels.answered);
    head.extend(quantiles.iter().map(|at| NAMES[*at]));
    head.push(labels.limit);
    let row = |trial: &TrialLine| {
        let name = match &trial.changes {
            Some(changes) => say.with(&trial.configuration, changes),
            None => trial.configuration.clone(),
        };
        let (purpose, outcome) = (trial.purpose, say.outcome(trial.outcome));
        let mut row = vec![trial.id.to_string(), name, purpose.to_string(), outcome.to_string()];
        let answered = trial.answered.as_ref();
        let or_dash = |text: Option<&String>| text.map_or("-".to_string(), String::clone);
        row.push(trial.load.clone());
        row.push(or_dash(answered.map(|it| &it.0)));
        row.extend(quantiles.iter().map(|at| or_dash(answered.map(|it| &it.1[*at]))));
        row.push(trial.limit.to_string());
        row
    };
    Table::new(&head, 4.., trials.iter().map(row).collect())
}

/// Why trials could not be decided.
pub fn doubts(trials: &[TrialLine], language: Language) -> Vec<String> {
    let doubt = |trial: &TrialLine| {
        let doubt = trial.doubt.as_ref()?;
        Some(format!("{}: {doubt}", language.phrases().trial(trial.id)))
    };
    trials.iter().filter_map(doubt).collect()
}

/// The lines of a plan.
pub fn plan(rows: &[PlanRow], language: Language) -> Table {
    let labels = language.labels();
    let column = |head: String, kind| Column { head, kind };
    let head = vec![
        column(labels.plan.to_lowercase(), Kind::Text),
        column(labels.value.to_string(), Kind::Code),
        column(labels.from.to_string(), Kind::Text),
    ];
    let row = |it: &PlanRow| vec![it.what.clone(), it.value.clone(), it.source.clone()];
    Table { head, rows: rows.iter().map(row).collect(), ..Table::default() }
}
