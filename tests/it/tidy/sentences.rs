//! Sentences that sessions store are told in every language that reports have.

use std::collections::BTreeSet;

use super::{Finding, Rule, Tree, hold, try_out};

const TRANSLATIONS: &str = "src/report/language/sentences/japanese.txt";

/// Rooms whose sentences are stored with a session, and files of others.
const STORED: &[&str] = &[
    "src/summary/",
    "src/search/",
    "src/session/decision.rs",
    "src/session/doctor/classify.rs",
    "src/session/knobs.rs",
    "src/server/advice.rs",
];

/// Fewer are a word of the program's, or a part of a sentence.
const WORDS: usize = 4;

const UNTRANSLATED: Rule = Rule {
    name: "every sentence that a session stores has a translation",
    why: "a report in Japanese that breaks into English says that nobody reads it",
    instead: "add the sentence and its translation to src/report/language/sentences/japanese.txt",
    find: untranslated,
};

const STALE: Rule = Rule {
    name: "every form that is translated is one that the program writes",
    why: "a sentence is told by its form: where that changed, its translation is found no more",
    instead: "change the form in src/report/language/sentences/japanese.txt as well, or remove it",
    find: stale,
};

/// Forms with their lines.
fn forms(tree: &Tree) -> Vec<(usize, String)> {
    let lines = tree.text(TRANSLATIONS).lines().enumerate();
    let said = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    said.step_by(2).map(|(index, line)| (index + 1, line.replace("{#}", "{}"))).collect()
}

fn is_stored(path: &str) -> bool {
    let is_settings = path.starts_with("src/server/") && path.ends_with("/settings.rs");
    is_settings || STORED.iter().any(|stored| path.starts_with(stored))
}

/// Neither what only a defect prints nor lines of a configuration file.
fn is_sentence(before: &str, text: &str) -> bool {
    let is_defect = ["expect(", "panic!(", "assert!("].iter().any(|it| before.ends_with(it));
    let words = text.split(' ').filter(|word| {
        let letters = word.chars().filter(char::is_ascii_alphabetic).count();
        letters > 0 && !word.contains(['{', '}', '=', '<'])
    });
    let is_configuration = ["\n", "# ", "unix:"].iter().any(|it| text.contains(it));
    !is_defect && !is_configuration && words.count() >= WORDS
}

/// What goes on after another sentence is told by itself.
fn joined(text: &str) -> &str {
    text.strip_prefix("; ").unwrap_or(text)
}

fn untranslated(tree: &Tree) -> Vec<Finding> {
    let known: BTreeSet<String> = forms(tree).into_iter().map(|(_, form)| form).collect();
    let mut findings = Vec::new();
    for source in tree.product().filter(|source| is_stored(&source.path)) {
        for (offset, text) in source.strings() {
            let before = source.text[..offset].trim_end();
            if is_sentence(before, &text) && !known.contains(joined(&text)) {
                let (path, line) = (source.path.clone(), source.line(offset));
                findings.push(Finding { path, line, what: format!("\"{text}\"") });
            }
        }
    }
    findings
}

fn stale(tree: &Tree) -> Vec<Finding> {
    let strings = tree.product().flat_map(|source| source.strings());
    let written: BTreeSet<String> = strings.map(|(_, text)| joined(&text).to_string()).collect();
    let gone = forms(tree).into_iter().filter(|(_, form)| !written.contains(form));
    let finding =
        |(line, form)| Finding { path: TRANSLATIONS.into(), line, what: format!("\"{form}\"") };
    gone.map(finding).collect()
}

#[test]
fn sentences_that_are_stored_are_translated() {
    hold(&UNTRANSLATED);
    let known = (TRANSLATIONS, "# a\n\nonly {} of {#} were told\n{2} のうち {1}\n");
    let told = "fn f() { say(\"only {many} of \\\n    {most:.0} were told\") }";
    let other = "fn f() {\n say(\"nothing of this was told\") }";
    let defect = "fn f() { x.expect(\"nothing of this was told\") }";
    try_out(
        &UNTRANSLATED,
        &[known, ("src/search/a.rs", other), ("src/server/b/settings.rs", other)],
        &[2, 2],
        &[known, ("src/search/a.rs", told), ("src/load/a.rs", other), ("src/search/b.rs", defect)],
    );
}

#[test]
fn no_translation_is_of_a_sentence_that_is_gone() {
    hold(&STALE);
    let known = (TRANSLATIONS, "only {} of {#} were told\n{2} のうち {1}\n");
    let gone = "fn f() { say(\"only {a} were told\") }";
    let told = "fn f() { say(\"only {a} of {} were told\") }";
    try_out(&STALE, &[known, ("src/a.rs", gone)], &[1], &[known, ("src/a.rs", told)]);
}
