//! How long things may be, and how a module begins.

use super::source::Source;
use super::{Finding, Rule, try_out};

const FILE_LINES: usize = 600;
const COLUMNS: usize = 100;

const FILES: Rule = Rule {
    name: "a file has at most 600 lines without its tests",
    why: "a file has one idea; one that is longer has two",
    instead: "split it by what its parts are about, each with a head that says so",
    find: |tree| tree.product().filter_map(long_file).collect(),
};

const LINES: Rule = Rule {
    name: "a line has at most 100 columns",
    why: "two files fit beside each other, and rustfmt doesn't break comments and strings for us",
    instead: "break the sentence, or end the string with a backslash",
    find: |tree| tree.sources.iter().flat_map(long_lines).collect(),
};

const HEADS: Rule = Rule {
    name: "every module of src/ starts with `//!`",
    why: "whoever opens a file for the first time learns which stage it is, what comes in, what \
          goes out and what it must not do",
    instead: "write that head first; if it is hard to write, the file has no one idea",
    // Tests that stand in a file of their own (`tests.rs`) are described by the module they test.
    find: |tree| {
        tree.product().filter(|source| !source.is_test(0)).filter_map(missing_head).collect()
    },
};

fn long_file(source: &Source) -> Option<Finding> {
    let lines = source.lines_without_tests();
    let what = format!("{lines} lines without tests");
    (lines > FILE_LINES).then(|| Finding::new(&source.path, FILE_LINES + 1, what))
}

fn long_lines(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().enumerate();
    let long = lines.map(|(index, line)| (index + 1, line.chars().count()));
    let long = long.filter(|(_, columns)| *columns > COLUMNS);
    long.map(|(line, count)| Finding::new(&source.path, line, format!("{count} columns"))).collect()
}

fn missing_head(source: &Source) -> Option<Finding> {
    let is_there = source.text.starts_with("//! ");
    (!is_there).then(|| Finding::new(&source.path, 1, "no `//!` at the beginning"))
}

#[test]
fn long_files_are_found_and_tests_do_not_count() {
    let line = "// a line\n";
    let bad = line.repeat(FILE_LINES + 1);
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", line.repeat(FILE_LINES));
    let good = line.repeat(FILE_LINES) + &tests;
    try_out(&FILES, &[("src/a.rs", &bad)], &[FILE_LINES + 1], &[("src/a.rs", &good)]);
}

#[test]
fn long_lines_are_found_by_characters_and_not_bytes() {
    let bad = format!("// short\n// {}\n", "x".repeat(COLUMNS - 2));
    let good = format!("// {}\n", "ä".repeat(COLUMNS - 3));
    try_out(&LINES, &[("src/a.rs", &bad)], &[2], &[("tests/it/a.rs", &good)]);
}

#[test]
fn a_missing_head_is_found() {
    let bad = [("src/a.rs", "use std::fmt;\n")];
    let good = [("src/a.rs", "//! What this is.\n"), ("src/a/tests.rs", "use super::*;\n")];
    try_out(&HEADS, &bad, &[1], &good);
}
