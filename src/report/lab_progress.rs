//! What is said while an experiment runs, and figures in a line.
//!
//! In: what happened. Out: unescaped lines in English. Computes only.

use super::figures;
use crate::terms::{LabChoice, LabFigures, LabPair};

pub fn begins(lab: &str, runs: usize, estimated_s: f64) -> String {
    format!("{lab}: {runs} runs, about {} in all\n", figures::span(estimated_s))
}

/// Runs that were measured before.
pub fn taken_up(runs: usize) -> String {
    format!("{runs} of them were measured before and are kept\n")
}

pub fn preparing(what: &str) -> String {
    format!("preparing: {what}\n")
}

/// `cpu_s`: of a request here and in the article.
pub fn scaled(scale: f64, cpu_s: [f64; 2]) -> String {
    let [here, published] = cpu_s.map(|seconds| seconds * 1e3);
    format!(
        "a request costs {here:.1} ms of CPU here and {published:.1} ms in the article: rates are \
         x {scale:.2}\n"
    )
}

pub fn tunes() -> String {
    "tune begins\n".to_string()
}

/// What `tune` chose, beside the article's setting.
pub fn chose(chosen: LabChoice, article: LabChoice) -> String {
    let setting = |it: LabChoice| format!("{} x {}", it.workers, it.threads);
    let (is_same, chosen, article) = (chosen == article, setting(chosen), setting(article));
    match is_same {
        true => format!("chosen: {chosen}, as in the article\n"),
        false => {
            format!("chosen: {chosen}; measuring it again beside the article's {article}\n")
        }
    }
}

pub fn pair(index: u32, of: u32, pair: &LabPair) -> String {
    let rate = |rate: Option<f64>| rate.map_or("none".to_string(), figures::rate);
    let (chosen, article) = (rate(pair.chosen_rps), rate(pair.article_rps));
    format!("{index}/{of}  {chosen} against {article}\n")
}

/// All figures that there are.
pub fn in_words(figures: &LabFigures) -> String {
    let latency = &figures.latency_s;
    let time =
        |name: &str, value: Option<f64>| value.map(|it| format!("{name} {}", figures::latency(it)));
    let share =
        |name: &str, value: Option<f64>| value.map(|it| format!("{name} {}", figures::percent(it)));
    let parts = [
        figures.throughput_rps.map(figures::rate),
        share("good", figures.success),
        time("mean", latency.mean),
        time("p50", latency.p50),
        time("p95", latency.p95),
        time("p99", latency.p99),
        figures.cpu_cores.map(|cores| format!("{cores:.2} cores")),
        share("CPU", figures.cpu_share),
        share("memory", figures.memory_share),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no figures".to_string() } else { parts.join(", ") }
}
