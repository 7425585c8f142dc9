//! Two results beside each other.
//!
//! In: a [`CompareReport`]. Out: a [`Document`]. Computes only.

use std::time::Duration;

use super::{Block, Document, Section, Table, Tone};
use crate::report::figures;
use crate::report::wording::Language;
use crate::terms::{
    ChangeReason, CompareReport, ComparedFigure, ComparedSide, FigureKind, RevisionsMeasured,
    Standing, code,
};

/// The whole comparison.
pub fn document(report: &CompareReport) -> Document {
    let language = Language::English;
    let tone = match report.change {
        Some(Standing::Better | Standing::Equivalent) => Tone::Good,
        Some(Standing::Worse) => Tone::Bad,
        Some(Standing::Undecided) | None => Tone::Doubtful,
    };
    let mut sides = vec![("A", side(&report.a)), ("B", side(&report.b))];
    if let Some(measured) = &report.revisions {
        sides.push(("at", at(report, measured)));
    }
    let head = ["", "A", "B", "B / A", "(95 % interval)", ""];
    let figures = Table::new(&head, 1..4, report.figures.iter().map(row).collect());
    let sections = vec![
        Section::new("", vec![Block::Headline(tone, in_short(report))]),
        Section::new("", vec![Block::Facts(sides)]),
        Section::new("", vec![Block::Table(figures)]),
        Section::bullets("Why not", language.say_each(&report.refused)),
        Section::bullets("Left out", language.say_each(&report.left_out)),
        Section::bullets("What else differs", language.say_each(&report.differences)),
        Section::bullets("Notes", language.say_each(&report.notes)),
    ];
    Document { language, sections }
}

/// What is worth a comment on a pull request: the verdict, and all else folded below it; `None`
/// where nothing changed.
pub fn comment(report: &CompareReport) -> Option<Document> {
    report.change.filter(|change| change.is_changed())?;
    let mut document = document(report);
    let warnings = Section::bullets(document.language.labels().warnings, warnings(report));
    let details = document.sections.split_off(1).into_iter().chain([warnings]);
    // One fold for all of them: blocks alone, under the name of the list that they were.
    let blocks = details.flat_map(|section| {
        let title = (!section.title.is_empty()).then_some(Block::Small(section.title));
        let is_empty = section.blocks.iter().all(Block::is_empty);
        title.into_iter().chain(section.blocks).filter(move |_| !is_empty).collect::<Vec<_>>()
    });
    let folded = Some("Figures, and how they were measured".to_string());
    let details = Section { folded, ..Section::new("", blocks.collect()) };
    document.sections.push(details);
    Some(document)
}

/// How far a comparison is, in a line; `now`: whose turn it is.
pub fn so_far(now: &str, left: Duration, blocks: u32, figure: Option<&ComparedFigure>) -> String {
    let blocks = figures::count(u64::from(blocks), "block", "blocks");
    let known = figure.and_then(|it| Some(format!(": {} {}", it.figure, short_ratio(it)?)));
    let (known, left) = (known.unwrap_or_default(), figures::clock(left));
    format!("{blocks}{known}; now {now}, {left} left at most")
}

fn short_ratio(one: &ComparedFigure) -> Option<String> {
    let interval = figures::ratio_interval(one.ratio_interval?);
    Some(format!("{} ({interval})", figures::ratio(one.ratio?)))
}

/// What was doubted while it was measured.
pub fn warnings(report: &CompareReport) -> Vec<String> {
    let measured = report.revisions.as_ref();
    measured.map_or_else(Vec::new, |it| Language::English.say_each(&it.warnings))
}

/// What both revisions ran with, and what they were sent.
fn at(report: &CompareReport, measured: &RevisionsMeasured) -> String {
    let mut parts = setup(&report.a);
    parts.extend(measured.rate_rps.map(|rate| format!("p95 at {}", figures::rate(rate))));
    let blocks = figures::count(u64::from(measured.blocks), "block", "blocks");
    parts.push(format!("{blocks} in {}", figures::span(measured.elapsed_s)));
    parts.join("; ")
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
    match &side.commit {
        // What both have in common stands below them.
        Some(commit) => format!("{} ({})", side.name, commit.get(..10).unwrap_or(commit)),
        None => {
            std::iter::once(side.name.clone()).chain(setup(side)).collect::<Vec<_>>().join("; ")
        }
    }
}

fn setup(side: &ComparedSide) -> Vec<String> {
    let mut parts = Vec::new();
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
    parts
}

fn row(one: &ComparedFigure) -> Vec<String> {
    vec![
        one.figure.to_string(),
        value(one.figure, one.a),
        value(one.figure, one.b),
        one.ratio.map_or_else(|| "-".to_string(), figures::ratio),
        one.ratio_interval.map_or_else(
            || "not known".to_string(),
            |it| format!("({})", figures::ratio_interval(it)),
        ),
        one.change.map_or_else(String::new, |change| code(&change)),
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
