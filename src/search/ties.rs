//! Which of the settings that hold about as much is to be run: the one that needs least memory and
//! answers soonest at the rate to run it at.
//!
//! In: the ledger. Out: a setting, and the rate at which its latency is to be measured. Computes
//! only.

use super::constants::{EQUIVALENCE, LATENCY_NOTICED, NOT_WORSE, NOT_WORSE_LEVEL, SAVING};
use super::estimates::{best_confirmed, of_blocks, ratio};
use super::ledger::Ledger;
use super::loads::probe_s;
use crate::stats::{self, Estimate};
use crate::terms::{Configuration, OPERATING_SHARE};

/// Of those that hold about as much as the best one, it among them: by memory and p95, and where
/// these are as good the one with the fewest threads in all.
pub(super) fn lightest(ledger: &Ledger, best: Configuration) -> Configuration {
    let all = as_good(ledger, best);
    let burdens = Burdens::of(ledger, &all);
    let least = all.iter().map(|c| burdens.of_one(ledger, *c)).fold(f64::INFINITY, f64::min);
    let is_light = |c: &Configuration| burdens.of_one(ledger, *c) * SAVING <= least;
    let by_burden = |a: &Configuration, b: &Configuration| {
        burdens.of_one(ledger, *a).total_cmp(&burdens.of_one(ledger, *b))
    };
    let light = all.iter().copied().filter(is_light);
    light.min_by(|a, b| a.slots().cmp(&b.slots()).then(by_burden(a, b))).unwrap_or(best)
}

/// The rate at which a setting's latency decides; `None` where it holds less than another, or is
/// alone. The same for all.
pub(super) fn latency_rate(ledger: &mut Ledger, configuration: Configuration) -> Option<f64> {
    if ledger.plan.pursues() {
        return None;
    }
    let best = best_confirmed(ledger)?;
    let all = as_good(ledger, best);
    let known_rps = of_blocks(ledger, best)?.value;
    let is_asked = all.len() > 1 && all.contains(&configuration);
    is_asked.then(|| *ledger.operating_rps.get_or_insert(known_rps * OPERATING_SHARE))
}

/// Seconds that each start takes more, once others hold as much as the best one.
pub(super) fn window_s(ledger: &Ledger) -> f64 {
    let best = best_confirmed(ledger).filter(|_| !ledger.plan.pursues());
    let known = best.filter(|best| as_good(ledger, *best).len() > 1);
    let known_rps = known.and_then(|best| of_blocks(ledger, best)).map(|known| known.value);
    known_rps.map_or(0.0, |rps| probe_s(ledger, rps * OPERATING_SHARE))
}

/// p95 at that rate, seconds.
pub(super) fn p95_s(ledger: &Ledger, configuration: Configuration) -> Option<f64> {
    ledger.operating_rps?;
    stats::median(&ledger.cells[&configuration].latencies_s)
}

/// The best one, and those that were measured beside it and hold as much as far as is known, and
/// hardly less where that is wrong.
fn as_good(ledger: &Ledger, best: Configuration) -> Vec<Configuration> {
    let is_as_good = |ratio: Estimate| ratio.value > 1.0 - EQUIVALENCE && ratio.low > NOT_WORSE;
    let holds_as_much =
        |c: &Configuration| ratio(ledger, *c, best, NOT_WORSE_LEVEL).is_some_and(is_as_good);
    let others = ledger.confirmed().filter(|c| *c != best).filter(holds_as_much);
    [best].into_iter().chain(others).collect()
}

/// What settings are compared by: memory times p95, as far as each is known of all.
struct Burdens {
    has_memory: bool,
    /// The least.
    p95_s: Option<f64>,
}

impl Burdens {
    fn of(ledger: &Ledger, all: &[Configuration]) -> Self {
        let latencies: Option<Vec<f64>> = all.iter().map(|c| p95_s(ledger, *c)).collect();
        Self {
            has_memory: all.iter().all(|c| ledger.memory_bytes(*c).is_some()),
            p95_s: latencies.and_then(|all| all.into_iter().min_by(f64::total_cmp)),
        }
    }

    fn of_one(&self, ledger: &Ledger, configuration: Configuration) -> f64 {
        let memory = ledger.memory_bytes(configuration).filter(|_| self.has_memory);
        let slower = self.p95_s.zip(p95_s(ledger, configuration)).map(|(least, own)| own / least);
        let noticed = slower.filter(|slower| *slower > 1.0 + LATENCY_NOTICED).unwrap_or(1.0);
        memory.map_or(1.0, |bytes| bytes as f64) * noticed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::ask::tests_trial;
    use crate::search::plan::{SearchPlan, tests_plan};
    use crate::terms::{TrialPurpose, TrialSummary};

    /// What is known of a setting: blocks, memory in MB, and p95 at the rate to run at in ms.
    type Known<'a> = ((u16, u16), &'a [f64], u64, Option<f64>);

    fn at((workers, threads): (u16, u16)) -> Configuration {
        Configuration::new(workers, threads).unwrap()
    }

    /// Which is run, of these; the first holds most. Each block is known to this standard deviation
    /// of the logarithm.
    fn run(known: &[Known<'_>], sd_log: f64) -> (u16, u16) {
        lightest_of(&ledger(known, sd_log), known)
    }

    fn lightest_of(ledger: &Ledger, known: &[Known<'_>]) -> (u16, u16) {
        let it = lightest(ledger, at(known[0].0));
        (it.workers.get(), it.threads.get())
    }

    fn ledger(known: &[Known<'_>], sd_log: f64) -> Ledger {
        let grid: Vec<Configuration> = known.iter().map(|it| at(it.0)).collect();
        let mut ledger = Ledger::new(SearchPlan { current: grid[0], grid, ..tests_plan() });
        ledger.operating_rps = known.iter().any(|it| it.3.is_some()).then_some(70.0);
        for (of, held, megabytes, p95_ms) in known {
            let cell = ledger.cell_mut(at(*of));
            cell.memory_bytes = Some(megabytes * 1_000_000);
            cell.blocks = (1..).zip(*held).map(|(block, rps)| (block, *rps, sd_log)).collect();
            cell.latencies_s = p95_ms.iter().map(|ms| ms / 1e3).collect();
        }
        ledger
    }

    const MOST: [f64; 3] = [100.0, 103.0, 98.0];
    const AS_MUCH: [f64; 3] = [99.0, 102.0, 98.0];
    const LESS: [f64; 3] = [92.0, 95.0, 90.0];

    #[test]
    fn of_two_that_hold_about_as_much_the_smaller_wins() {
        assert_eq!(
            run(&[((4, 4), &MOST, 1000, None), ((2, 4), &AS_MUCH, 700, None)], 0.02),
            (2, 4)
        );
    }

    #[test]
    fn one_that_holds_clearly_less_does_not_win_by_being_small() {
        assert_eq!(run(&[((4, 4), &MOST, 1000, None), ((2, 4), &LESS, 500, None)], 0.02), (4, 4));
    }

    #[test]
    fn a_few_pages_less_are_no_saving() {
        let known: [Known<'_>; 2] = [((4, 4), &MOST, 1000, None), ((2, 10), &AS_MUCH, 970, None)];
        assert_eq!(run(&known, 0.02), (4, 4));
    }

    #[test]
    fn of_as_much_memory_the_fewest_threads_win() {
        let known: [Known<'_>; 3] = [
            ((4, 8), &MOST, 1000, None),
            ((4, 5), &AS_MUCH, 990, None),
            ((4, 3), &LESS, 980, None),
        ];
        assert_eq!(run(&known, 0.02), (4, 5));
    }

    #[test]
    fn what_grew_while_it_was_held_for_long_does_not_give_way_to_what_was_not() {
        let known: [Known<'_>; 2] = [((4, 4), &MOST, 1000, None), ((4, 5), &AS_MUCH, 1030, None)];
        let mut ledger = ledger(&known, 0.02);
        assert_eq!(lightest_of(&ledger, &known), (4, 4));
        let held = tests_trial(TrialPurpose::Hold, 70.0, (2100, 0));
        let (configuration, memory_bytes) = (at((4, 4)), Some(1_200_000_000));
        ledger.take(&TrialSummary { configuration, memory_bytes, ..held });
        assert_eq!(lightest_of(&ledger, &known), (4, 4));
    }

    #[test]
    fn what_one_block_hardly_shows_does_not_decide() {
        let of = |large: f64, small: f64| {
            run(&[((4, 4), &[large], 1000, None), ((2, 4), &[small], 500, None)], 0.08)
        };
        assert_eq!(of(100.0, 99.0), (4, 4));
    }

    #[test]
    fn who_answers_later_by_more_than_it_saves_loses() {
        let with = |p95_ms: [f64; 2]| {
            let [large, small] = p95_ms.map(Some);
            run(&[((4, 4), &MOST, 1000, large), ((2, 4), &AS_MUCH, 700, small)], 0.02)
        };
        assert_eq!(with([50.0, 60.0]), (2, 4));
        assert_eq!(with([50.0, 80.0]), (4, 4));
        let threads = |p95_ms: [f64; 2]| {
            let [many, few] = p95_ms.map(Some);
            run(&[((4, 8), &MOST, 1000, many), ((4, 5), &AS_MUCH, 990, few)], 0.02)
        };
        assert_eq!((threads([50.0, 54.0]), threads([50.0, 60.0])), ((4, 5), (4, 8)));
        assert_eq!(threads([60.0, 50.0]), (4, 5));
    }
}
