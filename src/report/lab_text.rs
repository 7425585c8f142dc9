//! A published experiment measured here, as text: what was measured beside what was published, and
//! whether its conclusions hold.
//!
//! In: a result or a run. Out: text of at most 80 columns, but for sentences of the article's own.

use super::figures;
use super::outside::{pad, pad_left, wrap};
use crate::terms::{
    Holds, LabConclusion, LabEntry, LabEvidence, LabFigures, LabResult, LabRun, LabSetting,
};

const WIDTH: usize = 80;

/// The labs there are, a line each with its title below.
pub fn list(entries: &[LabEntry]) -> String {
    let name = |entry: &LabEntry| entry.name.chars().count();
    let width = entries.iter().map(name).max().unwrap_or(0);
    let mut text = String::new();
    for entry in entries {
        text += &format!(
            "{}  {}  quick {}, full {}\n{}  {}\n",
            pad(&entry.name, width),
            pad(&entry.server, 8),
            figures::span(entry.quick_s),
            figures::span(entry.full_s),
            " ".repeat(width),
            entry.title,
        );
    }
    text
}

/// One run as it is told while the experiment goes on.
pub fn progress(index: usize, of: usize, run: &LabRun) -> String {
    let here = match (&run.measured, &run.failure) {
        (Some(measured), failure) => {
            let failure = failure.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
            format!("{}{failure}", in_short(measured))
        }
        (None, failure) => failure.clone().unwrap_or_default(),
    };
    let there = run.published.as_ref().map(|it| format!("; the article: {}", in_short(it)));
    let setting = setting(&run.setting);
    format!("{index}/{of}  {setting}: {here}{}\n", there.unwrap_or_default())
}

fn in_short(figures: &LabFigures) -> String {
    let rate = figures.throughput_rps.map(figures::rate);
    let p95 = figures.latency_s.p95.map(|time| format!("p95 {}", figures::latency(time)));
    let mean = figures.latency_s.mean.map(|time| format!("mean {}", figures::latency(time)));
    let success = figures.success.filter(|share| *share < 1.0);
    let success = success.map(|share| format!("{} good", figures::percent(share)));
    let parts: Vec<String> = [rate, p95.or(mean), success].into_iter().flatten().collect();
    if parts.is_empty() { "no figures".to_string() } else { parts.join(", ") }
}

/// Such as `GET /: 2 x 8, 120/s`.
pub fn setting(setting: &LabSetting) -> String {
    let repeat =
        if setting.repeat > 1 { format!(", again ({})", setting.repeat) } else { String::new() };
    format!("{}: {}{repeat}", setting.target, configuration(setting))
}

fn configuration(setting: &LabSetting) -> String {
    let load = match (setting.rate_rps, setting.clients) {
        (Some(rate), _) => format!("{}/s", figures::number(rate)),
        (None, Some(1)) => "1 client".to_string(),
        (None, clients) => format!("{} clients", clients.unwrap_or_default()),
    };
    let env = setting.env.iter().map(|(name, value)| format!(", {name}={value}"));
    format!("{} x {}, {load}{}", setting.workers, setting.threads, env.collect::<String>())
}

/// The whole result.
pub fn result(result: &LabResult) -> String {
    let mut text = format!("{}: {}\n", result.lab, result.title);
    let machine = &result.machine;
    text += &sentence(&format!(
        "here: {} ({} cores, {}); the article: {}",
        machine.cpu_model, machine.cores, machine.memory_bytes, result.published_machine
    ));
    if let Some(scale) = result.scale {
        text += &sentence(&format!(
            "rates are the article's x {scale:.2}, so that they mean as much work for this machine"
        ));
    }
    let mut series = "";
    for run in &result.runs {
        if run.setting.series != series {
            series = &run.setting.series;
            text += &heading(&result.runs, series);
        }
        text += &row(run);
    }
    text += "\n";
    for conclusion in &result.conclusions {
        text += &self::conclusion(conclusion);
    }
    text += &sentence(&format!("the article's rule: {}", result.rule));
    for warning in &result.warnings {
        text += &sentence(&format!("note: {}; {}", warning.message, warning.advice));
    }
    text
}

fn sentence(text: &str) -> String {
    wrap(text, WIDTH).join("\n") + "\n"
}

const SETTING: usize = 24;

fn heading(runs: &[LabRun], series: &str) -> String {
    let of_series = || runs.iter().filter(|run| run.setting.series == series);
    let is_published = of_series().any(|run| run.published.is_some());
    let here = format!("{} {}", pad(series, SETTING), pad("here", 27));
    let columns = "   req/s  of 1st   good     p95";
    let mut text =
        format!("\n{}\n", if is_published { here + " the article" } else { here }.trim_end());
    text += &" ".repeat(SETTING);
    text += columns;
    if is_published {
        text += &columns[2..];
    }
    text + "\n"
}

fn row(run: &LabRun) -> String {
    let mut label = configuration(&run.setting);
    if run.setting.repeat > 1 {
        label += &format!(" #{}", run.setting.repeat);
    }
    let here = cells(run.measured.as_ref(), run.relative_measured);
    let there = run.published.as_ref().map(|it| cells(Some(it), run.relative_published));
    let there = there.map(|cells| cells[2..].to_string()).unwrap_or_default();
    let line = format!("{}{here}{there}", pad(&label, SETTING));
    let mut text = line.trim_end().to_string() + "\n";
    for one in run.measured.iter().flat_map(|figures| &figures.by_target) {
        let time = |time: Option<f64>| time.map_or("-".to_string(), figures::latency);
        text += &format!(
            "  {} p50 {}  p95 {}  good {}\n",
            pad(&one.target, SETTING),
            time(one.latency_s.p50),
            time(one.latency_s.p95),
            figures::percent(one.success),
        );
    }
    if let Some(used) = run.measured.as_ref().map(used).filter(|used| !used.is_empty()) {
        text += &format!("  {used}\n");
    }
    if let Some(failure) = &run.failure {
        text +=
            &wrap(failure, WIDTH - 2).iter().map(|line| format!("  {line}\n")).collect::<String>();
    }
    text
}

/// CPU of server and services apart, where there are services.
fn used(measured: &LabFigures) -> String {
    if measured.services_cpu_cores.is_empty() {
        return String::new();
    }
    let server = measured.cpu_cores.map(|cores| format!("server {cores:.2}"));
    let services = measured.services_cpu_cores.iter();
    let services = services.map(|(name, cores)| format!("{name} {cores:.2}"));
    let parts: Vec<String> = server.into_iter().chain(services).collect();
    let share =
        measured.cpu_share.map(|share| format!("; machine {} busy", figures::percent(share)));
    format!("cores: {}{}", parts.join(", "), share.unwrap_or_default())
}

/// `   req/s  of 1st   good     p95`.
fn cells(figures: Option<&LabFigures>, relative: Option<f64>) -> String {
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_string());
    let throughput = figures.and_then(|it| it.throughput_rps).map(figures::number);
    let success = figures.and_then(|it| it.success).map(figures::percent);
    let latency = figures.map(|it| it.latency_s);
    let time = latency.and_then(|it| it.p95.or(it.mean)).map(figures::latency);
    let relative = relative.map(|ratio| format!("{ratio:.2}"));
    [(8, throughput), (8, relative), (7, success), (8, time)]
        .map(|(width, value)| pad_left(&text(value), width))
        .concat()
}

/// A conclusion with its figures below.
pub fn conclusion(conclusion: &LabConclusion) -> String {
    let mut text = sentence(&format!("{} {}", mark(conclusion.holds), conclusion.says));
    for evidence in &conclusion.evidence {
        let line = self::evidence(evidence);
        text +=
            &wrap(&line, WIDTH - 4).iter().map(|line| format!("    {line}\n")).collect::<String>();
    }
    text
}

fn mark(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "[holds]",
        Holds::No => "[does not hold]",
        Holds::Undecided => "[undecided]",
    }
}

fn evidence(evidence: &LabEvidence) -> String {
    let value = evidence.value.map_or("not measured".to_string(), |value| format!("{value:.3}"));
    let interval = evidence.interval.map(|[low, high]| format!(" ({low:.3} to {high:.3})"));
    let needed = match (evidence.at_least, evidence.at_most) {
        (Some(low), Some(high)) => format!(", {low} to {high} needed"),
        (Some(low), None) => format!(", at least {low} needed"),
        (None, Some(high)) => format!(", at most {high} needed"),
        (None, None) => String::new(),
    };
    let published = evidence.published.map(|value| format!("; the article: {value:.3}"));
    format!(
        "{}: {value}{}{needed}{}",
        evidence.what,
        interval.unwrap_or_default(),
        published.unwrap_or_default()
    )
}
