//! A session as tables for spreadsheets: the trials alone, or every table.
//!
//! In: a [`Story`]. Out: CSV (RFC 4180 quoting, a header, line feeds). Computes only. An empty
//! field is a value that is not known or does not apply. `docs/reports.md` has every column.

mod tables;

use crate::report::document::goals;
use crate::report::outside;
use crate::report::story::Story;
use crate::report::wording::{Language, codes};
use crate::terms::{Change, Offered, TrialSummary};
pub use tables::{Table, tables};

const HEADER: &[&str] = &[
    "id",
    "workers",
    "threads",
    "purpose",
    "start",
    "offered_load_rps",
    "clients",
    "verdict",
    "valid",
    "duration_s",
    "warm_up_s",
    "due",
    "completed",
    "errors",
    "failed",
    "throughput_rps",
    "goodput_rps",
    "latency_s_p50",
    "latency_s_p95",
    "latency_s_p99",
    "latency_s_max",
    "cpu_s_master",
    "cpu_s_worker",
    "cpu_s_other",
    "cpu_s_generator",
    "memory_bytes",
    "limit_kind",
    "limit_confidence",
    "limit_evidence",
    "reason",
    "ended_s",
    "goals",
    "changes",
];

/// All trials, a row each, oldest first.
pub fn render(story: &Story) -> String {
    let mut text = HEADER.join(",");
    text.push('\n');
    for trial in &story.trials {
        text.push_str(&row(trial, &story.changes).join(","));
        text.push('\n');
    }
    text
}

fn row(trial: &TrialSummary, changes: &[Change]) -> Vec<String> {
    let summary = &trial.summary;
    let cpu = |role: &str| optional(trial.cpu_s.get(role));
    let clients = match trial.offered {
        Offered::Closed { clients, .. } => Some(clients),
        Offered::Open { .. } => None,
    };
    vec![
        trial.id.to_string(),
        trial.configuration.workers.to_string(),
        trial.configuration.threads.to_string(),
        codes::purpose(trial.purpose).to_string(),
        trial.start.to_string(),
        optional(trial.offered.rate().map(|rate| rate.as_per_second())),
        optional(clients),
        codes::verdict_name(trial.verdict).to_string(),
        trial.valid.to_string(),
        summary.duration_s.to_string(),
        trial.warm_up.left_out_s.to_string(),
        summary.due.to_string(),
        summary.completed.to_string(),
        summary.errors.total().to_string(),
        summary.failed().to_string(),
        summary.throughput_rps.to_string(),
        optional(summary.goodput_rps),
        summary.latency_s.p50.to_string(),
        summary.latency_s.p95.to_string(),
        summary.latency_s.p99.to_string(),
        summary.latency_s.max.to_string(),
        cpu("master"),
        cpu("worker"),
        cpu("other"),
        cpu("generator"),
        optional(trial.memory_bytes),
        codes::limit(trial.limit.kind).to_string(),
        trial.limit.confidence.to_string(),
        outside::csv(&Language::DATA.say(&trial.limit.evidence)),
        outside::csv(&Language::DATA.say(&trial.reason)),
        trial.ended_s.to_string(),
        outside::csv(&goals::lines(&summary.goals, Language::English).join("; ")),
        outside::csv(&trial.variant.names(changes).join(" ")),
    ]
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
