//! Which setting is recommended by all that is known now: what answers the question that was
//! asked, or else what holds most, unless a smaller one holds about as much.
//!
//! In: the ledger, and what the stages know of the choice. Out: a setting, and how it answers.
//! Computes only.

use super::constants::{EQUIVALENCE, NOT_WORSE, NOT_WORSE_LEVEL, SAVING};
use super::estimates::{best_confirmed, best_of, capacity, ratio};
use super::ledger::Ledger;
use super::objective::{self, Pick, Weighed};
use crate::stats::{self, Estimate};
use crate::terms::{Configuration, HeldRate};

/// How the chosen setting held the rate to be printed.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub configuration: Configuration,
    pub held: Option<HeldRate>,
    /// Capacity by all that is known, with its 95 % interval.
    pub capacity: Estimate,
}

/// What the stages know of the choice beyond the ledger.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standing<'a> {
    /// What the first block measures, while it is under way.
    pub first_block: Option<&'a [Configuration]>,
    /// How the choice held the rate to be printed, once that was tried.
    pub ending: Option<&'a Ending>,
}

impl<'a> Standing<'a> {
    /// How the last part came out, if it was about this setting.
    pub fn ending_of(&self, configuration: Configuration) -> Option<&'a Ending> {
        self.ending.filter(|ending| ending.configuration == configuration)
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
    let weigh = |(configuration, _): (Configuration, f64)| {
        let cell = &ledger.cells[&configuration];
        Some(Weighed {
            configuration,
            capacity: at_end(configuration).or_else(|| capacity(ledger, configuration))?,
            is_confirmed: !cell.blocks.is_empty(),
            memory_bytes: cell.memory_bytes,
            cpu_per_request_s: cell.cpu_per_request_s,
            p95_s: stats::median(&cell.latencies_s),
        })
    };
    ledger.raced().filter_map(weigh).collect()
}

/// The highest capacity among what was made sure of (else of the race); while the first block is
/// under way the race speaks for those that are still to come. One that needs clearly less memory
/// and holds about as much wins over it. `first_block`: as in [`Standing`].
fn chosen(ledger: &Ledger, first_block: Option<&[Configuration]>) -> Option<Configuration> {
    let finalist = match first_block {
        Some(all) => best_of(ledger, all.iter().copied().filter(|c| ledger.is_open(c))),
        None => best_confirmed(ledger),
    };
    let best = finalist.or_else(|| best_so_far(ledger))?;
    let memory = |c: &Configuration| ledger.memory_bytes(*c);
    let saves = |c: &Configuration| {
        let both = memory(c).zip(memory(&best));
        both.is_some_and(|(less, more)| (less as f64) < SAVING * more as f64)
    };
    let holds_as_much =
        |c: &Configuration| ratio(ledger, *c, best, NOT_WORSE_LEVEL).is_some_and(is_as_good);
    let smaller = ledger.confirmed().filter(|c| *c != best && saves(c)).filter(holds_as_much);
    Some(smaller.min_by_key(memory).unwrap_or(best))
}

/// By whatever is known of each, a burst and the model at the least.
fn best_so_far(ledger: &Ledger) -> Option<Configuration> {
    let known = ledger.open().filter_map(|(at, cell)| Some((at, cell.race_mean_sd()?.0)));
    known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(configuration, _)| configuration)
}

/// It holds as much as far as is known, and hardly less where that is wrong.
fn is_as_good(ratio: Estimate) -> bool {
    ratio.value > 1.0 - EQUIVALENCE && ratio.low > NOT_WORSE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::plan::{SearchPlan, tests_plan};

    /// Does 2 x 4 win? What 4 x 4 and it held, block by block, each to this standard deviation of
    /// the logarithm, and its memory by that of 4 x 4.
    fn is_smaller(large: &[f64], small: &[f64], sd_log: f64, memory: f64) -> bool {
        let at = |workers| Configuration::new(workers, 4).unwrap();
        let grid = vec![at(2), at(4)];
        let mut ledger = Ledger::new(SearchPlan { grid, current: at(4), ..tests_plan() });
        let mut know = |workers, held: &[f64], memory_bytes: f64| {
            let cell = ledger.cell_mut(at(workers));
            cell.memory_bytes = Some(memory_bytes as u64);
            cell.blocks = (1..).zip(held).map(|(block, rps)| (block, *rps, sd_log)).collect();
        };
        know(4, large, 1e9);
        know(2, small, memory * 1e9);
        chosen(&ledger, None) == Some(at(2))
    }

    #[test]
    fn of_two_that_hold_about_as_much_the_smaller_wins() {
        assert!(is_smaller(&[100.0, 103.0, 98.0], &[99.0, 102.0, 98.0], 0.02, 0.7));
    }

    #[test]
    fn one_that_holds_clearly_less_does_not_win_by_being_small() {
        assert!(!is_smaller(&[100.0, 103.0, 98.0], &[92.0, 95.0, 90.0], 0.02, 0.5));
    }

    #[test]
    fn a_few_pages_less_are_no_saving() {
        assert!(!is_smaller(&[100.0, 103.0, 98.0], &[99.0, 102.0, 98.0], 0.02, 0.97));
    }

    #[test]
    fn what_one_block_hardly_shows_does_not_decide() {
        assert!(!is_smaller(&[100.0], &[99.0], 0.08, 0.5));
        assert!(is_smaller(&[99.0], &[100.0], 0.08, 0.5), "it holds more");
    }
}
