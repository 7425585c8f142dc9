//! Which setting is recommended by all that is known now: what answers the question that was
//! asked, or else what holds most, unless a smaller one holds about as much.
//!
//! In: the ledger, and what the stages know of the choice. Out: a setting, and how it answers.
//! Computes only.

use super::estimates::{best_confirmed, best_of, capacity};
use super::ledger::Ledger;
use super::objective::{self, Pick, Weighed};
use super::ties::lightest;
use crate::stats::{self, Estimate};
use crate::terms::{Configuration, HeldRate, Verdict};

/// How a setting held the rate to be printed.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub configuration: Configuration,
    pub held: Option<HeldRate>,
    /// The last rate that was missed.
    pub missed_rps: Option<f64>,
    /// The rate was the user's, and no other was tried.
    pub is_asked: bool,
    /// Capacity by all that is known, with its 95 % interval.
    pub capacity: Estimate,
}

/// What the stages know of the choice beyond the ledger.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standing<'a> {
    /// What the first block measures, while it is under way.
    pub first_block: Option<&'a [Configuration]>,
    /// How settings held the rate to be printed, the last one last.
    pub endings: &'a [Ending],
}

impl<'a> Standing<'a> {
    /// How the last part came out, if it was about this setting.
    pub fn ending_of(&self, configuration: Configuration) -> Option<&'a Ending> {
        self.endings.iter().rfind(|ending| ending.configuration == configuration)
    }

    /// What is to be held next, and at which rate where that is the user's. `None`: what is
    /// recommended was tried. One that missed the user's rate leaves its place to another that is
    /// likelier to hold it; where there is none, it is to hold a rate of its own.
    pub fn to_hold(self, ledger: &Ledger) -> Option<(Configuration, Option<f64>)> {
        let configuration = to_recommend(ledger, self)?;
        let Some(ending) = self.ending_of(configuration) else {
            let is_out = picked(ledger, self).is_some_and(|it| it.held == Some(Verdict::No));
            let asked_rps = ledger.plan.objective.rate_rps().filter(|_| !is_out);
            return Some((configuration, asked_rps));
        };
        let has_missed = ending.is_asked && ending.held.is_none();
        has_missed.then_some((configuration, None))
    }
}

/// What answers the question that was asked; without one, or without an answer, the highest
/// capacity.
pub(super) fn to_recommend(ledger: &Ledger, standing: Standing<'_>) -> Option<Configuration> {
    let picked = picked(ledger, standing).map(|pick| pick.configuration);
    picked.or_else(|| chosen(ledger, standing.first_block))
}

/// What answers another question than the highest capacity, by all that is known now.
pub(super) fn picked(ledger: &Ledger, standing: Standing<'_>) -> Option<Pick> {
    let asked = ledger.plan.pursues().then_some(&ledger.plan.objective)?;
    objective::choose(asked, &weighed(ledger, standing))
}

/// Every setting that was measured, as far as it is known. Where a rate is asked for, what the last
/// part showed of it has the last word.
pub(super) fn weighed(ledger: &Ledger, standing: Standing<'_>) -> Vec<Weighed> {
    let at_end = |configuration: Configuration| {
        ledger.plan.objective.rate_rps()?;
        Some(standing.ending_of(configuration)?.capacity)
    };
    let weigh = |configuration: Configuration| {
        let cell = &ledger.cells[&configuration];
        Some(Weighed {
            configuration,
            capacity: at_end(configuration).or_else(|| capacity(ledger, configuration))?,
            is_confirmed: !cell.blocks.is_empty(),
            memory_bytes: cell.memory_bytes,
            cpu_per_request_s: cell.cpu_per_request_s,
            p95_s: stats::median(&cell.latencies_s).filter(|_| ledger.plan.pursues()),
        })
    };
    ledger.measured().filter_map(weigh).collect()
}

/// The highest capacity among what was made sure of (else of the race); while the first block is
/// under way the race speaks for those that are still to come. Of those that hold about as much the
/// lightest wins. `first_block`: as in [`Standing`].
fn chosen(ledger: &Ledger, first_block: Option<&[Configuration]>) -> Option<Configuration> {
    let finalist = match first_block {
        Some(all) => best_of(ledger, all.iter().copied().filter(|c| ledger.is_open(c))),
        None => best_confirmed(ledger),
    };
    let best = finalist.or_else(|| best_so_far(ledger))?;
    Some(lightest(ledger, best))
}

/// By whatever is known of each, a burst and the model at the least.
fn best_so_far(ledger: &Ledger) -> Option<Configuration> {
    let known = ledger.open().filter_map(|(at, cell)| Some((at, cell.race_mean_sd()?.0)));
    known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(configuration, _)| configuration)
}
