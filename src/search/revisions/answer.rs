//! What two revisions differ by, as far as it was measured.
//!
//! Four ratios and the share of requests that fail are looked at, and again after every block: each
//! interval is so much wider that all five of them together cover with 95 % (Bonferroni), and what
//! ends the comparison before its time has to be far surer (Haybittle 1971, Peto 1976).

use super::failures::ShareDifference;
use super::{Revisions, SideFigures};
use crate::search::constants::{
    CPU_SD_LOG, EQUIVALENCE, GUESS_DEGREES, LATENCY_NOTICED, MEMORY_EQUIVALENCE, P95_SD_LOG,
    REVISION_BLOCKS_LEAST, REVISION_CAPACITY_BAND, REVISION_ERROR, REVISION_ERROR_EARLY,
    ROUGH_GUESS_DEGREES, START_SD_LOG,
};
use crate::stats::{Estimate, LogRatio};
use crate::terms::{ChangeReason, FigureKind, Side, Standing};

/// Those that are compared by their ratios.
const FIGURES: [FigureKind; 4] =
    [FigureKind::CpuPerRequest, FigureKind::Capacity, FigureKind::LatencyP95, FigureKind::Memory];
/// The confidence level of each of them, and of failures.
const LEVEL: f64 = 1.0 - REVISION_ERROR / (FIGURES.len() + 1) as f64;
/// The level at which one of them ends the comparison before its time.
const LEVEL_EARLY: f64 = 1.0 - REVISION_ERROR_EARLY / (FIGURES.len() + 1) as f64;

/// One figure of both revisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RevisionFigure {
    pub kind: FigureKind,
    /// Geometric mean over blocks, in base units.
    pub a: f64,
    pub b: f64,
    /// b / a, of blocks that have both.
    pub ratio: LogRatio,
    /// Of the level at which all figures together hold with 95 %.
    pub interval: Estimate,
    pub change: Standing,
    /// What lies this near to one counts as equal.
    pub band: f64,
}

/// The answer at some moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionsAnswer {
    /// Those that were measured; CPU a request and capacity come first.
    pub figures: Vec<RevisionFigure>,
    /// Requests that were due at the rate in whole blocks, and those of them that failed; of A and
    /// B.
    pub failed: [(u64, u64); 2],
    /// The largest share that failed in any block, of A and of B.
    pub failed_ratio_max: [f64; 2],
    pub of_failures: Standing,
    pub change: Standing,
    /// The figure that the change goes by, or that leaves it open; `None`: a fault, or nothing is
    /// known.
    pub decided_by: Option<FigureKind>,
    /// What both were sent, requests/s.
    pub rate_rps: Option<f64>,
    /// Whole blocks, a fresh start of each revision in every one.
    pub blocks: u32,
    /// What ended it, or kept blocks from being whole; `None` also where whole blocks had decided
    /// and it says nothing of B.
    pub fault: Option<ChangeReason>,
    /// It need not be measured further.
    pub(super) is_sure: bool,
}

impl Revisions {
    /// What is known by now.
    pub fn answer(&self) -> RevisionsAnswer {
        let figures: Vec<_> = FIGURES.iter().filter_map(|kind| self.figure(*kind)).collect();
        let failures = ShareDifference::of_blocks(&self.failed());
        let is_enough = self.blocks.len() >= REVISION_BLOCKS_LEAST;
        let of_blocks = match is_enough {
            true => verdict(&figures, failures),
            false => (Standing::Undecided, None),
        };
        // What says nothing of B takes nothing away from what whole blocks have said.
        let is_open = of_blocks.0 == Standing::Undecided;
        let ended_by = self.fault.clone().filter(|it| is_open || of_fault(it).is_changed());
        let (change, decided_by) = match &ended_by {
            Some(fault) => (of_fault(fault), None),
            None => of_blocks,
        };
        let is_sure = match change {
            Standing::Undecided => false,
            // An interval that leaves room for a change is looked at for longer.
            Standing::Equivalent => figures.iter().all(RevisionFigure::seems_equal),
            Standing::Better | Standing::Worse => is_sure_of(change, &figures, failures),
        };
        let again = || self.of_breakdowns().filter(|_| !is_enough && self.breakdowns.len() > 1);
        RevisionsAnswer {
            figures,
            failed: [0, 1].map(|side| total(self.blocks.iter().map(|block| block[side].failed))),
            failed_ratio_max: failures.map_or([0.0; 2], |it| it.worst),
            of_failures: standing_of(failures),
            change,
            decided_by,
            rate_rps: self.rate_rps,
            blocks: self.blocks.len() as u32,
            fault: ended_by.or_else(again),
            is_sure,
        }
    }

    /// Requests that were due at the rate, and those of them that failed, of A and B: of each block
    /// in which both had any.
    fn failed(&self) -> Vec<[(u64, u64); 2]> {
        let failed = self.blocks.iter().map(|[a, b]| [a.failed, b.failed]);
        failed.filter(|[a, b]| a.0 > 0 && b.0 > 0).collect()
    }

    fn figure(&self, kind: FigureKind) -> Option<RevisionFigure> {
        let pair = |[a, b]: &[SideFigures; 2]| {
            let (of_a, of_b) = (a.figure(kind)?, b.figure(kind)?);
            Some((of_a.0, of_b.0, of_a.1 + of_b.1))
        };
        let pairs: Vec<_> = self.blocks.iter().filter_map(pair).collect();
        let ratio = LogRatio::paired(&pairs, guess_degrees(kind))?;
        let mean = |of: fn(&(f64, f64, f64)) -> f64| {
            (pairs.iter().map(|it| of(it).ln()).sum::<f64>() / pairs.len() as f64).exp()
        };
        let found = RevisionFigure {
            kind,
            a: mean(|it| it.0),
            b: mean(|it| it.1),
            ratio,
            interval: ratio.estimate(LEVEL),
            change: Standing::Undecided,
            band: band(kind),
        };
        Some(RevisionFigure { change: found.standing_at(LEVEL), ..found })
    }
}

impl RevisionFigure {
    fn seems_equal(&self) -> bool {
        ((1.0 - self.band)..=(1.0 + self.band)).contains(&self.ratio.value.exp())
    }

    fn seems_worse(&self) -> bool {
        let is_more = self.ratio.value > 0.0;
        !self.seems_equal() && is_more == self.kind.is_less_better()
    }

    fn standing_at(&self, level: f64) -> Standing {
        self.ratio.beside_at(self.band, level).standing(self.kind)
    }
}

impl SideFigures {
    /// The figure of one start, with the variance of its logarithm as it is expected.
    fn figure(&self, kind: FigureKind) -> Option<(f64, f64)> {
        let (value, sd_log) = match kind {
            FigureKind::CpuPerRequest => (self.cpu_s / self.completed as f64, CPU_SD_LOG),
            FigureKind::Capacity => {
                let (rps, sd_log) = self.capacity?;
                (rps, START_SD_LOG.hypot(sd_log))
            }
            FigureKind::LatencyP95 => {
                let logs: f64 = self.p95_s.iter().map(|p95| p95.ln()).sum();
                ((logs / self.p95_s.len() as f64).exp(), P95_SD_LOG)
            }
            FigureKind::Memory => (self.memory_bytes? as f64, MEMORY_EQUIVALENCE),
            _ => return None,
        };
        (value.is_finite() && value > 0.0).then_some((value, sd_log.powi(2)))
    }
}

/// What counts as equal.
fn band(kind: FigureKind) -> f64 {
    match kind {
        FigureKind::Capacity => REVISION_CAPACITY_BAND,
        FigureKind::LatencyP95 => LATENCY_NOTICED,
        _ => EQUIVALENCE,
    }
}

/// How many measured comparisons the expected spread of a figure counts as.
fn guess_degrees(kind: FigureKind) -> f64 {
    match kind {
        FigureKind::LatencyP95 | FigureKind::Memory => ROUGH_GUESS_DEGREES,
        _ => GUESS_DEGREES,
    }
}

fn total(counts: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
}

/// That servers of B alone break down is B's; where those of A do there is nothing to compare with.
fn of_fault(fault: &ChangeReason) -> Standing {
    match fault {
        ChangeReason::ServerDies { side: Side::B }
        | ChangeReason::AnswersNothing { side: Side::B } => Standing::Worse,
        _ => Standing::Undecided,
    }
}

fn standing_of(failures: Option<ShareDifference>) -> Standing {
    failures.map_or(Standing::Undecided, |it| it.standing_at(LEVEL))
}

/// More blocks would not change that it is better or worse: by something whose own change it is,
/// and that is far surer than an answer has to be. What is better ends nothing while another figure
/// seems worse.
fn is_sure_of(
    change: Standing,
    figures: &[RevisionFigure],
    failures: Option<ShareDifference>,
) -> bool {
    let by_figure = |it: &RevisionFigure| it.standing_at(LEVEL_EARLY) == change;
    let by_failures = failures.is_some_and(|it| it.standing_at(LEVEL_EARLY) == change);
    let may_turn = change == Standing::Better && figures.iter().any(RevisionFigure::seems_worse);
    (by_failures || figures.iter().any(by_figure)) && !may_turn
}

/// One figure that is worse is enough, and then one that is better, unless more requests of B seem
/// to fail: those may cost less than what they should have been. For equality CPU a request,
/// capacity and failures have to be known well; memory and p95 need not be.
fn verdict(
    figures: &[RevisionFigure],
    failures: Option<ShareDifference>,
) -> (Standing, Option<FigureKind>) {
    const FAILURES: Option<FigureKind> = Some(FigureKind::Errors);
    let first = |change: Standing| figures.iter().find(|it| it.change == change).map(|it| it.kind);
    let of_failures = standing_of(failures);
    if of_failures == Standing::Worse {
        return (Standing::Worse, FAILURES);
    }
    if let Some(kind) = first(Standing::Worse) {
        return (Standing::Worse, Some(kind));
    }
    if failures.is_some_and(|it| it.seems_worse()) {
        return (Standing::Undecided, FAILURES);
    }
    if let Some(kind) = first(Standing::Better) {
        return (Standing::Better, Some(kind));
    }
    if of_failures == Standing::Better {
        return (Standing::Better, FAILURES);
    }
    let needed = [FigureKind::CpuPerRequest, FigureKind::Capacity];
    let mut needed = figures.iter().filter(|it| needed.contains(&it.kind)).peekable();
    if needed.peek().is_none() {
        return (Standing::Undecided, None);
    }
    match needed.find(|it| it.change != Standing::Equivalent) {
        Some(open) => (Standing::Undecided, Some(open.kind)),
        None if of_failures != Standing::Equivalent => (Standing::Undecided, FAILURES),
        None => (Standing::Equivalent, first(Standing::Equivalent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Form;
    use crate::search::revisions::{Breakdown, tests_plan};
    use crate::terms::Reason;

    fn of_blocks(blocks: Vec<[SideFigures; 2]>) -> Revisions {
        Revisions { blocks, ..Revisions::new(tests_plan(Form::Threads)) }
    }

    /// After as many blocks, in which a request of B takes 30 % more CPU, trials said nothing.
    fn ended_after(blocks: usize) -> RevisionsAnswer {
        let seen = |cpu_s: f64| SideFigures { cpu_s, completed: 1000, ..SideFigures::default() };
        let search = Revisions {
            fault: Some(ChangeReason::TrialsNotValid { why: Reason::NoGoalYet.into() }),
            ..of_blocks((0..blocks).map(|_| [seen(10.0), seen(13.0)]).collect())
        };
        search.answer()
    }

    #[test]
    fn what_whole_blocks_say_stands_though_trials_after_them_said_nothing() {
        let answer = ended_after(4);
        let expected = (Standing::Worse, Some(FigureKind::CpuPerRequest), None);
        assert_eq!((answer.change, answer.decided_by, answer.fault), expected);
    }

    #[test]
    fn from_two_blocks_nothing_is_said_and_why_it_ended_is() {
        let answer = ended_after(2);
        assert_eq!((answer.change, answer.decided_by), (Standing::Undecided, None));
        assert!(matches!(answer.fault, Some(ChangeReason::TrialsNotValid { .. })), "{answer:?}");
    }

    #[test]
    fn a_side_whose_servers_broke_down_twice_is_named_where_that_left_too_few_blocks() {
        let fault = |breakdowns: usize| {
            let breakdowns = vec![(Side::B, Breakdown::Died); breakdowns];
            let answer = Revisions { breakdowns, ..of_blocks(Vec::new()) }.answer();
            assert_eq!(answer.change, Standing::Undecided);
            answer.fault
        };
        assert_eq!(fault(1), None);
        assert_eq!(fault(2), Some(ChangeReason::ServerDies { side: Side::B }));
    }

    /// Four blocks in which B takes seven tenths of A's memory and its p95 is as many times A's;
    /// what is said then, and whether it ends the comparison.
    fn with_less_memory(p95_ratios: [f64; 4]) -> (Standing, bool) {
        let seen = |p95_s: f64, memory_bytes: u64| SideFigures {
            cpu_s: 10.0,
            completed: 1000,
            p95_s: vec![p95_s],
            memory_bytes: Some(memory_bytes),
            ..SideFigures::default()
        };
        let block = |ratio: f64| [seen(0.1, 200_000_000), seen(0.1 * ratio, 140_000_000)];
        let answer = of_blocks(p95_ratios.map(block).into()).answer();
        (answer.change, answer.is_sure)
    }

    #[test]
    fn only_a_figure_whose_own_change_is_the_verdict_ends_the_comparison_early() {
        assert_eq!(with_less_memory([1.0; 4]), (Standing::Better, true));
        // Less memory is beyond doubt and the slower p95 is less sure, and decides.
        assert_eq!(with_less_memory([1.25; 4]), (Standing::Worse, false));
        assert_eq!(with_less_memory([1.6; 4]), (Standing::Worse, true));
        // It may turn out slower.
        assert_eq!(with_less_memory([1.0, 1.3, 1.05, 1.3]), (Standing::Better, false));
    }

    /// Blocks of which so many of 800 requests failed in A and in B; a request of B takes
    /// `cpu_ratio` times the CPU. What is said then, by what, and whether it ends the comparison.
    fn with_failures(
        failed: &[(u64, u64)],
        cpu_ratio: f64,
    ) -> (Standing, Option<FigureKind>, bool) {
        let seen = |cpu_s: f64, failed: u64| SideFigures {
            cpu_s,
            completed: 1000,
            failed: (800, failed),
            ..SideFigures::default()
        };
        let block = |&(a, b): &(u64, u64)| [seen(10.0, a), seen(10.0 * cpu_ratio, b)];
        let answer = of_blocks(failed.iter().map(block).collect()).answer();
        (answer.change, answer.decided_by, answer.is_sure)
    }

    /// In the first of four blocks 30 % of the requests of B failed.
    const BURST_OF_B: [(u64, u64); 4] = [(0, 240), (0, 0), (0, 0), (0, 0)];

    #[test]
    fn equal_figures_are_no_equality_while_failures_are_open() {
        let equal = (Standing::Equivalent, Some(FigureKind::CpuPerRequest), true);
        let open = (Standing::Undecided, Some(FigureKind::Errors), false);
        for (what, failed, expected) in [
            ("none failed", &[(0, 0); 3][..], equal),
            ("one of B's", &[(0, 0), (0, 1), (0, 0)], equal),
            ("one of each", &[(0, 1), (0, 0), (1, 0)], equal),
            ("a burst of B's", &BURST_OF_B, open),
            ("a burst of A's", &[(0, 0), (240, 0), (0, 0), (0, 0)], open),
            ("bursts of both", &[(0, 240), (240, 0), (0, 0), (0, 0)], open),
            ("few of B's in every block", &[(0, 8); 3], open),
        ] {
            assert_eq!(with_failures(failed, 1.0), expected, "{what}");
        }
        let worse = (Standing::Worse, Some(FigureKind::Errors), false);
        assert_eq!(with_failures(&[(0, 8); 5], 1.0), worse);
    }

    #[test]
    fn less_cpu_a_request_is_not_better_while_more_requests_of_b_seem_to_fail() {
        let cpu = Some(FigureKind::CpuPerRequest);
        let open = (Standing::Undecided, Some(FigureKind::Errors), false);
        assert_eq!(with_failures(&[(0, 0); 4], 0.7), (Standing::Better, cpu, true));
        assert_eq!(with_failures(&[(0, 0), (0, 1), (0, 0)], 0.7), (Standing::Better, cpu, true));
        assert_eq!(with_failures(&BURST_OF_B, 0.7), open);
        // More of it is worse, whatever fails.
        assert_eq!(with_failures(&BURST_OF_B, 1.4), (Standing::Worse, cpu, true));
    }
}
