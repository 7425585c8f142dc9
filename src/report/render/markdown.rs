//! A document as a Markdown page that reads well in a pull request.
//!
//! In: a [`Document`]. Out: GitHub-flavoured Markdown; whatever came from outside is shown as text.
//! Computes only.

use crate::report::document::{
    Block, Column, Document, Face, Grid, GridCell, Kind, Medium, Table, tables,
};
use crate::report::outside::{markdown as escape, markdown_block, markdown_code};
use crate::report::wording::Language;

/// A comment on a pull request has at most 65,536 characters: of more trials the last are shown,
/// which confirm the choice, and of more failures the first.
const MOST_TRIALS: usize = 200;
const MOST_FAILURES: usize = 20;

/// The whole page; a blank line stands between its blocks.
pub fn markdown(document: &Document) -> String {
    let mut blocks = Vec::new();
    for section in document.on(Medium::Page) {
        match &section.folded {
            Some(summary) => {
                blocks.push(format!("<details>\n<summary>{}</summary>", escape(summary)));
            }
            None if section.title.is_empty() => {}
            None => blocks.push(format!("## {}", escape(&section.title))),
        }
        blocks.extend(section.blocks.iter().flat_map(|it| block(it, document.language)));
        blocks.extend(section.folded.as_ref().map(|_| "</details>".to_string()));
    }
    blocks.join("\n\n") + "\n"
}

fn block(block: &Block, language: Language) -> Vec<String> {
    if block.is_empty() {
        return Vec::new();
    }
    match block {
        Block::Headline(_, text) => vec![format!("**{}**", escape(text))],
        Block::Paragraph(text) | Block::Small(text) => vec![escape(text)],
        Block::Legend(entries) => vec![escape(&entries.join(" · "))],
        Block::Bullets(items) => vec![list(items.iter().map(|item| escape(item)))],
        Block::Facts(facts) => {
            vec![list(facts.iter().map(|(what, text)| format!("**{what}** {}", escape(text))))]
        }
        Block::Values(values) => vec![list(values.iter().map(|(what, it, kind)| match *what {
            "" => value(it, *kind),
            what => format!("{what}: {}", value(it, *kind)),
        }))],
        Block::Table(it) => vec![table(it)],
        Block::Grid(it) => vec![grid(it)],
        Block::Code { above, syntax, text } => {
            let above = (!above.is_empty()).then(|| format!("{}:", escape(&capital(above))));
            above.into_iter().chain([code(syntax, text)]).collect()
        }
        Block::Logs(logs) => {
            let one = |(what, last): &(String, Vec<String>)| {
                let last = (!last.is_empty()).then(|| code("", &last.join("\n")));
                [format!("{}:", escape(what))].into_iter().chain(last)
            };
            let shown = logs.iter().take(MOST_FAILURES).flat_map(one);
            shown.chain(left_out(logs.len(), MOST_FAILURES, language)).collect()
        }
        Block::Plan(rows) => vec![table(&tables::plan(rows, language))],
        Block::Trials(all) => {
            let shown = &all[all.len().saturating_sub(MOST_TRIALS)..];
            let doubts = self::block(&Block::Bullets(tables::doubts(shown, language)), language);
            let table = [table(&tables::trials(shown, &[tables::P95], language))];
            table
                .into_iter()
                .chain(left_out(all.len(), MOST_TRIALS, language))
                .chain(doubts)
                .collect()
        }
    }
}

fn left_out(count: usize, most: usize, language: Language) -> Option<String> {
    (count > most).then(|| language.phrases().left_out(count - most))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
}

fn code(syntax: &str, text: &str) -> String {
    markdown_block(syntax, text.trim_end()).trim_end().to_string()
}

fn table(table: &Table) -> String {
    let head = table.head.iter();
    let head = head.map(|it| (escape(&it.head), it.kind == Kind::Figure)).collect();
    // A cell ends at a `|`, also where that is code; only there does a backslash before it go.
    let cell = |(it, column): (&String, &Column)| match column.kind {
        Kind::Code => markdown_code(it).replace('|', "\\|"),
        kind => value(it, kind),
    };
    rows(head, table.rows.iter().map(|row| row.iter().zip(&table.head).map(cell).collect()))
}

fn value(text: &str, kind: Kind) -> String {
    match kind {
        Kind::Code => markdown_code(text),
        Kind::Text | Kind::Figure => escape(text),
    }
}

fn grid(grid: &Grid) -> String {
    let head = std::iter::once((grid.corner.to_string(), false))
        .chain(grid.columns.iter().map(|it| (it.clone(), true)));
    let row = |(count, cells): &(String, Vec<GridCell>)| {
        let cell = |it: &GridCell| match it.face {
            Face::Chosen => format!("**{}**", escape(&it.text)),
            _ => escape(&it.text),
        };
        std::iter::once(count.clone()).chain(cells.iter().map(cell)).collect()
    };
    rows(head.collect(), grid.rows.iter().map(row))
}

/// `head`: each column's, and whether it has figures.
fn rows(head: Vec<(String, bool)>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let rule: Vec<&str> = head.iter().map(|(_, is)| if *is { "--:" } else { "---" }).collect();
    let head: Vec<String> = head.iter().map(|(head, _)| head.clone()).collect();
    let lines = [format!("| {} |", head.join(" | ")), format!("|{}|", rule.join("|"))];
    let rows = rows.map(|row| format!("| {} |", row.join(" | ")));
    lines.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_in_code_has_a_backslash_before_it_in_tables_alone() {
        let column = |kind| Column { head: "app".to_string(), kind };
        for (kind, cell) in [(Kind::Code, "`a\\|b`"), (Kind::Text, "a\\|b")] {
            let rows = vec![vec!["a|b".to_string()]];
            let text = table(&Table { head: vec![column(kind)], rows, ..Table::default() });
            assert!(text.ends_with(&format!("\n| {cell} |")), "{text}");
        }
        let values = Block::Values(vec![("app", "a|b".to_string(), Kind::Code)]);
        assert_eq!(block(&values, Language::English), ["- app: `a|b`"]);
    }
}
