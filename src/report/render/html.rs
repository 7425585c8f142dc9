//! A document as plain HTML: what is read of a file where no script runs.
//!
//! In: a [`Document`]. Out: markup in which every value is escaped. Computes only.

use maud::{Markup, html as markup};

use crate::report::document::{Block, Document, Medium, Section, Table, tables};
use crate::report::outside::{line, lines};
use crate::report::wording::Language;

/// The whole document.
pub fn html(document: &Document) -> Markup {
    markup! { @for it in document.on(Medium::Page) { (section(it, document.language)) } }
}

fn section(section: &Section, language: Language) -> Markup {
    markup! {
        @if !section.title.is_empty() { h2 { (line(&section.title)) } }
        @for it in section.blocks.iter().filter(|it| !it.is_empty()) { (block(it, language)) }
    }
}

fn block(block: &Block, language: Language) -> Markup {
    match block {
        Block::Headline(_, text) => markup! { h1 { (line(text)) } },
        Block::Paragraph(text) => markup! { p { (line(text)) } },
        Block::Small(text) => markup! { p { small { (line(text)) } } },
        Block::Legend(entries) => markup! { p { small { (entries.join(" · ")) } } },
        Block::Bullets(items) => markup! { ul { @for item in items { li { (line(item)) } } } },
        Block::Facts(facts) => {
            rows(&[], facts.iter().map(|(what, text)| vec![what.to_string(), text.clone()]))
        }
        Block::Values(values) => markup! {
            ul { @for (what, value, _) in values {
                li { @if !what.is_empty() { (what) ": " } (line(value)) }
            } }
        },
        Block::Table(it) => table(it),
        Block::Grid(grid) => {
            let head: Vec<&str> =
                std::iter::once(grid.corner).chain(grid.columns.iter().map(|it| &**it)).collect();
            rows(
                &head,
                grid.rows.iter().map(|(count, cells)| {
                    let cells = cells.iter().map(|cell| cell.text.clone());
                    std::iter::once(count.clone()).chain(cells).collect()
                }),
            )
        }
        Block::Code { above, text, .. } => markup! {
            @if !above.is_empty() { p { (line(above)) } }
            pre { (lines(text.trim_end()).join("\n")) }
        },
        Block::Logs(logs) => markup! {
            @for (what, last) in logs {
                p { (line(what)) }
                @if !last.is_empty() {
                    pre { (last.iter().map(|it| line(it)).collect::<Vec<_>>().join("\n")) }
                }
            }
        },
        Block::Plan(all) => table(&tables::plan(all, language)),
        Block::Trials(all) => {
            let doubts = Block::Bullets(tables::doubts(all, language));
            markup! {
                (table(&tables::trials(all, &tables::QUANTILES, language)))
                @if !doubts.is_empty() { (self::block(&doubts, language)) }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    let head: Vec<&str> = table.head.iter().map(|column| column.head.as_str()).collect();
    rows(&head, table.rows.iter().cloned())
}

fn rows(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    markup! {
        div.wide { table {
            @if head.iter().any(|it| !it.is_empty()) {
                thead { tr { @for it in head { th scope="col" { (it) } } } }
            }
            tbody { @for row in rows {
                tr { @for cell in row { td { (line(&cell)) } } }
            } }
        } }
    }
}
