use super::*;
use crate::report::Language;
use crate::stats::normal;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A Monday, at midnight.
const MONDAY_S: i64 = 1_794_787_200;
const WEEK: usize = 168;

fn side(from_s: i64, block_s: u32, p95: Vec<Option<f64>>, rps: f64) -> Observed {
    let throughput = vec![Some(rps); p95.len()];
    let figures = [(FigureKind::LatencyP95, p95), (FigureKind::Throughput, throughput)];
    Observed { start_s: from_s, block_s, figures: figures.into() }
}

/// So many values around `mean`, apart by 5 %, with a season of a day.
fn values(seed: u64, count: usize, mean: f64) -> Vec<Option<f64>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut noise = || 0.05 * normal::quantile(random.random_range(1e-9..1.0 - 1e-9));
    let season = |block: usize| 0.3 * (block as f64 / 24.0 * std::f64::consts::TAU).sin();
    (0..count).map(|block| Some(mean * (season(block) + noise()).exp())).collect()
}

fn judged(a: &Observed, b: &Observed, design: Design) -> CompareReport {
    let side = ComparedSide::default;
    judge((side(), side()), (a, b), design, Vec::new())
}

fn reason(report: &CompareReport) -> String {
    let why = report.refused.first().map(|why| Language::DATA.say(why));
    why.unwrap_or_else(|| Language::DATA.say(&report.reason))
}

/// A week, and the one after it.
fn weeks(before: f64, after: f64) -> (Observed, Observed) {
    let later_s = MONDAY_S + 7 * DAY_S;
    let a = side(MONDAY_S, 3600, values(1, WEEK, before), 10.0);
    (a, side(later_s, 3600, values(2, WEEK, after), 10.0))
}

#[test]
fn what_hits_both_at_once_falls_out_and_what_hits_one_is_found() {
    let a = side(0, 300, values(1, 144, 0.1), 10.0);
    for (factor, expected) in
        [(1.0, None), (1.2, Some(Standing::Worse)), (0.8, Some(Standing::Better))]
    {
        let b = side(0, 300, values(2, 144, 0.1 * factor), 10.0);
        let report = judged(&a, &b, Design::AtOnce);
        let found = report.change.filter(|it| matches!(it, Standing::Worse | Standing::Better));
        assert_eq!(found, expected, "{factor}: {report:?}");
        let [low, high] = report.figures[0].ratio_interval.unwrap();
        assert!(low < factor && factor < high, "{report:?}");
    }
}

#[test]
fn gaps_are_said_and_too_many_or_too_little_time_is_refused() {
    let a = side(0, 300, values(1, 60, 0.1), 10.0);
    let with_gap = |length: usize| {
        let mut p95 = values(2, 60, 0.1);
        p95[5..5 + length].fill(None);
        judged(&a, &side(0, 300, p95, 10.0), Design::AtOnce)
    };
    let some = with_gap(10);
    assert!(some.notes.contains(&CompareNote::BlocksMissing { missing: 10, possible: 60 }.into()));
    assert!(reason(&with_gap(40)).contains("one after the other, only 20 have"));
    let short = side(0, 300, values(2, 11, 0.1), 10.0);
    let report = judged(&side(0, 300, values(1, 11, 0.1), 10.0), &short, Design::AtOnce);
    assert!(reason(&report).contains("have 11 blocks of 5 min in common"), "{report:?}");
    assert_eq!(report.change, None);
}

#[test]
fn hours_of_the_same_weekday_are_set_beside_each_other() {
    let (a, b) = weeks(0.1, 0.12);
    let report = judged(&a, &b, Design::BeforeAfter);
    assert_eq!(report.change, Some(Standing::Worse), "{report:?}");
    assert_eq!(report.figures[0].observations, [7, 7]);
    let (a, b) = weeks(0.1, 0.1);
    let same = judged(&a, &b, Design::BeforeAfter).change.unwrap();
    assert!(!matches!(same, Standing::Better | Standing::Worse));
    // Wednesday and Thursday have no Monday and Tuesday.
    let a = side(MONDAY_S, 3600, values(1, 48, 0.1), 10.0);
    let b = side(MONDAY_S + 9 * DAY_S, 3600, values(2, 48, 0.1), 10.0);
    assert!(reason(&judged(&a, &b, Design::BeforeAfter)).contains("no day of the later range"));
    let b = side(MONDAY_S + 7 * DAY_S, 3600, values(2, 48, 0.1), 10.0);
    assert!(reason(&judged(&a, &b, Design::BeforeAfter)).contains("2 days can be set beside"));
}

#[test]
fn traffic_that_went_the_same_way_and_a_trend_explain_a_change() {
    let (a, b) = weeks(0.1, 0.13);
    let busier = Observed {
        figures: side(0, 1, b.figures[&FigureKind::LatencyP95].clone(), 15.0).figures,
        ..b.clone()
    };
    let report = judged(&a, &busier, Design::BeforeAfter);
    assert_eq!(report.change, Some(Standing::Undecided));
    assert!(reason(&report).contains("1.50 times as many requests"), "{report:?}");
    // With fewer requests it would rather have become faster.
    let quieter = Observed {
        figures: side(0, 1, b.figures[&FigureKind::LatencyP95].clone(), 8.0).figures,
        ..b
    };
    assert_eq!(judged(&a, &quieter, Design::BeforeAfter).change, Some(Standing::Worse));

    let rising = |from_s: i64, seed: u64, mean: f64| {
        let flat = values(seed, WEEK, mean).into_iter().enumerate();
        let risen = flat.map(|(hour, it)| it.map(|it| it * (0.03 * hour as f64 / 24.0).exp()));
        side(from_s, 3600, risen.collect(), 10.0)
    };
    let a = rising(MONDAY_S, 1, 0.1);
    let b = rising(MONDAY_S + 7 * DAY_S, 2, 0.1 * (0.03_f64 * 7.0).exp());
    let report = judged(&a, &b, Design::BeforeAfter);
    assert_eq!(report.change, Some(Standing::Undecided), "{report:?}");
    assert!(reason(&report).contains("a day, which may be why"), "{report:?}");
}

#[test]
fn more_failed_requests_are_worse_whatever_p95_says() {
    let with_errors = |seed: u64, mean: f64, share: f64| {
        let mut side = side(0, 300, values(seed, 144, mean), 10.0);
        let errors = (0..144).map(|block| Some(share * (1.0 + 0.1 * f64::from(block % 3))));
        side.figures.insert(FigureKind::Errors, errors.collect());
        side
    };
    let report = judged(&with_errors(1, 0.1, 0.0), &with_errors(2, 0.05, 0.02), Design::AtOnce);
    assert_eq!(report.change, Some(Standing::Worse), "{report:?}");
    assert_eq!(reason(&report), "more requests fail");
    let same = judged(&with_errors(1, 0.1, 0.0), &with_errors(2, 0.05, 0.0), Design::AtOnce);
    assert_eq!(same.change, Some(Standing::Better));
}

#[test]
fn more_failed_requests_are_worse_though_traffic_may_be_why_p95_changed() {
    let with_errors = |mut side: Observed, share: f64| {
        let errors = (0..WEEK).map(|hour| Some(share * (1.0 + 0.1 * (hour / 24 % 2) as f64)));
        side.figures.insert(FigureKind::Errors, errors.collect());
        side
    };
    for p95_after in [0.103, 0.13] {
        let (a, b) = weeks(0.1, p95_after);
        let figures = side(0, 1, b.figures[&FigureKind::LatencyP95].clone(), 15.0).figures;
        let busier = Observed { figures, ..b };
        let [a, b] = [with_errors(a, 0.0), with_errors(busier, 0.02)];
        let report = judged(&a, &b, Design::BeforeAfter);
        assert_eq!(report.change, Some(Standing::Worse), "{p95_after}: {report:?}");
        assert_eq!(reason(&report), "more requests fail");
    }
}
