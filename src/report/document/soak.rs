//! A long run of what is recommended: a sentence, and a table of its parts and its workers.
//!
//! In: a [`Soak`]. Out: unescaped plain text, and a [`Section`]. Computes only.

use std::time::Duration;

use super::{Block, Section, Table};
use crate::report::figures;
use crate::report::wording::{Language, Lasted, Soaked};
use crate::terms::{Soak, SoakPart, Trend, WorkerTrend};

/// What was sent for how long, and whether latency, memory and workers lasted.
pub fn sentence(soak: &Soak, language: Language) -> String {
    let say = language.phrases();
    let full_in = soak.memory_full_in_s.map(|seconds| far_off(seconds, language));
    let ended = soak.ended.as_ref().map(|why| language.say(why));
    say.soak(&Soaked {
        rate: &figures::rate(soak.rate_rps),
        time: &say.span(soak.lasted_s()),
        asked: &say.span(soak.asked_s),
        requests: soak.requests(),
        failed: soak.failed(),
        missed: (soak.parts_missed() > 0).then_some((soak.parts_missed(), soak.parts.len())),
        latency: soak.latency_s_p95.map(|it| lasted(&it, figures::latency, language)),
        memory: soak.memory_bytes.map(|it| lasted(&it, bytes, language)),
        full_in: full_in.as_deref(),
        workers_replaced: soak.workers_replaced,
        ended: ended.as_deref(),
    })
}

/// Each part, then each worker.
pub fn section(soak: &Soak, language: Language) -> Section {
    let labels = language.labels();
    let head = [labels.at, labels.due, labels.errors, "p50", "p95", labels.memory];
    let parts = Table::new(&head, .., soak.parts.iter().map(row).collect());
    let head = [labels.worker_process, labels.at_first, labels.at_the_end, labels.growth_an_hour];
    let workers = soak.workers_memory.iter().map(|it| worker_row(it, language)).collect();
    let blocks = [parts, Table::new(&head, 1.., workers)].map(Block::Table).to_vec();
    let rate = figures::rate(soak.rate_rps);
    Section::new(language.phrases().over_the_time(&rate), blocks)
}

/// A trend in words; its growth only where something grows for certain.
fn lasted(trend: &Trend, shown: fn(f64) -> String, language: Language) -> Lasted {
    let grows = trend.certain().filter(|(per_hour, _)| *per_hour > 0.0);
    let growth = grows.map(|(per_hour, ends)| an_hour(per_hour, ends, shown, language));
    Lasted { first: shown(trend.first), last: shown(trend.last), growth }
}

/// From two days on in days.
fn far_off(seconds: f64, language: Language) -> String {
    const DAY_S: f64 = 86_400.0;
    let say = language.phrases();
    if seconds < 2.0 * DAY_S { say.span(seconds) } else { say.days((seconds / DAY_S) as u64) }
}

/// `12 MiB (3 MiB to 21 MiB)`.
fn an_hour(per_hour: f64, ends: [f64; 2], shown: fn(f64) -> String, language: Language) -> String {
    let signed = |value: f64| match value < 0.0 {
        true => format!("-{}", shown(-value)),
        false => shown(value),
    };
    let [low, high] = ends.map(signed);
    format!("{} ({})", signed(per_hour), language.phrases().between(&low, &high))
}

fn row(part: &SoakPart) -> Vec<String> {
    let latency = |seconds: Option<f64>| seconds.map(figures::latency).unwrap_or_default();
    vec![
        figures::clock(Duration::from_secs_f64(part.ended_s.max(0.0))),
        part.requests.to_string(),
        part.failed.to_string(),
        latency(part.latency_s_p50),
        latency(part.latency_s_p95),
        part.memory_bytes.map(figures::bytes).unwrap_or_default(),
    ]
}

fn worker_row(worker: &WorkerTrend, language: Language) -> Vec<String> {
    let Trend { first, last, per_hour, per_hour_interval } = worker.memory_bytes;
    let growth = per_hour.zip(per_hour_interval);
    let growth = growth.map(|(per_hour, ends)| an_hour(per_hour, ends, bytes, language));
    vec![worker.pid.to_string(), bytes(first), bytes(last), growth.unwrap_or_default()]
}

fn bytes(value: f64) -> String {
    figures::bytes(value.round() as u64)
}
