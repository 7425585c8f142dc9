//! What an experiment is and what its article found, for people: nothing is run.
//!
//! In: a lab. Out: text.

use crate::lab::{self, Lab};
use crate::report::figures;
use crate::report::outside::wrap;
use crate::terms::LabFigures;

const WIDTH: usize = 80;

/// The published figures and conclusion, and what would be run here.
pub fn show(lab: &Lab, cores: u16) -> String {
    let definition = &lab.definition;
    let mut text = format!("{}: {}\n", lab.name, definition.title);
    let mut say = |sentence: &str| text += &(wrap(sentence, WIDTH).join("\n") + "\n");
    say(&format!("source: {}", definition.source));
    say(&format!("the article ran on: {}", definition.machine));
    let proxy = if definition.behind_nginx { " behind nginx" } else { "" };
    let (quick, full) = (lab.entry(cores).quick_s, lab.entry(cores).full_s);
    let runs = |is_quick| lab::runs(definition, is_quick, cores).len();
    say(&format!(
        "here: {}{proxy}, {} runs in about {}; with --quick {} in about {}",
        definition.server,
        runs(false),
        figures::span(full),
        runs(true),
        figures::span(quick),
    ));
    for note in &definition.notes {
        say(&format!("note: {note}"));
    }
    if lab.published.count() > 0 {
        text += "\npublished:\n";
        for (setting, figures) in lab.published.rows() {
            text += &format!("  {setting}: {}\n", in_words(&figures));
        }
    }
    if !lab.published.findings.is_empty() {
        text += "\nfound there:\n";
        for finding in &lab.published.findings {
            text += &indented(finding);
        }
    }
    text += "\nlooked at here:\n";
    for conclusion in &definition.conclusion {
        text += &indented(&conclusion.says);
    }
    text += &("\n".to_string()
        + &wrap(&format!("the article's rule: {}", definition.rule), WIDTH).join("\n"));
    text + "\n"
}

fn indented(text: &str) -> String {
    let lines = wrap(text, WIDTH - 4);
    let lines = lines.iter().enumerate();
    lines.map(|(at, line)| format!("  {} {line}\n", if at == 0 { "-" } else { " " })).collect()
}

fn in_words(figures: &LabFigures) -> String {
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
