//! A comparison as text for people.
//!
//! In: a [`CompareReport`]. Out: text of at most 80 columns, but for names. Computes only.

use super::figures;
use super::outside::{line, pad, pad_left, width, wrap};
use super::wording::Language;
use crate::terms::{
    ChangeReason, CompareReport, ComparedFigure, ComparedSide, FigureKind, Standing,
};

const WIDTH: usize = 80;

/// The whole comparison, ending in a line end.
pub fn result(report: &CompareReport) -> String {
    let mut text = in_short(report);
    text += "\n";
    text += &side("A", &report.a);
    text += &side("B", &report.b);
    if !report.figures.is_empty() {
        text += "\n";
        text += &table(report);
    }
    let language = Language::English;
    for (heading, sentences) in [
        ("Why not", language.say_each(&report.refused)),
        ("Left out", language.say_each(&report.left_out)),
        ("What else differs", language.say_each(&report.differences)),
        ("Notes", language.say_each(&report.notes)),
    ] {
        text += &list(heading, &sentences);
    }
    text
}

/// The verdict in a sentence.
pub fn in_short(report: &CompareReport) -> String {
    let (a, b) = (line(&report.a.name), line(&report.b.name));
    let decisive = report.reason.fact().and_then(ChangeReason::figure);
    let ratio = report.figures.iter().find(|it| Some(it.figure) == decisive).and_then(ratio);
    let ratio = ratio.map_or(String::new(), |ratio| format!("; B / A {ratio}"));
    let verdict = match report.change {
        None => format!("Not compared: {a} and {b}"),
        Some(Standing::Better) => format!("Better: {b} than {a}"),
        Some(Standing::Worse) => format!("Worse: {b} than {a}"),
        Some(Standing::Equivalent) => format!("Equivalent: {b} and {a}"),
        Some(Standing::Undecided) => format!("Undecided: {b} beside {a}"),
    };
    let language = Language::English;
    let why = || language.say(&report.reason);
    let reason = report.refused.first().map_or_else(why, |why| language.say(why));
    sentences(&format!("{verdict}: {reason}{ratio}."))
}

fn side(name: &str, side: &ComparedSide) -> String {
    let mut parts = vec![line(&side.name)];
    if let (Some(workers), Some(threads)) = (side.workers, side.threads) {
        parts.push(format!("{workers} x {threads}"));
    }
    parts.extend(side.server.iter().map(|server| line(server)));
    parts.extend(side.runtime.iter().map(|runtime| line(runtime)));
    parts.extend(side.slo.iter().map(|slo| format!("goal {slo}")));
    if let Some(machine) = &side.machine {
        parts.push(format!("{}, {} cores", line(&machine.cpu_model), machine.cores));
    }
    parts.extend(side.started_at.iter().map(|at| line(at)));
    let mut text = String::new();
    for (at, part) in wrap(&parts.join("; "), WIDTH - 3).iter().enumerate() {
        let name = if at == 0 { name } else { " " };
        text += &format!("{name}  {part}\n");
    }
    text
}

fn table(report: &CompareReport) -> String {
    let head = ["", "A", "B", "B / A", "(95 % interval)", ""].map(String::from);
    let rows: Vec<[String; 6]> =
        std::iter::once(head).chain(report.figures.iter().map(row)).collect();
    let widths: [usize; 6] =
        std::array::from_fn(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let mut shown = pad(&row[0], widths[0]);
        for (field, width) in row[1..4].iter().zip(&widths[1..4]) {
            shown += &format!("  {}", pad_left(field, *width));
        }
        shown += &format!("  {}  {}", pad(&row[4], widths[4]), row[5]);
        text += shown.trim_end();
        text.push('\n');
    }
    text
}

fn row(one: &ComparedFigure) -> [String; 6] {
    let change = one.change.map_or("", |change| match change {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Equivalent => "equivalent",
        Standing::Undecided => "undecided",
    });
    [
        one.figure.to_string(),
        value(one.figure, one.a),
        value(one.figure, one.b),
        one.ratio.map_or_else(|| "-".to_string(), figures::ratio),
        one.ratio_interval.map_or_else(
            || "not known".to_string(),
            |it| format!("({})", figures::ratio_interval(it)),
        ),
        change.to_string(),
    ]
}

fn ratio(one: &ComparedFigure) -> Option<String> {
    let interval = figures::ratio_interval(one.ratio_interval?);
    Some(format!("{} (95 % interval {interval})", figures::ratio(one.ratio?)))
}

fn value(kind: FigureKind, value: f64) -> String {
    match kind {
        FigureKind::Capacity | FigureKind::CurrentCapacity | FigureKind::Throughput => {
            figures::rate(value)
        }
        FigureKind::Gain => figures::ratio(value),
        FigureKind::Memory => figures::bytes(value.round() as u64),
        FigureKind::Errors => figures::percent(value),
        FigureKind::CpuPerRequest
        | FigureKind::LatencyP50
        | FigureKind::LatencyP95
        | FigureKind::LatencyP99 => figures::latency(value),
    }
}

fn list(heading: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{heading}\n");
    for item in items {
        for (at, part) in wrap(item, WIDTH - 4).iter().enumerate() {
            let mark = if at == 0 { "-" } else { " " };
            text += &format!("  {mark} {part}\n");
        }
    }
    text
}

fn sentences(text: &str) -> String {
    wrap(text, WIDTH).join("\n") + "\n"
}
