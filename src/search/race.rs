//! Which configuration deserves to be measured next: the one the model expects most of, then the
//! neighbours of the best, until nothing unmeasured could still win or the time is better spent on
//! making sure.

use std::collections::BTreeMap;

use super::climb::Climb;
use super::constants::{MUCH_BETTER, ONE_IN_TEN, PRECISION, RACE_SHARE, WORTH_THE_BLOCKS};
use super::expect::Expectations;
use super::hold::kept_at_least_s;
use super::ledger::Ledger;
use super::loads::{burst_s, probe_s};
use super::pursue;
use crate::terms::{Configuration, Obstacle, SearchNote};

/// The next configuration to climb, or `None` when the race is over.
pub(super) fn next_candidate(ledger: &mut Ledger) -> Option<Climb> {
    ledger.too_large = too_large(ledger);
    let budget_s = ledger.plan.budget.as_secs_f64();
    // With a budget this short, an answer that compares nothing would be none.
    let has_compared = ledger.has_compared();
    let share = if has_compared { RACE_SHARE } else { 1.0 };
    if ledger.now_s + climb_s(ledger) > budget_s * share {
        if let Some(candidate) = worth_the_blocks(ledger) {
            return Some(climb(ledger, candidate));
        }
        if let Some(note) = left_untried(ledger) {
            ledger.note(note);
        }
        return None;
    }
    Some(climb(ledger, candidate(ledger)?))
}

/// What deserves it beside those that are being measured; `None` as long as nothing is known to
/// tell it by, or when there is no time.
pub(super) fn beside(ledger: &Ledger) -> Option<Climb> {
    let most_s = ledger.plan.budget.as_secs_f64() * RACE_SHARE;
    let is_time = ledger.now_s + climb_s(ledger) <= most_s;
    Expectations::of(ledger).filter(|_| is_time)?;
    Some(climb(ledger, candidate(ledger)?))
}

fn candidate(ledger: &Ledger) -> Option<Configuration> {
    let best = ledger.best_in_race();
    let best_rps = best.map(|(_, rps)| rps);
    // What the model expects most of comes first: who stops early gets this.
    let is_first = !ledger.has_compared() && !ledger.plan.pursues();
    let favourite = is_first.then(|| promising(ledger, best_rps)).flatten();
    favourite.or_else(|| rule_of_thumb(ledger)).or_else(|| pursue::candidate(ledger)).or_else(
        || match pursue::best_in_race(ledger) {
            // Whether another one holds more is not what is asked.
            Some(_) => None,
            None => promising(ledger, best_rps).or_else(|| neighbour(ledger, best)),
        },
    )
}

fn climb(ledger: &Ledger, candidate: Configuration) -> Climb {
    let best_rps = ledger.best_in_race().map(|(_, rps)| rps);
    let expected_rps = Expectations::of(ledger).map(|it| it.saturated_rps(candidate));
    Climb::new(candidate, pursue::bar(ledger, best_rps), expected_rps)
}

/// After the race's time: what is expected to hold so much more that it is worth the time of the
/// blocks, while the last part keeps the shortest attempt's. What is printed is held there anyway.
fn worth_the_blocks(ledger: &Ledger) -> Option<Configuration> {
    if ledger.left_s() < climb_s(ledger) + kept_at_least_s(ledger) || ledger.plan.pursues() {
        return None;
    }
    let (_, best_rps) = ledger.best_in_race()?;
    let candidate = promising(ledger, Some(best_rps))?;
    let expected_rps = Expectations::of(ledger)?.capacity_rps(candidate);
    (expected_rps >= WORTH_THE_BLOCKS * best_rps).then_some(candidate)
}

/// What would have been tried next, had there been time, where it may well be much better: a doubt
/// that is told with every other answer is not read.
fn left_untried(ledger: &Ledger) -> Option<SearchNote> {
    if pursue::best_in_race(ledger).is_some() {
        let configuration = pursue::candidate(ledger)?;
        return Some(SearchNote::UntriedMayAnswerBetter { configuration });
    }
    let (_, bar_rps) = ledger.best_in_race()?;
    let configuration = promising(ledger, Some(bar_rps))?;
    let expectations = Expectations::of(ledger);
    let expected = expectations.as_ref().map(|e| e.capacity_rps(configuration) / bar_rps);
    let spread = expectations.map_or(f64::INFINITY, |e| (ONE_IN_TEN * e.error.min(0.3)).exp());
    if expected.is_some_and(|ratio| ratio * spread < MUCH_BETTER) {
        return None;
    }
    let is_more = |ratio: &f64| ratio.is_finite() && *ratio > 1.0 + PRECISION;
    let expected_ratio = expected.filter(is_more);
    Some(SearchNote::UntriedMayHoldMore { configuration, expected_ratio })
}

/// Worked out anew each time: what is known of memory after one trial is little.
fn too_large(ledger: &Ledger) -> BTreeMap<Configuration, Obstacle> {
    let Some(expectations) = Expectations::of(ledger) else { return BTreeMap::new() };
    let reason = |c: &Configuration| expectations.ruled_out(*c);
    ledger.cells.keys().filter_map(|c| Some((*c, reason(c)?))).collect()
}

/// What most would set without measuring: a worker for each core, with as many threads as today, or
/// twice as many. These are tried next, whatever the model says of them, so that no answer is worse
/// than this; but for what has more threads than one that got less done than one thread alone.
fn rule_of_thumb(ledger: &Ledger) -> Option<Configuration> {
    let threads = ledger.plan.current.threads.get();
    let rules = [threads, threads.saturating_mul(2)].map(|threads| on_each_core(ledger, threads));
    let is_open =
        |rule: &Configuration| ledger.untried().any(|it| it == *rule) && !is_crowded(ledger, *rule);
    rules.into_iter().flatten().find(is_open)
}

/// One with no more workers and no more threads collapsed under as many requests as it takes.
fn is_crowded(ledger: &Ledger, configuration: Configuration) -> bool {
    let Configuration { workers, threads } = configuration;
    let is_less = |it: &Configuration| it.workers <= workers && it.threads <= threads;
    ledger.cells.iter().any(|(it, cell)| cell.collapsed_rps.is_some() && is_less(it))
}

/// Of the grid, what is nearest to a worker for each core with so many threads.
fn on_each_core(ledger: &Ledger, threads: u16) -> Option<Configuration> {
    let cores = ledger.plan.cores.round().max(1.0) as u16;
    let distance = |c: &&Configuration| {
        (c.workers.get().abs_diff(cores), c.threads.get().abs_diff(threads), c.threads)
    };
    ledger.cells.keys().min_by_key(distance).copied()
}

/// The untried configuration that the model expects most of, as long as it could still be the best;
/// among near-equals the one with fewer workers, which needs less memory.
fn promising(ledger: &Ledger, bar_rps: Option<f64>) -> Option<Configuration> {
    let Some(expectations) = Expectations::of(ledger) else { return ledger.untried().last() };
    let (candidate, rps) = ledger
        .untried()
        .map(|configuration| (configuration, expectations.capacity_rps(configuration)))
        .reduce(|best, next| if next.1 > best.1 * 1.01 { next } else { best })?;
    let hope_rps = rps * expectations.error.min(0.3).exp();
    bar_rps.is_none_or(|bar| hope_rps > bar).then_some(candidate)
}

/// An untried neighbour of the best one in the grid: a surface that the model misread shows there.
fn neighbour(ledger: &Ledger, best: Option<(Configuration, f64)>) -> Option<Configuration> {
    let (best, bar_rps) = best?;
    let expectations = Expectations::of(ledger)?;
    let is_worth_it = |c: &Configuration| expectations.capacity_rps(*c) * 1.5 > bar_rps;
    let step = |value: fn(&Configuration) -> u16| -> [Option<u16>; 2] {
        let (values, of) = (|| ledger.cells.keys().map(value), value(&best));
        [values().filter(|&v| v < of).max(), values().filter(|&v| v > of).min()]
    };
    let (workers, threads) = (step(|c| c.workers.get()), step(|c| c.threads.get()));
    let is_beside = |c: &Configuration| {
        (c.threads == best.threads && workers.contains(&Some(c.workers.get())))
            || (c.workers == best.workers && threads.contains(&Some(c.threads.get())))
    };
    ledger.untried().filter(is_beside).find(is_worth_it)
}

/// What one configuration costs: a start, a burst and some three probes.
fn climb_s(ledger: &Ledger) -> f64 {
    let rate_rps = ledger.best_in_race().map_or(50.0, |(_, rps)| rps);
    ledger.start_cost_s + burst_s(ledger) + 2.0 * probe_s(ledger, rate_rps)
}
