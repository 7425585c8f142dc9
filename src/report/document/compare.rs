//! Two results beside each other.
//!
//! In: a [`CompareReport`]. Out: a [`Document`]. Computes only.

use super::{Block, Column, Document, Kind, Section, Table, Tone};
use crate::report::figures;
use crate::report::wording::Language;
use crate::terms::{
    ChangeReason, CompareReport, ComparedFigure, ComparedSide, FigureKind, Standing,
};

/// The whole comparison.
pub fn document(report: &CompareReport) -> Document {
    let language = Language::English;
    let tone = match report.change {
        Some(Standing::Better | Standing::Equivalent) => Tone::Good,
        Some(Standing::Worse) => Tone::Bad,
        Some(Standing::Undecided) | None => Tone::Doubtful,
    };
    let sides = vec![("A", side(&report.a)), ("B", side(&report.b))];
    let figures = Block::Table(table(&report.figures));
    let sections = vec![
        Section::new("", vec![Block::Headline(tone, in_short(report))]),
        Section::new("", vec![Block::Facts(sides)]),
        Section::new("", vec![figures]),
        Section::bullets("Why not", language.say_each(&report.refused)),
        Section::bullets("Left out", language.say_each(&report.left_out)),
        Section::bullets("What else differs", language.say_each(&report.differences)),
        Section::bullets("Notes", language.say_each(&report.notes)),
    ];
    Document { language, sections }
}

/// The verdict in a sentence.
pub fn in_short(report: &CompareReport) -> String {
    let (a, b) = (&report.a.name, &report.b.name);
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
    format!("{verdict}: {reason}{ratio}.")
}

fn side(side: &ComparedSide) -> String {
    let mut parts = vec![side.name.clone()];
    if let (Some(workers), Some(threads)) = (side.workers, side.threads) {
        parts.push(format!("{workers} x {threads}"));
    }
    parts.extend(side.server.clone());
    parts.extend(side.runtime.clone());
    parts.extend(side.slo.iter().map(|slo| format!("goal {slo}")));
    let machine = side.machine.as_ref();
    parts.extend(machine.map(|it| format!("{}, {} cores", it.cpu_model, it.cores)));
    parts.extend(match (&side.started_at, &side.ended_at) {
        (Some(from), Some(to)) => Some(format!("{from} to {to}")),
        (from, _) => from.clone(),
    });
    parts.join("; ")
}

fn table(figures: &[ComparedFigure]) -> Table {
    let column = |(head, kind): (&str, Kind)| Column { head: head.to_string(), kind };
    let head = [
        ("", Kind::Text),
        ("A", Kind::Figure),
        ("B", Kind::Figure),
        ("B / A", Kind::Figure),
        ("(95 % interval)", Kind::Text),
        ("", Kind::Text),
    ];
    let rows = figures.iter().map(row).collect();
    Table { head: head.map(column).into(), rows, ..Table::default() }
}

fn row(one: &ComparedFigure) -> Vec<String> {
    let change = one.change.map_or("", |change| match change {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Equivalent => "equivalent",
        Standing::Undecided => "undecided",
    });
    vec![
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
        | FigureKind::LatencyP99
        | FigureKind::LatencyMean
        | FigureKind::QueueTime => figures::latency(value),
    }
}
