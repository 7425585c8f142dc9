//! Tests of the part of `bench/verdicts.rs` that only computes: what the pairs are that it draws.
//! (A bench without a harness runs no tests of its own.)

#[path = "../../bench/verdicts/pairs.rs"]
mod pairs;

use sweetspot::search::RevisionsAnswer;
use sweetspot::terms::{FigureKind, Standing};

use pairs::{Failing, Kind};

/// B by A.
fn ratio(answer: &RevisionsAnswer, kind: FigureKind) -> f64 {
    answer.figures.iter().find(|it| it.kind == kind).unwrap().ratio.value.exp()
}

#[test]
fn a_pair_follows_from_its_seed() {
    let at = |seed| Kind::EQUAL.answer(7, seed);
    assert_eq!(at(3), at(3));
    assert_ne!(at(3).figures, at(4).figures);
}

#[test]
fn a_revision_that_takes_more_cpu_holds_as_much_less_and_ends_the_pair_early() {
    let answer = Kind { cpu_ratio: 1.3, ..Kind::EQUAL }.answer(7, 1);
    assert_eq!((answer.change, answer.blocks), (Standing::Worse, 3));
    let [cpu, capacity] = [FigureKind::CpuPerRequest, FigureKind::Capacity];
    assert!((ratio(&answer, cpu) - 1.3).abs() < 0.1, "{answer:?}");
    assert!((ratio(&answer, capacity) - 1.0 / 1.3).abs() < 0.1, "{answer:?}");
    assert!((ratio(&answer, FigureKind::Memory) - 1.0).abs() < 0.1, "{answer:?}");
}

#[test]
fn requests_fail_on_the_side_and_in_as_many_starts_as_was_asked_for() {
    let failing = [Failing::NONE, Failing::always(0.3)];
    let answer = Kind { failing, ..Kind::EQUAL }.answer(7, 1);
    assert_eq!((answer.change, answer.failed[0].1), (Standing::Worse, 0));
    assert!((answer.failed_ratio_max[1] - 0.3).abs() < 0.1, "{answer:?}");
    // In half of the starts, three in a row of some pairs: of these nothing is seen.
    let failing = [Failing::NONE, Failing::HALF];
    let kind = Kind { failing, ..Kind::EQUAL };
    let spared = (0..80).filter(|seed| kind.answer(3, *seed).failed[1].1 == 0).count();
    assert!((2..=22).contains(&spared), "{spared} of 80");
}

#[test]
fn what_fails_for_free_takes_its_share_of_the_cpu_away() {
    let failing = [Failing::NONE, Failing::always(0.3)];
    let kind = Kind { failing, is_failing_free: true, ..Kind::EQUAL };
    let cpu_ratio = ratio(&kind.answer(7, 1), FigureKind::CpuPerRequest);
    assert!((cpu_ratio - 0.7).abs() < 0.07, "{cpu_ratio}");
}
