//! What two revisions differ by, as far as it was measured.
//!
//! Four ratios are looked at, and again after every block: each interval is so much wider that all
//! four of them together cover with 95 % (Bonferroni), and what ends the comparison before its time
//! has to be far surer (Haybittle 1971, Peto 1976).

use std::cmp::Ordering;

use super::{Revisions, RevisionsFault, Seen};
use crate::search::constants::{
    CPU_SD_LOG, EQUIVALENCE, GUESS_DEGREES, LATENCY_NOTICED, MEMORY_EQUIVALENCE, P95_SD_LOG,
    REVISION_BLOCKS_LEAST, REVISION_CAPACITY_BAND, REVISION_ERROR, REVISION_ERROR_EARLY,
    START_SD_LOG,
};
use crate::stats::{Estimate, LogRatio, binomial};
use crate::terms::{FigureKind, Side, Standing};

/// Those that are compared by their ratios.
const FIGURES: [FigureKind; 4] =
    [FigureKind::CpuPerRequest, FigureKind::Capacity, FigureKind::LatencyP95, FigureKind::Memory];

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
    /// Requests that were due at the rate, and those of them that failed; of A and B.
    pub failed: [(u64, u64); 2],
    pub of_failures: Standing,
    pub change: Standing,
    /// The figure that the change goes by; `None`: failures, a fault, or nothing is known.
    pub decided_by: Option<FigureKind>,
    /// What both were sent, requests/s.
    pub rate_rps: Option<f64>,
    /// Whole blocks, a fresh start of each revision in every one.
    pub blocks: u32,
    /// `None` also where whole blocks had decided before trials said nothing.
    pub fault: Option<RevisionsFault>,
    /// It need not be measured further.
    pub(super) is_sure: bool,
}

impl Revisions {
    /// What is known by now.
    pub fn answer(&self) -> RevisionsAnswer {
        let figures: Vec<_> = FIGURES.iter().filter_map(|kind| self.figure(*kind)).collect();
        let of_failures = of_failures(self.failed[0], self.failed[1]);
        let of_blocks = match self.blocks.len() < REVISION_BLOCKS_LEAST {
            true => (Standing::Undecided, None),
            false => verdict(&figures, of_failures),
        };
        let fault = match &self.fault {
            Some(RevisionsFault::NotValid { .. }) if of_blocks.0 != Standing::Undecided => None,
            fault => fault.clone(),
        };
        let (change, decided_by) = match &fault {
            Some(fault) => (of_fault(fault), None),
            None => of_blocks,
        };
        let is_sure = match change {
            Standing::Undecided => false,
            // An interval that leaves room for a change is looked at for longer.
            Standing::Equivalent => figures.iter().all(RevisionFigure::seems_equal),
            Standing::Better | Standing::Worse => {
                let early = 1.0 - REVISION_ERROR_EARLY / FIGURES.len() as f64;
                let is_sure = |it: &RevisionFigure| it.standing_at(early).is_changed();
                decided_by.is_none() || figures.iter().any(is_sure)
            }
        };
        RevisionsAnswer {
            figures,
            failed: self.failed,
            of_failures,
            change,
            decided_by,
            rate_rps: self.rate_rps,
            blocks: self.blocks.len() as u32,
            fault,
            is_sure,
        }
    }

    fn figure(&self, kind: FigureKind) -> Option<RevisionFigure> {
        let pair = |[a, b]: &[Seen; 2]| {
            let (of_a, of_b) = (a.figure(kind)?, b.figure(kind)?);
            Some((of_a.0, of_b.0, of_a.1 + of_b.1))
        };
        let pairs: Vec<_> = self.blocks.iter().filter_map(pair).collect();
        let ratio = LogRatio::paired(&pairs, GUESS_DEGREES)?;
        let mean = |of: fn(&(f64, f64, f64)) -> f64| {
            (pairs.iter().map(|it| of(it).ln()).sum::<f64>() / pairs.len() as f64).exp()
        };
        let level = 1.0 - REVISION_ERROR / FIGURES.len() as f64;
        let found = RevisionFigure {
            kind,
            a: mean(|it| it.0),
            b: mean(|it| it.1),
            ratio,
            interval: ratio.estimate(level),
            change: Standing::Undecided,
            band: band(kind),
        };
        Some(RevisionFigure { change: found.standing_at(level), ..found })
    }
}

impl RevisionFigure {
    fn seems_equal(&self) -> bool {
        ((1.0 - self.band)..=(1.0 + self.band)).contains(&self.ratio.value.exp())
    }

    fn standing_at(&self, level: f64) -> Standing {
        self.ratio.beside_at(self.band, level).standing(self.kind)
    }
}

impl Seen {
    /// The figure of one start, with the variance of its logarithm as it is expected.
    fn figure(&self, kind: FigureKind) -> Option<(f64, f64)> {
        let (value, sd_log) = match kind {
            FigureKind::CpuPerRequest => (self.cpu_s / self.completed as f64, CPU_SD_LOG),
            FigureKind::Capacity => {
                let capacity = self.capacity?;
                (capacity.rps, START_SD_LOG.hypot(capacity.sd_log))
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

/// Whether the share of requests that failed, `(due, failed)`, changed from A to B beyond doubt.
pub fn of_failures(a: (u64, u64), b: (u64, u64)) -> Standing {
    match binomial::apart(b, a, 0.975) {
        _ if a.0 == 0 || b.0 == 0 => Standing::Undecided,
        Some(Ordering::Greater) => Standing::Worse,
        Some(_) => Standing::Better,
        None if a.1 == 0 && b.1 == 0 => Standing::Equivalent,
        None => Standing::Undecided,
    }
}

/// What B's server does is B's; where A fails there is nothing to compare with.
fn of_fault(fault: &RevisionsFault) -> Standing {
    match fault {
        RevisionsFault::Dies { side } | RevisionsFault::AnswersNothing { side }
            if *side == Side::B =>
        {
            Standing::Worse
        }
        _ => Standing::Undecided,
    }
}

/// One figure that is worse is enough, and then one that is better. For equality CPU a request and
/// capacity have to be known well; memory and p95 need not be.
fn verdict(figures: &[RevisionFigure], of_failures: Standing) -> (Standing, Option<FigureKind>) {
    let first = |change: Standing| figures.iter().find(|it| it.change == change).map(|it| it.kind);
    if of_failures == Standing::Worse {
        return (Standing::Worse, None);
    }
    for change in [Standing::Worse, Standing::Better] {
        if let Some(kind) = first(change) {
            return (change, Some(kind));
        }
    }
    if of_failures == Standing::Better {
        return (Standing::Better, None);
    }
    let needed = [FigureKind::CpuPerRequest, FigureKind::Capacity];
    let mut needed = figures.iter().filter(|it| needed.contains(&it.kind)).peekable();
    if needed.peek().is_none() {
        return (Standing::Undecided, None);
    }
    match needed.find(|it| it.change != Standing::Equivalent) {
        Some(open) => (Standing::Undecided, Some(open.kind)),
        None => (Standing::Equivalent, first(Standing::Equivalent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Form;
    use crate::search::revisions::tests_plan;
    use crate::terms::Reason;

    /// After as many blocks, in which a request of B takes 30 % more CPU, trials said nothing.
    fn ended_after(blocks: usize) -> RevisionsAnswer {
        let seen = |cpu_s: f64| Seen { cpu_s, completed: 1000, ..Seen::default() };
        let search = Revisions {
            blocks: (0..blocks).map(|_| [seen(10.0), seen(13.0)]).collect(),
            fault: Some(RevisionsFault::NotValid { why: Reason::NoGoalYet.into() }),
            ..Revisions::new(tests_plan(Form::Threads))
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
    fn from_one_block_nothing_is_said_and_why_it_ended_is() {
        let answer = ended_after(1);
        assert_eq!((answer.change, answer.decided_by), (Standing::Undecided, None));
        assert!(matches!(answer.fault, Some(RevisionsFault::NotValid { .. })), "{answer:?}");
    }
}
