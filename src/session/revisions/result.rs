//! What two revisions differ by, in the shape that every comparison is printed in.
//!
//! In: what was measured. Out: a [`CompareReport`]. Computes only.

use super::error::Named;
use super::ready::Ready;
use crate::place::Place;
use crate::search::{RevisionFigure, Revisions, RevisionsAnswer};
use crate::summary::compared;
use crate::terms::{
    ChangeReason, CompareNote, CompareReport, ComparedFigure, ComparedSide, Configuration,
    Difference, FigureKind, NamedPart, PlannedValue, RevisionsMeasured, Standing, Stated, Warning,
};

/// Two revisions that were measured.
pub struct Compared<'a> {
    pub sides: &'a [Named; 2],
    pub both: &'a [Ready; 2],
    pub at: Configuration,
    pub search: &'a Revisions,
    pub elapsed_s: f64,
    pub warnings: Vec<Warning>,
}

impl Compared<'_> {
    /// `notes`: known before it was measured.
    pub fn report(self, mut notes: Vec<CompareNote>) -> CompareReport {
        let answer = self.search.answer();
        if self.search.is_goal_out_of_reach() {
            notes.push(CompareNote::GoalOutOfReach);
        }
        if answer.change == Standing::Undecided {
            notes.extend(self.search.short_budget());
        }
        let mut figures: Vec<_> = answer.figures.iter().map(figure).collect();
        figures.extend(failures(&answer));
        CompareReport {
            a: self.side(0),
            b: self.side(1),
            change: Some(answer.change),
            reason: reason(&answer).into(),
            refused: Vec::new(),
            figures,
            left_out: Vec::new(),
            differences: self.differences().into_iter().map(Stated::from).collect(),
            notes: notes.into_iter().map(Stated::from).collect(),
            revisions: Some(RevisionsMeasured {
                blocks: answer.blocks,
                rate_rps: answer.rate_rps,
                elapsed_s: self.elapsed_s,
                warnings: self.warnings,
            }),
        }
    }

    fn side(&self, at: usize) -> ComparedSide {
        let (Named { name, commit }, ready) = (&self.sides[at], &self.both[at]);
        let goals = ready.plan.goals().with_common(self.search.slo());
        ComparedSide {
            name: name.clone(),
            commit: Some(commit.0.clone()),
            server: Some(server(ready)),
            runtime: runtime(ready),
            workers: Some(self.at.workers.get()),
            threads: Some(self.at.threads.get()),
            slo: Some(goals.list()),
            machine: Some(ready.place.machine().clone()),
            ..ComparedSide::default()
        }
    }

    /// What differs besides the code: versions, and the setting that each runs with by itself.
    fn differences(&self) -> Vec<Difference> {
        let [a, b] = self.both;
        let servers = [server(a), server(b)];
        let current = |ready: &Ready| {
            let Configuration { workers, threads } = ready.inspection.current;
            let threads = ready.plan.has_threads.then_some(threads);
            Some(PlannedValue::CurrentSetting { workers, threads })
        };
        let planned = [
            [runtime(a), runtime(b)].map(|it| it.map(PlannedValue::Runtime)),
            [current(a), current(b)],
            // By their own files; both were loaded as A is.
            [a, b].map(|it| Some(PlannedValue::Connection(it.plan.connection))),
        ];
        let planned = planned.into_iter().filter(|[a, b]| a != b);
        let [of_a, of_b] = servers;
        let server = (of_a != of_b).then_some(Difference::NameDiffers {
            what: NamedPart::Server,
            a: of_a,
            b: of_b,
        });
        let planned = planned.map(|[a, b]| Difference::PlannedOtherwise { a, b });
        server.into_iter().chain(planned).collect()
    }
}

fn server(ready: &Ready) -> String {
    format!("{} {}", ready.plan.server, ready.inspection.server_version)
}

fn runtime(ready: &Ready) -> Option<String> {
    Some(ready.inspection.runtime_version.clone()).filter(|it| !it.is_empty())
}

/// A figure in the shape that is printed. One block does not show what blocks differ by.
pub fn figure(found: &RevisionFigure) -> ComparedFigure {
    let is_spread_known = found.ratio.count[0] > 1;
    ComparedFigure {
        figure: found.kind,
        a: found.a,
        b: found.b,
        ratio: Some(found.interval.value),
        ratio_interval: is_spread_known.then(|| found.interval.interval()),
        change: is_spread_known.then_some(found.change),
        observations: found.ratio.count,
        within_blocks: true,
    }
}

/// Said where there were any.
fn failures(answer: &RevisionsAnswer) -> Option<ComparedFigure> {
    let [a, b] = answer.failed;
    (a.1 + b.1 > 0).then(|| ComparedFigure {
        figure: FigureKind::Errors,
        a: share(a),
        b: share(b),
        ratio: (a.1 > 0).then(|| share(b) / share(a)),
        ratio_interval: None,
        change: Some(answer.of_failures),
        observations: [a.0, b.0],
        within_blocks: true,
    })
}

/// Of requests that were due, and those of them that failed.
fn share((due, failed): (u64, u64)) -> f64 {
    failed as f64 / due.max(1) as f64
}

fn reason(answer: &RevisionsAnswer) -> ChangeReason {
    if let Some(fault) = &answer.fault {
        return fault.clone();
    }
    if answer.decided_by == Some(FigureKind::Errors) {
        return of_failures(answer);
    }
    let of = |kind: FigureKind| answer.figures.iter().find(|it| it.kind == kind);
    let Some(decisive) = answer.decided_by.and_then(of) else {
        return ChangeReason::TooFewBlocks;
    };
    let more = decisive.ratio.more_to_decide(decisive.band);
    let figure = (decisive.kind, decisive.band);
    compared::reason(answer.change, figure, (decisive.ratio.count, more))
}

/// Where the share of requests that failed decides it, or leaves it open.
fn of_failures(answer: &RevisionsAnswer) -> ChangeReason {
    match answer.change {
        Standing::Worse => ChangeReason::MoreRequestsFail,
        Standing::Better => ChangeReason::FewerRequestsFail,
        Standing::Equivalent | Standing::Undecided => ChangeReason::FailuresUndecided {
            failed_ratio: answer.failed.map(share),
            failed_ratio_max: answer.failed_ratio_max,
        },
    }
}
