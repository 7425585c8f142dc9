//! How the search looks for the answer to another question than the highest capacity: which
//! settings are tried, which are measured again, and when enough is known.
//!
//! In: what the race and the blocks have shown. Out: candidates, finalists, and what is to be said
//! of the answer. Computes only.

use super::constants::{AS_CHEAP, BLOCKS_ENOUGH, BLOCKS_LEAST, LATENCY_HOPELESS, ROOM, SEEMS};
use super::estimates::of_blocks;
use super::expect::Expectations;
use super::ledger::Ledger;
use super::objective::{Pick, Weighed};
use super::recommend::{Standing, picked, weighed};
use crate::stats::Estimate;
use crate::terms::{Configuration, MissingFigure, ObjectiveKind, ObjectiveNote, Verdict};

/// What a candidate of the race has to reach to be worth an exact figure; `best_rps`: the highest
/// capacity so far.
pub(super) fn bar(ledger: &Ledger, best_rps: Option<f64>) -> Option<f64> {
    match (ledger.plan.objective.kind, ledger.plan.objective.rate_rps()) {
        (ObjectiveKind::Capacity, _) => best_rps,
        (_, Some(rate)) => best_rps.map(|best| best.min(rate)),
        // A setting that holds little may still be the cheapest.
        (_, None) => None,
    }
}

/// The measured setting that the race says answers the question; `None` for the highest capacity,
/// and while none seems to hold the rate.
pub(super) fn best_in_race(ledger: &Ledger) -> Option<(Configuration, f64)> {
    let (_, it) = raced(ledger).into_iter().next()?;
    Some((it.configuration, it.capacity.value))
}

/// Measured settings that seem to hold the rate, the best first, each with what is asked about.
fn raced(ledger: &Ledger) -> Vec<(f64, Weighed)> {
    if !ledger.plan.pursues() {
        return Vec::new();
    }
    let expectations = Expectations::of(ledger);
    let least_rps = ledger.plan.objective.rate_rps().map_or(0.0, |rate| rate * SEEMS);
    let scored = |held: (Configuration, f64)| {
        let it = outlook(ledger, expectations.as_ref(), held, ledger.memory_bytes(held.0));
        Some((it.score(&ledger.plan.objective)?, it))
    };
    let measured = ledger.raced().filter(|(_, rps)| *rps >= least_rps);
    let mut raced: Vec<(f64, Weighed)> = measured.filter_map(scored).collect();
    raced.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.configuration.cmp(&b.1.configuration)));
    raced
}

/// What a setting is expected to do that holds so many requests/s as far as is known.
fn outlook(
    ledger: &Ledger,
    expectations: Option<&Expectations<'_>>,
    (configuration, rps): (Configuration, f64),
    memory_bytes: Option<u64>,
) -> Weighed {
    let asked = &ledger.plan.objective;
    let p95_s = |rate_rps| {
        let of_rate = expectations?.p95_s(configuration, rate_rps);
        // One that the model gives no chance holds the rate all the same, as measured.
        Some(of_rate.unwrap_or(1e6 / rps))
    };
    let latency_rps = asked.rate_rps().filter(|_| asked.kind == ObjectiveKind::Latency);
    Weighed {
        configuration,
        capacity: Estimate::around(rps, 0.0, 0),
        is_confirmed: false,
        memory_bytes,
        cpu_per_request_s: expectations.map(Expectations::cpu_per_request_s),
        p95_s: latency_rps.and_then(p95_s),
    }
}

/// The untried setting that may answer the question better than what was measured: first of those
/// expected to hold the rate with room, then of those that could hold it at best. `None` when there
/// is none, or nothing is known to answer it yet.
pub(super) fn candidate(ledger: &Ledger) -> Option<Configuration> {
    let expectations = Expectations::of(ledger).filter(|_| ledger.plan.pursues())?;
    let best = raced(ledger).first().map(|(score, _)| *score);
    let rate = ledger.plan.objective.rate_rps().unwrap_or(0.0);
    let hope = expectations.error.min(0.3).exp();
    let least = |factor: f64, least_rps: f64| {
        let expected = |at: Configuration| (at, expectations.capacity_rps(at) * factor);
        let scored = |held: (Configuration, f64)| {
            let memory_bytes = expectations.memory_bytes(held.0);
            let it = outlook(ledger, Some(&expectations), held, memory_bytes);
            Some((it.score(&ledger.plan.objective)?, it.configuration))
        };
        let possible = ledger.untried().map(expected).filter(|(_, rps)| *rps > least_rps);
        possible
            .filter_map(scored)
            .filter(|(score, _)| best.is_none_or(|best| *score < best))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .map(|(_, configuration)| configuration)
    };
    least(1.0, rate * ROOM).or_else(|| least(hope, rate))
}

/// What is measured again beside the winner and the reference: those that may answer the question
/// as well or better, the best first.
pub(super) fn finalists(ledger: &Ledger, known: &[Configuration]) -> Vec<Configuration> {
    let raced = raced(ledger);
    let least = raced.first().map_or(f64::INFINITY, |(score, _)| *score);
    let is_close = |score: f64| match ledger.plan.objective.kind {
        ObjectiveKind::Cost => score <= least * AS_CHEAP,
        _ => true,
    };
    let finalists = raced.into_iter().filter(|(score, _)| is_close(*score));
    finalists.map(|(_, it)| it.configuration).filter(|c| !known.contains(c)).collect()
}

/// The rate at which a start that holds about `held_rps` is asked for its latency.
pub(super) fn latency_rate(ledger: &Ledger, held_rps: f64) -> Option<f64> {
    let is_asked = ledger.plan.objective.kind == ObjectiveKind::Latency;
    ledger.plan.objective.rate_rps().filter(|rate| is_asked && held_rps > rate * LATENCY_HOPELESS)
}

/// Finalists of which more blocks could change the answer; `None` when the highest capacity is
/// asked for.
pub(super) fn still_in(ledger: &Ledger, finalists: &[Configuration]) -> Option<Vec<Configuration>> {
    let plan = &ledger.plan;
    if !plan.pursues() || (plan.objective.rate_rps().is_some() && best_in_race(ledger).is_none()) {
        return None;
    }
    let pick = picked(ledger, Standing::default())?;
    let is_measured = |c: Configuration| ledger.cells[&c].blocks.len() >= BLOCKS_LEAST;
    let weighed = weighed(ledger, Standing::default());
    let of = |c: Configuration| weighed.iter().find(|it| it.configuration == c);
    let is_settled = pick.held == Some(Verdict::Yes) && is_measured(pick.configuration);
    let memory = |c: Configuration| ledger.memory_bytes(c).unwrap_or(u64::MAX);
    let is_out = |c: Configuration| {
        let (Some(it), Some(rate)) = (of(c), plan.objective.rate_rps()) else { return false };
        let needs_more = plan.objective.kind == ObjectiveKind::Memory
            && is_settled
            && memory(c) > memory(pick.configuration);
        is_measured(c) && (it.capacity.high < rate || needs_more)
    };
    let finalists = finalists.iter().copied();
    Some(finalists.filter(|c| *c == pick.configuration || !is_out(*c)).collect())
}

/// Would more blocks hardly change the answer? `None` when the highest capacity is asked for.
pub(super) fn is_sharp(ledger: &Ledger, finalists: &[Configuration]) -> Option<bool> {
    let pick = picked(ledger, Standing::default())?;
    let blocks = ledger.cells[&pick.configuration].blocks.len();
    let known = of_blocks(ledger, pick.configuration);
    if known.is_none_or(|it| it.log_half_width() > ledger.plan.precision) {
        return Some(false);
    }
    if ledger.plan.objective.kind == ObjectiveKind::Memory {
        let is_alone = finalists.iter().all(|c| *c == pick.configuration);
        return Some(is_alone && pick.held == Some(Verdict::Yes) && blocks > BLOCKS_LEAST);
    }
    Some(blocks >= BLOCKS_ENOUGH)
}

/// What is to be said of the answer to the question.
pub(super) fn notes(ledger: &Ledger, standing: Standing<'_>, pick: &Pick) -> Vec<ObjectiveNote> {
    let asked = &ledger.plan.objective;
    let weighed = weighed(ledger, standing);
    let Some(it) = weighed.iter().find(|it| it.configuration == pick.configuration) else {
        return Vec::new();
    };
    let (configuration, capacity_rps) = (it.configuration, it.capacity.value);
    let capacity_rps_interval = it.capacity.interval();
    let of_rate = match (asked.rate, pick.held) {
        (Some(rate), Some(Verdict::No)) => Some(ObjectiveNote::NothingHoldsRate {
            rate,
            configuration,
            capacity_rps,
            capacity_rps_interval,
        }),
        (Some(rate), Some(Verdict::Undecided)) => {
            Some(ObjectiveNote::RateNotCertain { rate, configuration, capacity_rps_interval })
        }
        (Some(rate), Some(Verdict::Yes)) if !it.is_confirmed => {
            Some(ObjectiveNote::RateHeldInRaceOnly { rate, configuration })
        }
        _ => None,
    };
    let missing = match asked.kind {
        ObjectiveKind::Capacity => None,
        ObjectiveKind::Memory => Some(MissingFigure::Memory),
        ObjectiveKind::Latency => Some(MissingFigure::LatencyAtRate),
        ObjectiveKind::Cost => Some(MissingFigure::MemoryOrCpu),
    };
    let missing = missing.filter(|_| !pick.is_answer && pick.held != Some(Verdict::No));
    let instead = missing.map(|missing| ObjectiveNote::HighestCapacityInstead { missing });
    of_rate.into_iter().chain(instead).collect()
}
