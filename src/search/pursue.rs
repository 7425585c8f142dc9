//! How the search looks for the answer to another question than the highest capacity: which
//! settings are tried, which are measured again, and when enough is known.
//!
//! In: what the race and the blocks have shown. Out: candidates, finalists, and the answer.
//! Computes only.

use super::Search;
use super::answer::CapacityEstimate;
use super::confirm::Confirm;
use super::constants::{AS_CHEAP, BLOCKS_ENOUGH, BLOCKS_LEAST, LATENCY_HOPELESS, ROOM, SEEMS};
use super::expect::Expectations;
use super::objective::{self, Pick, Weighed};
use crate::stats;
use crate::terms::{
    Configuration, MissingFigure, OPERATING_SHARE, ObjectiveKind, ObjectiveNote, TrialSummary,
    Verdict,
};

/// What a setting is expected or known to do.
struct Outlook {
    configuration: Configuration,
    rps: f64,
    memory_bytes: Option<u64>,
}

impl Search {
    /// Is anything asked for but the highest capacity?
    pub(super) fn pursues(&self) -> bool {
        self.plan.objective.kind != ObjectiveKind::Capacity
    }

    fn rate_rps(&self) -> Option<f64> {
        self.plan.objective.rate_rps()
    }

    /// What a candidate of the race has to reach to be worth an exact figure; `best_rps`: the
    /// highest capacity so far.
    pub(super) fn bar(&self, best_rps: Option<f64>) -> Option<f64> {
        match (self.plan.objective.kind, self.rate_rps()) {
            (ObjectiveKind::Capacity, _) => best_rps,
            (_, Some(rate)) => best_rps.map(|best| best.min(rate)),
            // A setting that holds little may still be the cheapest.
            (_, None) => None,
        }
    }

    /// The measured setting that the race says answers the question; `None` for the highest
    /// capacity, and while none seems to hold the rate.
    pub(super) fn pursued_in_race(&self) -> Option<(Configuration, f64)> {
        let expectations = self.expectations().filter(|_| self.pursues());
        let (_, it) = self.raced(expectations.as_ref()).into_iter().next()?;
        Some((it.configuration, it.rps))
    }

    /// Measured settings that seem to hold the rate, the best first, each with what is asked about.
    fn raced(&self, expectations: Option<&Expectations>) -> Vec<(f64, Outlook)> {
        if !self.pursues() {
            return Vec::new();
        }
        let least_rps = self.rate_rps().map_or(0.0, |rate| rate * SEEMS);
        let measured = self.cells.iter().filter(|(_, cell)| cell.is_open());
        let outlook = |(&configuration, cell): (&Configuration, &super::cell::Cell)| {
            let rps = cell.capacity_rps().filter(|rps| *rps >= least_rps)?;
            let it = Outlook { configuration, rps, memory_bytes: cell.memory_bytes };
            Some((self.outlook_score(expectations, &it)?, it))
        };
        let mut raced: Vec<(f64, Outlook)> = measured.filter_map(outlook).collect();
        raced.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.configuration.cmp(&b.1.configuration)));
        raced
    }

    /// What is asked about, before it is measured; less is better.
    fn outlook_score(&self, expectations: Option<&Expectations>, it: &Outlook) -> Option<f64> {
        match self.plan.objective.kind {
            ObjectiveKind::Capacity => Some(1.0 / it.rps),
            ObjectiveKind::Memory => it.memory_bytes.map(|bytes| bytes as f64),
            // One that the model gives no chance holds the rate all the same, as measured.
            ObjectiveKind::Latency => {
                let of_rate = expectations?.p95_s(it.configuration, self.rate_rps()?);
                Some(of_rate.unwrap_or(1e6 / it.rps))
            }
            ObjectiveKind::Cost => {
                let rps = self.rate_rps().unwrap_or(it.rps * OPERATING_SHARE);
                let cpu_s = expectations?.cpu_per_request_s();
                let cost =
                    objective::cost(&self.plan.objective.prices?, rps, cpu_s, it.memory_bytes?)?;
                Some(cost.per_million_requests)
            }
        }
    }

    /// The untried setting that may answer the question better than what was measured: first of
    /// those expected to hold the rate with room, then of those that could hold it at best. `None`
    /// when there is none, or nothing is known to answer it yet.
    pub(super) fn pursued_candidate(&self) -> Option<Configuration> {
        let expectations = self.expectations().filter(|_| self.pursues())?;
        let best = self.raced(Some(&expectations)).into_iter().next().map(|(score, _)| score);
        let rate = self.rate_rps().unwrap_or(0.0);
        let hope = expectations.error.min(0.3).exp();
        let least = |factor: f64, least_rps: f64| {
            let outlook = |configuration: Configuration| Outlook {
                configuration,
                rps: expectations.capacity_rps(configuration) * factor,
                memory_bytes: expectations.memory_bytes(configuration),
            };
            self.untried()
                .map(outlook)
                .filter(|it| it.rps > least_rps)
                .filter_map(|it| {
                    Some((self.outlook_score(Some(&expectations), &it)?, it.configuration))
                })
                .filter(|(score, _)| best.is_none_or(|best| *score < best))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
                .map(|(_, configuration)| configuration)
        };
        least(1.0, rate * ROOM).or_else(|| least(hope, rate))
    }

    /// What is measured again beside the winner and the reference: those that may answer the
    /// question as well or better, the best first.
    pub(super) fn pursued_finalists(&self, known: &[Configuration]) -> Vec<Configuration> {
        let expectations = self.expectations();
        let raced = self.raced(expectations.as_ref());
        let least = raced.first().map_or(f64::INFINITY, |(score, _)| *score);
        let is_close = |score: f64| match self.plan.objective.kind {
            ObjectiveKind::Cost => score <= least * AS_CHEAP,
            _ => true,
        };
        let finalists = raced.into_iter().filter(|(score, _)| is_close(*score));
        finalists.map(|(_, it)| it.configuration).filter(|c| !known.contains(c)).collect()
    }

    /// The rate at which a start that holds about `held_rps` is asked for its latency.
    pub(super) fn latency_rate(&self, held_rps: f64) -> Option<f64> {
        let is_asked = self.plan.objective.kind == ObjectiveKind::Latency;
        self.rate_rps().filter(|rate| is_asked && held_rps > rate * LATENCY_HOPELESS)
    }

    /// Takes the latency of one start at the rate.
    pub(super) fn take_latency(&mut self, summary: &TrialSummary) {
        let p95_s = crate::model::common_p95_s(&summary.summary);
        self.cell_mut(summary.configuration).latencies_s.push(p95_s);
    }

    /// Finalists of which more blocks could change the answer; `None` when the highest capacity is
    /// asked for.
    pub(super) fn still_pursued(&self, done: &Confirm) -> Option<Vec<Configuration>> {
        let rate = self.rate_rps();
        if !self.pursues() || (rate.is_some() && self.pursued_in_race().is_none()) {
            return None;
        }
        let pick = self.picked()?;
        let is_measured = |c: &Configuration| self.cells[c].blocks.len() >= BLOCKS_LEAST;
        let weighed = self.weighed();
        let of = |c: Configuration| weighed.iter().find(|it| it.configuration == c);
        let is_settled = pick.held == Some(Verdict::Yes) && is_measured(&pick.configuration);
        let memory = |c: Configuration| self.cells[&c].memory_bytes.unwrap_or(u64::MAX);
        let is_out = |c: Configuration| {
            let (Some(it), Some(rate)) = (of(c), rate) else { return false };
            let needs_more = self.plan.objective.kind == ObjectiveKind::Memory
                && is_settled
                && memory(c) > memory(pick.configuration);
            is_measured(&c) && (it.capacity.high < rate || needs_more)
        };
        let finalists = done.finalists.iter().copied();
        Some(finalists.filter(|c| *c == pick.configuration || !is_out(*c)).collect())
    }

    /// Would more blocks hardly change the answer? `None` when the highest capacity is asked for.
    pub(super) fn is_pursuit_over(&self, finalists: &[Configuration]) -> Option<bool> {
        if !self.pursues() {
            return None;
        }
        let pick = self.picked()?;
        let blocks = self.cells[&pick.configuration].blocks.len();
        let known = self.blocks_estimate(pick.configuration);
        if known.is_none_or(|it| it.log_half_width() > self.plan.precision) {
            return Some(false);
        }
        if self.plan.objective.kind == ObjectiveKind::Memory {
            let is_alone = finalists.iter().all(|c| *c == pick.configuration);
            return Some(is_alone && pick.held == Some(Verdict::Yes) && blocks > BLOCKS_LEAST);
        }
        Some(blocks >= BLOCKS_ENOUGH)
    }

    /// What answers the question, by all that is known now.
    pub(super) fn picked(&self) -> Option<Pick> {
        let asked = &self.plan.objective;
        objective::choose(asked, &self.weighed()).filter(|_| self.pursues())
    }

    /// Every setting that was measured, as far as it is known.
    pub(super) fn weighed(&self) -> Vec<Weighed> {
        let measured = self.cells.iter().filter(|(_, cell)| cell.is_open());
        let weigh = |(&configuration, cell): (&Configuration, &super::cell::Cell)| {
            cell.capacity_rps()?;
            Some(Weighed {
                configuration,
                capacity: self.held_at_end(configuration).or(self.capacity(configuration))?.rps,
                is_confirmed: !cell.blocks.is_empty(),
                memory_bytes: cell.memory_bytes,
                cpu_per_request_s: cell.cpu_per_request_s,
                p95_s: stats::median(&cell.latencies_s),
            })
        };
        measured.filter_map(weigh).collect()
    }

    /// Where a rate is asked for, what the last part showed of it has the last word.
    fn held_at_end(&self, configuration: Configuration) -> Option<CapacityEstimate> {
        self.rate_rps()?;
        let rps = self.ending_of(configuration)?.capacity;
        Some(CapacityEstimate { configuration, rps })
    }

    /// What is to be said of the answer to the question.
    pub(super) fn pursuit_notes(&self, pick: &Pick) -> Vec<ObjectiveNote> {
        let asked = &self.plan.objective;
        let weighed = self.weighed();
        let Some(it) = weighed.iter().find(|it| it.configuration == pick.configuration) else {
            return Vec::new();
        };
        let (configuration, capacity_rps) = (it.configuration, it.capacity.value);
        let capacity_rps_interval = [it.capacity.low, it.capacity.high];
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
}
