//! The figures of an experiment's run in a line.
//!
//! In: figures. Out: unescaped text in English. Computes only.

use crate::report::figures;
use crate::terms::LabFigures;

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
