//! Tests of the part of `bench/diagnosis.rs` that only computes: what counts as right, and when the
//! whole is good enough. (A bench without a harness runs no tests of its own.)

#[path = "../../bench/diagnosis/report.rs"]
mod report;

use report::{Row, Sums, text};
use sweetspot::terms::LimitKind::{self, Backend, Cores, Gvl, Threads, Unknown};

fn row(situation: &str, expected: LimitKind, named: Option<LimitKind>, confidence: f64) -> Row {
    Row {
        situation: situation.into(),
        size: "1 x 5, 20 clients".into(),
        is_control: false,
        expected,
        named,
        confidence,
        evidence: "the worker was busy | all the time".into(),
        unloaded_s: Some(0.01),
        latency_s_p50: Some(0.2),
        throughput_rps: Some(98.0),
        is_valid: Some(true),
        verdict: "no goal was set yet".into(),
        build: "0.1.0".into(),
        note: if named.is_none() { "exit status: 1: no nginx".into() } else { String::new() },
    }
}

fn control(expected: LimitKind, named: LimitKind, confidence: f64) -> Row {
    Row { is_control: true, ..row("light", expected, Some(named), confidence) }
}

#[test]
fn a_situation_is_right_only_when_every_size_of_it_is() {
    let rows = [
        row("gvl", Gvl, Some(Gvl), 0.9),
        row("gvl", Gvl, Some(Cores), 0.3),
        row("cores", Cores, Some(Cores), 0.9),
        row("cores", Cores, Some(Cores), 0.7),
        row("pool", Backend, Some(Unknown), 0.0),
        row("threads", Threads, None, 0.0),
    ];
    let expected = Sums { situations: 4, right: 1, ..Sums::default() };
    assert_eq!(Sums::of(&rows), expected);
}

#[test]
fn a_control_may_say_that_it_does_not_know_and_a_situation_may_not() {
    for (row, is_right, misleads) in [
        (control(Gvl, Gvl, 0.9), true, false),
        (control(Gvl, Unknown, 0.0), true, false),
        (control(Gvl, Threads, 0.5), false, false),
        (control(Unknown, Threads, 0.51), false, true),
        (row("gvl", Gvl, Some(Unknown), 0.0), false, false),
        (row("gvl", Gvl, Some(Threads), 0.9), false, true),
        (row("gvl", Gvl, None, 0.0), false, false),
    ] {
        assert_eq!((row.is_right(), row.misleads()), (is_right, misleads), "{row:?}");
    }
}

#[test]
fn two_situations_may_be_missed_and_none_may_mislead() {
    let enough = Sums { situations: 13, right: 11, controls: 5, controls_right: 5, misleading: 0 };
    assert_eq!(enough.check(), Ok(()));
    for (sums, fault) in [
        (Sums { right: 10, ..enough }, "10 of 13 situations are named right, not 11"),
        (Sums { controls_right: 4, ..enough }, "4 of 5 controls are right"),
        (Sums { misleading: 1, ..enough }, "1 rows are wrong and sure"),
    ] {
        assert_eq!(sums.check(), Err(fault.to_string()));
    }
}

#[test]
fn the_table_has_a_line_a_row_and_says_why_one_is_missing() {
    let rows = [
        row("gvl", Gvl, Some(Gvl), 0.9),
        row("threads", Threads, None, 0.0),
        control(Gvl, Cores, 0.8),
    ];
    let text = text(&["two cores".to_string()], &rows);
    for line in [
        "- two cores",
        "| gvl | 1 x 5, 20 clients | gvl | gvl | 0.90 | yes | the worker was busy   all the time |",
        "| threads | 1 x 5, 20 clients | threads | not measured | 0.00 | **no** | exit status: 1: \
         no nginx |",
        "| light | 1 x 5, 20 clients | gvl or unknown | cores | 0.80 | **no, and sure** | the \
         worker was busy   all the time |",
        "Named right at every size: 1 of 2 situations. Controls right: 0 of 1. Wrong with a \
         confidence above 0.5: 1.",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is missing in:\n{text}");
    }
}
