//! What `sweetspot __guardian` does: it watches over a server that a place has started, or waits
//! for the end of one that does. And what any verb does about those that were killed.

use std::path::Path;

use crate::place::local::{guardian, leftovers};
use crate::report::figures;

/// Takes orders on standard input until it closes, then ends whatever is left of the server; with
/// `after`, a guardian's record and its parent: waits until that guardian has ended.
///
/// # Errors
/// The operating system refuses what the guardian needs.
pub fn run(after: Option<(&Path, u32)>) -> std::io::Result<()> {
    match after {
        None => guardian::run(),
        Some((record, parent)) => guardian::run_after(record, parent),
    }
}

/// Ends what was left behind when an earlier sweetspot and its guardian were killed; a line for
/// each that says so.
pub fn end_abandoned() -> Vec<String> {
    let said = |ended: &leftovers::Ended| {
        let scratch = ended.scratch.display();
        let counts = [
            (ended.processes as u64, "process", "processes"),
            (ended.groups as u64, "control group", "control groups"),
        ];
        let counts = counts.iter().filter(|(count, ..)| *count > 0);
        let counts: String =
            counts.map(|(count, one, many)| figures::count(*count, one, many) + ", ").collect();
        let rest = if ended.is_all { "" } else { "; some of it is there still" };
        format!("ended what a sweetspot that was killed had left: {counts}{scratch}{rest}")
    };
    leftovers::end_abandoned().iter().map(said).collect()
}
