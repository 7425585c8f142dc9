//! What an experiment is and what its article found, for people: nothing is run.
//!
//! In: a lab. Out: text.

use crate::lab::{self, Lab};
use crate::report::document::lab::in_words;
use crate::report::figures;
use crate::report::outside::wrap;

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
    text +=
        &("\n".to_string() + &wrap(&format!("the rule: {}", definition.rule), WIDTH).join("\n"));
    text + "\n"
}

fn indented(text: &str) -> String {
    let lines = wrap(text, WIDTH - 4);
    let lines = lines.iter().enumerate();
    lines.map(|(at, line)| format!("  {} {line}\n", if at == 0 { "-" } else { " " })).collect()
}
