//! A document as text for a terminal or a file.
//!
//! In: a [`Document`] and a [`Style`]. Out: lines that keep to the style's width, lines to paste
//! excepted, with colours only where it says so. Computes only.

use super::{Style, grid, sparkline};
use crate::report::document::{Block, Document, Kind, Medium, Table, Tone, TrialLine};
use crate::report::outside::{line, lines, pad, pad_left, truncate, width, wrap};
use crate::report::story::Outcome;
use crate::report::wording::planned::PlanRow;

/// The last lines of a server's log that are shown.
const LOG_LINES: usize = 10;

/// Rows that one of them may take.
const ROWS_OF_A_LOG_LINE: usize = 3;

/// The whole document; a blank line stands between its sections.
pub fn text(document: &Document, style: Style) -> Vec<String> {
    let mut text = Vec::new();
    for section in document.on(Medium::Terminal) {
        if !text.is_empty() {
            text.push(String::new());
        }
        if !section.title.is_empty() {
            let title = wrap(&section.title, style.columns());
            text.extend(title.iter().map(|part| style.bold(part)));
        }
        text.extend(
            section.blocks.iter().filter(|it| !it.is_empty()).flat_map(|it| block(it, style)),
        );
    }
    text
}

fn block(block: &Block, style: Style) -> Vec<String> {
    match block {
        Block::Headline(tone, text) => {
            let painted = |part: &String| match tone {
                Tone::Good => style.green(part),
                Tone::Doubtful => style.yellow(part),
                Tone::Bad => style.red(part),
            };
            wrap(text, style.columns()).iter().map(painted).collect()
        }
        Block::Paragraph(text) => wrap(text, style.columns()),
        Block::Small(text) => {
            let parts = wrap(text, style.columns() - 2);
            parts.iter().map(|part| style.dim(&format!("  {part}"))).collect()
        }
        Block::Legend(entries) => legend(entries, style),
        Block::Bullets(items) => items.iter().flat_map(|it| bullet(it, style)).collect(),
        Block::Facts(facts) => self::facts(facts, style),
        Block::Values(values) => {
            let one = |(what, value, _): &(&str, String, _)| match *what {
                "" => bullet(value, style),
                what => bullet(&format!("{what}: {value}"), style),
            };
            values.iter().flat_map(one).collect()
        }
        Block::Table(it) if !it.sentences.is_empty() => {
            it.sentences.iter().flat_map(|it| bullet(it, style)).collect()
        }
        Block::Table(it) => table(it, style),
        Block::Grid(it) => grid::lines(it, style),
        Block::Code { above, text, .. } => {
            let pasted = lines(text.trim_end()).into_iter();
            let pasted = pasted.map(|it| format!("    {it}").trim_end().to_string());
            let above = (!above.is_empty()).then(|| format!("  {}", line(above)));
            above.into_iter().chain(pasted).collect()
        }
        Block::Logs(logs) => {
            let one = |(what, last): &(String, Vec<String>)| {
                bullet(what, style).into_iter().chain(log(last, style))
            };
            logs.iter().flat_map(one).collect()
        }
        Block::Plan(rows) => plan(rows, style),
        Block::Trials(trials) => trials.iter().flat_map(|it| trial(it, style)).collect(),
    }
}

fn bullet(sentence: &str, style: Style) -> Vec<String> {
    let parts = wrap(sentence, style.columns() - 4).into_iter().enumerate();
    parts.map(|(at, it)| format!("{}{it}", if at == 0 { "  - " } else { "    " })).collect()
}

fn legend(entries: &[String], style: Style) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for entry in entries {
        match rows.last_mut() {
            Some(row) if width(row) + 3 + width(entry) <= style.columns() => {
                row.push_str("   ");
                row.push_str(entry);
            }
            _ => rows.push(format!("  {entry}")),
        }
    }
    rows.iter().map(|row| style.dim(row)).collect()
}

fn facts(facts: &[(&'static str, String)], style: Style) -> Vec<String> {
    let label = facts.iter().map(|fact| width(fact.0)).max().unwrap_or(0);
    let of_fact = |(what, sentence): &(&'static str, String)| {
        let parts = wrap(sentence, style.columns().saturating_sub(label + 4)).into_iter();
        let labels = std::iter::once(*what).chain(std::iter::repeat(""));
        let row = |(part, what)| format!("  {}  {part}", style.dim(&pad(what, label)));
        parts.zip(labels).map(row).collect::<Vec<_>>()
    };
    facts.iter().flat_map(of_fact).collect()
}

fn table(table: &Table, style: Style) -> Vec<String> {
    let head: Vec<String> = table.head.iter().map(|column| column.head.clone()).collect();
    let columns: Vec<usize> = (0..head.len())
        .map(|at| table.rows.iter().chain([&head]).map(|row| width(&row[at])).max().unwrap_or(0))
        .collect();
    let laid_out = |row: &Vec<String>| {
        let cells = row.iter().zip(&table.head).zip(&columns);
        let cells = cells.map(|((cell, column), columns)| match column.kind {
            Kind::Figure => pad_left(&line(cell), *columns),
            Kind::Text | Kind::Code => pad(&line(cell), *columns),
        });
        let row = format!("  {}", cells.collect::<Vec<_>>().join("  "));
        truncate(row.trim_end(), style.columns())
    };
    let has_head = head.iter().any(|it| !it.is_empty());
    let head = has_head.then(|| style.dim(&laid_out(&head)));
    head.into_iter().chain(table.rows.iter().map(laid_out)).collect()
}

/// What, value, and where the value came from.
fn plan(rows: &[PlanRow], style: Style) -> Vec<String> {
    let label = rows.iter().map(|row| width(&line(&row.what))).max().unwrap_or(0).min(16);
    let value_columns = style.columns().saturating_sub(2 + label + 2);
    let mut text = Vec::new();
    for PlanRow { what, value, source } in rows {
        let source = if source.is_empty() { String::new() } else { format!(" ({source})") };
        let wrapped = wrap(&format!("{value}{source}"), value_columns);
        for (at, part) in wrapped.iter().enumerate() {
            let what = if at == 0 { truncate(&line(what), label) } else { String::new() };
            let is_last = at + 1 == wrapped.len();
            let part = match part.strip_suffix(line(&source).as_str()) {
                Some(value) if is_last && !source.is_empty() => {
                    format!("{value}{}", style.dim(&line(&source)))
                }
                _ => part.clone(),
            };
            text.push(format!("  {}  {part}", pad(&what, label)));
        }
    }
    text
}

/// A server's own last lines, as text.
fn log(last_lines: &[String], style: Style) -> Vec<String> {
    let skipped = last_lines.len().saturating_sub(LOG_LINES);
    last_lines[skipped..]
        .iter()
        .flat_map(|l| log_line(&line(l), style))
        .map(|l| style.dim(&format!("    | {l}")))
        .collect()
}

/// What is wrong often stands at the end of a long line, so it goes on below.
fn log_line(text: &str, style: Style) -> Vec<String> {
    let columns = style.columns() - 6;
    if width(text) <= columns {
        return vec![text.to_string()];
    }
    let mut rows = wrap(text, columns - 2);
    if rows.len() > ROWS_OF_A_LOG_LINE {
        rows.truncate(ROWS_OF_A_LOG_LINE);
        if let Some(last) = rows.last_mut() {
            *last = truncate(&format!("{last} …"), columns - 2);
        }
    }
    rows.iter_mut().skip(1).for_each(|row| row.insert_str(0, "  "));
    rows
}

/// What failed, as it happens, and the last lines of its log.
pub fn failure(what: &str, last_lines: &[String], style: Style) -> Vec<String> {
    let what = wrap(what, style.columns());
    what.iter().map(|part| style.red(part)).chain(log(last_lines, style)).collect()
}

/// A sentence behind a label that stands out.
pub fn labelled(label: &str, sentence: &str, style: Style) -> Vec<String> {
    let parts = wrap(sentence, style.columns().saturating_sub(width(label) + 1)).into_iter();
    let labels = std::iter::once(style.yellow(label));
    let labels = labels.chain(std::iter::repeat(" ".repeat(width(label))));
    labels.zip(parts).map(|(label, part)| format!("{label} {part}")).collect()
}

/// Columns that a trial's figures take before its seconds: `   271/s answered  p95 912 ms`.
const FIGURES: usize = 28;

/// One trial in a line; a second says why when it could not be decided.
pub fn trial(trial: &TrialLine, style: Style) -> Vec<String> {
    let (say, labels) = (style.language.phrases(), style.language.labels());
    let padded = pad(say.outcome(trial.outcome), 13);
    let painted = match trial.outcome {
        Outcome::Held => style.green(&padded),
        Outcome::Measured => padded,
        Outcome::DidNotHold => style.yellow(&padded),
        Outcome::Undecided => style.dim(&padded),
        _ => style.red(&padded),
    };
    // `16 x 16`, or `16 workers`.
    let columns = if trial.has_threads { 7 } else { 3 + width(labels.workers) };
    let configuration = pad(&trial.configuration, columns);
    // What stands before: id, configuration, purpose, load, outcome, and the spaces between.
    let rest = style.columns() - (4 + 2 + columns + 2 + 8 + 2 + 10 + 2 + 13);
    let figures = match &trial.answered {
        None => labels.no_reply.to_string(),
        Some((rate, [_, p95, _])) => say.answered(&pad_left(rate, 7), p95),
    };
    let figures = truncate(&figures, rest);
    let seconds = seconds(trial, rest.saturating_sub(FIGURES), style);
    let figures = if seconds.is_empty() { figures } else { pad(&figures, FIGURES) };
    let mut text = vec![format!(
        "{}  {configuration}  {}  {}  {painted}{figures}{seconds}",
        pad_left(&trial.id.to_string(), 4),
        pad(trial.purpose, 8),
        pad_left(&trial.load, 10),
    )];
    if let Some(doubt) = &trial.doubt {
        let parts = wrap(doubt, style.columns().saturating_sub(6));
        text.extend(parts.iter().map(|part| style.dim(&format!("      {part}"))));
    }
    if let Some(changes) = &trial.changes {
        let with = format!("     {}", say.with("", changes));
        text.push(style.dim(&truncate(&line(&with), style.columns())));
    }
    text
}

/// The measured seconds of a trial as sparklines, as far as `columns` suffice.
fn seconds(trial: &TrialLine, columns: usize, style: Style) -> String {
    let mut text = String::new();
    for (at, values) in trial.seconds.iter().enumerate() {
        if values.len() > 1 && columns >= (at + 1) * (2 + sparkline::COLUMNS) {
            text.push_str(&format!("  {}", style.dim(&sparkline::draw(values))));
        }
    }
    text
}
