//! What is meant to be done later and is forgotten.

use super::source::{Source, words};
use super::{Finding, Rule, try_out};

const NOTES: Rule = Rule {
    name: "no FIXME, and a TODO names its issue",
    why: "a note in the code is read by nobody who decides what is done next",
    instead: "mend it now, or write `TODO(#12): ...` with the issue that holds it",
    find: |tree| tree.sources.iter().flat_map(notes).collect(),
};

const SILENCED: Rule = Rule {
    name: "no test is ignored and no dead code is allowed",
    why: "an ignored test tests nothing, and dead code is read, compiled and kept up for nothing",
    instead: "make the test pass or remove it; remove the code: git keeps it",
    find: |tree| tree.sources.iter().flat_map(silenced).collect(),
};

fn notes(source: &Source) -> Vec<Finding> {
    let fixmes = words(&source.comments, "FIXME").map(|offset| (offset, "FIXME"));
    let todos = words(&source.comments, "TODO").map(|offset| (offset, "TODO"));
    let names_issue = |offset: usize| {
        let after = source.comments[offset..].strip_prefix("TODO(#").unwrap_or("");
        after.starts_with(|first: char| first.is_ascii_digit())
    };
    let mut places: Vec<_> =
        fixmes.chain(todos).filter(|(offset, _)| !names_issue(*offset)).collect();
    places.sort();
    places.iter().map(|(offset, name)| source.finding(*offset, name)).collect()
}

fn silenced(source: &Source) -> Vec<Finding> {
    let attributes = source.code.match_indices('#').filter_map(|(offset, _)| {
        let rest = source.code[offset + 1..].trim_start_matches('!');
        let inside = rest.strip_prefix('[')?;
        Some((offset, &inside[..inside.find(']')?]))
    });
    let is_silencing = |inside: &str| {
        words(inside, "dead_code").next().is_some() || words(inside, "ignore").next().is_some()
    };
    attributes
        .filter(|(_, inside)| is_silencing(inside))
        .map(|(offset, inside)| source.finding(offset, inside.trim()))
        .collect()
}

#[test]
fn notes_without_an_issue_are_found() {
    let bad = "// TODO later\n/* FIXME: now */\n// TODO(somebody): x\nfn a() {}\n";
    let good = "// TODO(#12): when there are two\nfn a() { say(\"TODO\") }\n";
    try_out(&NOTES, &[("src/a.rs", bad)], &[1, 2, 3], &[("src/a.rs", good)]);
}

#[test]
fn silencing_attributes_are_found() {
    let bad = "#![allow(dead_code)]\n#[test]\n#[ignore = \"slow\"]\nfn a() {}\n\
        #[cfg_attr(ci, ignore)]\nfn b() {}\n#[expect(unused, dead_code)]\nfn c() {}\n";
    let good = "#[test]\nfn ignore() {}\n#[expect(unused)]\nfn c() {}\n";
    try_out(&SILENCED, &[("tests/it/a.rs", bad)], &[1, 3, 5, 7], &[("src/a.rs", good)]);
}
