//! Tests of the part of `bench/verdicts.rs` that only computes: what the pairs are that it draws
//! (a bench without a harness runs no tests of its own); and by such pairs, of the verdict on two
//! revisions.

#[path = "../../bench/verdicts/pairs.rs"]
mod pairs;

use std::ops::Range;

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
    let answer = Kind::slower(1.3).answer(7, 1);
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

/// The share of these pairs, a seed each, of whose verdict `is_it` holds after at most this many
/// blocks.
fn share(kind: Kind, blocks_max: u32, seeds: Range<u64>, is_it: fn(Standing) -> bool) -> f64 {
    let pairs = seeds.end - seeds.start;
    let hits = seeds.filter(|seed| is_it(kind.answer(blocks_max, *seed).change)).count();
    hits as f64 / pairs as f64
}

fn is_worse(change: Standing) -> bool {
    change == Standing::Worse
}

fn is_equivalent(change: Standing) -> bool {
    change == Standing::Equivalent
}

#[test]
fn what_fails_in_b_is_hardly_ever_missed_and_what_fails_in_both_is_no_difference() {
    let found = |failing: [Failing; 2], is_it: fn(Standing) -> bool| {
        share(Kind { failing, ..Kind::EQUAL }, 7, 12..212, is_it)
    };
    // Only where the first three starts of B are fine, one in eight.
    let is_fine = |change: Standing| is_equivalent(change) || change == Standing::Better;
    let fine = found([Failing::NONE, Failing::HALF], is_fine);
    assert!(fine <= 0.1, "{fine}");
    let worse = found([Failing::NONE, Failing::always(0.01)], is_worse);
    assert!(worse >= 0.95, "{worse}");
    let changed = found([Failing::HALF; 2], Standing::is_changed);
    assert!(changed <= 0.06, "{changed}");
    // As often as where none fail.
    let equal = found([Failing::always(1e-4); 2], is_equivalent);
    assert!(equal >= 0.73, "{equal}");
}

#[test]
fn equal_revisions_are_hardly_ever_called_different_however_their_p95_and_memory_scatter() {
    let [cpu, capacity, ..] = Kind::EQUAL.sd_log;
    for [p95, memory] in [[0.06, 0.01], [0.12, 0.03], [0.25, 0.06]] {
        let kind = Kind { sd_log: [cpu, capacity, p95, memory], ..Kind::EQUAL };
        for most in [3, 4, 7] {
            let found = share(kind, most, 11..511, Standing::is_changed);
            // 5 %, and what 500 comparisons differ by.
            assert!(found <= 0.06, "{p95}, {memory}, {most} blocks: {found}");
        }
    }
}

#[test]
fn five_percent_more_cpu_a_request_is_found_in_seven_blocks_and_often_in_four() {
    // What it holds shows nothing of it.
    let kind = Kind { cpu_ratio: 1.05, ..Kind::EQUAL };
    for (most, least) in [(4, 0.7), (7, 0.95)] {
        let found = share(kind, most, 11..511, is_worse);
        assert!(found >= least, "{most} blocks: {found}");
    }
}
