//! What `doctor` found, as a table.
//!
//! In: findings. Out: text, in the order of the checks, so that two runs can be laid side by side.

use crate::terms::{Finding, FindingState};

/// A line a check with its mark, its advice below it, and a last line that says whether to go on.
pub fn table(findings: &[Finding], has_colour: bool) -> String {
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

fn conclusion(findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|one| one.state == state).count();
    let doubts = match count(FindingState::Warn) {
        1 => "1 doubt".to_string(),
        doubts => format!("{doubts} doubts"),
    };
    match count(FindingState::Bad) {
        0 if doubts.starts_with('0') => "\nthis machine is fit to measure on\n".to_string(),
        0 => format!("\nfit to measure on, with {doubts}\n"),
        bad => format!("\nnot fit to measure on: {bad} bad, {doubts}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_stand_below_each_other_with_their_advice() {
        let findings = [
            Finding::ok("cores", "cores", "2 of 2"),
            Finding::new(
                "swap",
                FindingState::Warn,
                "swap in use",
                "60 MiB",
                "`swapoff -a` while measuring",
            ),
        ];
        let expected = "ok    cores        2 of 2\nwarn  swap in use  60 MiB\n                   \
                        `swapoff -a` while measuring\n\nfit to measure on, with 1 doubt\n";
        assert_eq!(table(&findings, false), expected);
        assert!(table(&findings, true).contains("\x1b[33mwarn\x1b[0m"));
    }

    #[test]
    fn the_last_line_counts_what_is_bad() {
        let bad = Finding::new("tool", FindingState::Bad, "ruby", "missing", "install it");
        assert!(table(&[bad], false).ends_with("not fit to measure on: 1 bad, 0 doubts\n"));
    }
}
