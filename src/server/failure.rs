//! Causes of a failed boot by what a server prints.
//!
//! In: a table of texts and the last lines. Out: the cause. Only computes.

use crate::terms::BootFailureKind;

/// Texts in the log and the cause they prove; the first row that matches wins, so that the more
/// particular cause stands above.
pub type Causes = [(BootFailureKind, &'static [&'static str])];

/// What MariaDB, MySQL and PostgreSQL say when all their connections are taken, in any language.
pub const ALL_CONNECTIONS_TAKEN: &[&str] = &[
    "Too many connections",
    "too many clients already",
    "remaining connection slots are reserved",
];

/// The cause that the last lines prove, if they prove one.
pub fn proven(causes: &Causes, last_lines: &[String]) -> Option<BootFailureKind> {
    let proven = causes.iter().find(|(_, texts)| texts.iter().any(|text| has(last_lines, text)));
    proven.map(|(kind, _)| *kind)
}

/// Does the text stand in one of the lines?
pub fn has(last_lines: &[String], text: &str) -> bool {
    last_lines.iter().any(|line| line.contains(text))
}
