//! Tests of the part of `bench/tune.rs` that only computes: when two tunes agree. (A bench without
//! a harness runs no tests of its own.)

#[path = "../../bench/tune/judge.rs"]
pub mod judge;
#[path = "../../bench/tune/rows.rs"]
pub mod rows;

use judge::{Agreement, Judged};
use rows::{Phase, Row};

use crate::common::bars;
use crate::common::rows::Rows;
use crate::common::workload::WORKLOADS;

fn row(phase: Phase, round: u32, (workers, threads): (u16, u16), capacity_rps: f64) -> Row {
    Row {
        workload: WORKLOADS[0].name.into(),
        phase,
        round,
        workers,
        threads,
        capacity_rps,
        low_rps: 0.9 * capacity_rps,
        high_rps: 1.1 * capacity_rps,
        seconds: 10.0,
        load_s: 8.0,
        asked_s: 60.0,
    }
}

/// A grid of three cells, the second at 97 % of the first and the third at 80 %; and tunes.
fn judged(folder: &tempfile::TempDir, choices: &[(u16, u16)]) -> Judged {
    let mut rows = Rows::of_build(&folder.path().join("rows.csv"), "one").unwrap();
    for (cell, rps) in [((2, 4), 100.0), ((4, 2), 97.0), ((1, 8), 80.0)] {
        rows.add(row(Phase::Grid, 1, cell, rps)).unwrap();
    }
    // A tune prints what it likes of its own choice.
    for (round, choice) in (1..).zip(choices) {
        rows.add(row(Phase::Tune, round, *choice, 100.0)).unwrap();
    }
    for (round, sign) in (1..=6).zip([1.0, -1.0].into_iter().cycle()) {
        for cell in [(2, 4), (4, 2), (1, 8)] {
            rows.add(row(Phase::Blocks, round, cell, 100.0 + 0.1 * sign)).unwrap();
        }
    }
    Judged::of(&WORKLOADS[0], &rows).unwrap()
}

#[test]
fn tunes_agree_by_what_the_grid_measured_of_their_choices_and_by_nothing_else() {
    for (choices, expected, does_agree) in [
        ([(2, 4), (2, 4)], Agreement::Same, true),
        ([(2, 4), (4, 2)], Agreement::AsGood([1.0, 0.97]), true),
        ([(4, 2), (1, 8)], Agreement::Other([0.97, 0.8]), false),
        ([(1, 8), (2, 4)], Agreement::Other([0.8, 1.0]), false),
        ([(2, 4), (3, 3)], Agreement::Other([1.0, 0.0]), false),
    ] {
        let judged = judged(&tempfile::tempdir().unwrap(), &choices);
        assert_eq!(judged.agreements(), [(1, 2, expected)], "{choices:?}");
        let missed = bars::check(&judged.bars()).err().map(|it| it.to_string());
        let is_missed = missed.is_some_and(|it| it.contains("nor as good"));
        assert_eq!(is_missed, !does_agree, "{choices:?}");
    }
}

#[test]
fn a_tune_that_chose_nothing_does_not_agree() {
    let judged = judged(&tempfile::tempdir().unwrap(), &[(2, 4), (0, 0)]);
    let missed = bars::check(&judged.bars()).unwrap_err().to_string();
    assert!(missed.contains("without a choice"), "{missed}");
}
