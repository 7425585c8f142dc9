//! A document as text for a terminal or a file.
//!
//! In: a [`Document`] and a [`Style`]. Out: lines that keep to the style's width, lines to paste
//! excepted, with colours only where it says so. Computes only.

use super::log::log;
use super::trial::trial;
use super::{Style, grid};
use crate::report::document::{Block, Document, Kind, Medium, Table, Tone};
use crate::report::outside::{line, lines, pad, pad_left, shorten, truncate, width, wrap};
use crate::report::wording::planned::PlanRow;

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
    style.behind("  - ", 4, sentence)
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
    let columns = facts.iter().map(|fact| width(fact.0)).max().unwrap_or(0);
    let of_fact = |(what, sentence): &(&'static str, String)| {
        let label = format!("  {}  ", style.dim(&pad(what, columns)));
        style.behind(&label, columns + 4, sentence)
    };
    facts.iter().flat_map(of_fact).collect()
}

/// Columns that remain of a row's name where its figures need the others.
const NAME_LEAST: usize = 24;

fn table(table: &Table, style: Style) -> Vec<String> {
    let head: Vec<String> = table.head.iter().map(|column| column.head.clone()).collect();
    let mut columns: Vec<usize> = (0..head.len())
        .map(|at| table.rows.iter().chain([&head]).map(|row| width(&row[at])).max().unwrap_or(0))
        .collect();
    let over = columns.iter().map(|it| it + 2).sum::<usize>().saturating_sub(style.columns());
    if let Some(name) = columns.first_mut() {
        // A long name must not push the figures behind it out of sight.
        *name = name.saturating_sub(over).max(NAME_LEAST.min(*name));
    }
    let laid_out = |row: &Vec<String>| {
        let cells = row.iter().zip(&table.head).zip(&columns);
        let cells = cells.map(|((cell, column), columns)| match column.kind {
            Kind::Figure => pad_left(&line(cell), *columns),
            Kind::Text | Kind::Code => pad(&shorten(&line(cell), *columns), *columns),
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
    let columns = rows.iter().map(|row| width(&line(&row.what))).max().unwrap_or(0).min(16);
    let of_row = |PlanRow { what, value, source }: &PlanRow| {
        let source = if source.is_empty() { String::new() } else { format!(" ({})", line(source)) };
        let label = format!("  {}  ", pad(&truncate(&line(what), columns), columns));
        let mut text = style.behind(&label, columns + 4, &format!("{value}{source}"));
        if let Some(last) = text.last_mut()
            && let Some(before) = last.strip_suffix(&source)
        {
            *last = format!("{before}{}", style.dim(&source));
        }
        text
    };
    rows.iter().flat_map(of_row).collect()
}

/// A sentence behind a label that stands out.
pub fn labelled(label: &str, sentence: &str, style: Style) -> Vec<String> {
    style.behind(&format!("{} ", style.yellow(label)), width(label) + 1, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_leaves_the_figures_behind_it_their_columns() {
        let row = |name: &str| [name, "12345", "62 %", "182 ms", "24 ms", "87 %"].map(String::from);
        let name = "api/v1/organizations/memberships#bulk_update";
        let rows = [row(name), row("home#index")].map(Vec::from).to_vec();
        let head = ["", "requests", "of all time", "mean", "CPU", "waits"];
        let text = table(&Table::new(&head, 1.., rows), Style::PLAIN);
        assert!(text.iter().all(|row| width(row) <= 80), "{text:#?}");
        assert!(text[0].ends_with("mean    CPU  waits"), "{text:#?}");
        assert!(text[1].starts_with("  api/v1/o") && text[1].contains("…"), "{text:#?}");
        assert!(text[1].contains("#bulk_update "), "{text:#?}");
        assert!(text[1..].iter().all(|row| row.ends_with("182 ms  24 ms   87 %")), "{text:#?}");
        assert!(text[2].starts_with("  home#index "), "{text:#?}");
    }
}
