//! What `doctor` found, as a table.
//!
//! In: findings. Out: text, in the order of the checks, so that two runs can be laid side by side.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::report::figures;
use crate::report::wording::{FindingWords, Language};
use crate::terms::{Finding, FindingState, MachineCheck};

/// What was checked, what was found, and how to mend it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingReport {
    /// Stable, for scripts.
    pub code: String,
    pub state: FindingState,
    /// What was checked: "steal".
    pub what: String,
    /// What was found, with its unit: "0.0 % of 1.0 s".
    pub figure: String,
    /// What to do; empty when nothing need be done.
    pub advice: String,
    /// What was found, as a value.
    #[schemars(schema_with = "fact_schema")]
    pub fact: MachineCheck,
}

/// Its fields stand with those of the other facts.
fn fact_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-fact": "MachineCheck" })
}

/// The findings in words, in their order.
pub fn in_words(findings: Vec<Finding>) -> Vec<FindingReport> {
    let in_words = |Finding { state, check }| {
        let FindingWords { what, figure, advice } = Language::DATA.say_finding(&check);
        let advice = if state == FindingState::Ok { String::new() } else { advice };
        FindingReport { code: check.code().into(), state, what, figure, advice, fact: check }
    };
    findings.into_iter().map(in_words).collect()
}

/// A line a check with its mark, its advice below it, and a last line that says whether to go on.
pub fn table(findings: &[FindingReport], has_colour: bool) -> String {
    let width = findings.iter().map(|one| one.what.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for one in findings {
        let mark = mark(one.state, has_colour);
        text += format!("{mark}  {:<width$}  {}", one.what, one.figure).trim_end();
        text.push('\n');
        if !one.advice.is_empty() {
            text += &format!("      {:<width$}  {}\n", "", one.advice);
        }
    }
    text + &conclusion(findings)
}

fn mark(state: FindingState, has_colour: bool) -> String {
    let (word, code) = match state {
        FindingState::Ok => ("ok  ", "32"),
        FindingState::Warn => ("warn", "33"),
        FindingState::Bad => ("bad ", "31"),
    };
    if has_colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_string() }
}

fn conclusion(findings: &[FindingReport]) -> String {
    let count = |state| findings.iter().filter(|one| one.state == state).count();
    let (bad, doubtful) = (count(FindingState::Bad), count(FindingState::Warn));
    let doubts = figures::count(doubtful as u64, "doubt", "doubts");
    match (bad, doubtful) {
        (0, 0) => "\nfit to measure on\n".to_string(),
        (0, _) => format!("\nfit to measure on, with {doubts}\n"),
        _ => format!("\nnot fit to measure on: {bad} bad, {doubts}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_stand_below_each_other_with_their_advice() {
        let cores = MachineCheck::CoresFound { available: 2, online: 2, quota: None };
        let swap = MachineCheck::SwapFound { used_bytes: 60 << 20, total_bytes: 1 << 30 };
        let findings = in_words(vec![
            Finding { state: FindingState::Ok, check: cores },
            Finding { state: FindingState::Warn, check: swap },
        ]);
        let expected = "ok    cores  2 of 2 online\nwarn  swap   60 MiB of 1.0 GiB in use\n\
                        \x20            `swapoff -a` as root while measuring: pages that come back \
                        from disk look like slow requests\n\nfit to measure on, with 1 doubt\n";
        assert_eq!(table(&findings, false), expected);
        assert!(table(&findings, true).contains("\x1b[33mwarn\x1b[0m"));
    }

    #[test]
    fn the_last_line_counts_what_is_bad() {
        let check = MachineCheck::ProgramFound { program: "ruby".into(), path: None };
        let bad = in_words(vec![Finding { state: FindingState::Bad, check }]);
        assert!(table(&bad, false).ends_with("not fit to measure on: 1 bad, 0 doubts\n"));
    }
}
