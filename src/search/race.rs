//! Which configuration deserves to be measured next: the one the model expects most of, then the
//! neighbours of the best, until nothing unmeasured could still win or the time is better spent on
//! making sure.

use std::collections::BTreeMap;

use super::Search;
use super::climb::Climb;
use super::constants::{MUCH_BETTER, ONE_IN_TEN, RACE_SHARE};
use crate::terms::{Configuration, Note, Obstacle, SearchNote};

impl Search {
    /// The next configuration to climb, or `None` when the race is over.
    pub(super) fn next_candidate(&mut self) -> Option<Climb> {
        self.too_large = self.too_large();
        let budget_s = self.plan.budget.as_secs_f64();
        // With a budget this short, an answer that compares nothing would be none.
        let share = if self.has_compared() { RACE_SHARE } else { 1.0 };
        if self.now_s + self.climb_cost_s() > budget_s * share {
            self.notes.extend(self.left_untried().map(|it| Note::Search(it).into()));
            return None;
        }
        let best = self.best_in_race();
        let best_rps = best.map(|(_, rps)| rps);
        let candidate = self
            .favourite(best_rps)
            .or_else(|| self.rule_of_thumb())
            .or_else(|| self.pursued_candidate())
            .or_else(|| {
                match self.pursued_in_race() {
                    // Whether another one holds more is not what is asked.
                    Some(_) => None,
                    None => self.promising(best_rps).or_else(|| self.neighbour(best)),
                }
            })?;
        let expected_rps = self.expectations().map(|it| it.saturated_rps(candidate));
        Some(Climb::new(candidate, self.bar(best_rps), expected_rps))
    }

    /// What would have been tried next, had there been time, where it may well be much better: a
    /// doubt that is told with every other answer is not read.
    fn left_untried(&self) -> Option<SearchNote> {
        if self.pursued_in_race().is_some() {
            let configuration = self.pursued_candidate()?;
            return Some(SearchNote::UntriedMayAnswerBetter { configuration });
        }
        let (_, bar_rps) = self.best_in_race()?;
        let configuration = self.promising(Some(bar_rps))?;
        let expectations = self.expectations();
        let expected = expectations.as_ref().map(|e| e.capacity_rps(configuration) / bar_rps);
        let spread = expectations.map_or(f64::INFINITY, |e| (ONE_IN_TEN * e.error.min(0.3)).exp());
        if expected.is_some_and(|ratio| ratio * spread < MUCH_BETTER) {
            return None;
        }
        let is_more = |ratio: &f64| ratio.is_finite() && *ratio > 1.0 + super::PRECISION;
        let expected_ratio = expected.filter(is_more);
        Some(SearchNote::UntriedMayHoldMore { configuration, expected_ratio })
    }

    /// The best measured configuration so far, with its median capacity.
    pub(super) fn best_in_race(&self) -> Option<(Configuration, f64)> {
        self.cells
            .iter()
            .filter(|(_, cell)| cell.is_open())
            .filter_map(|(&configuration, cell)| Some((configuration, cell.capacity_rps()?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn has_compared(&self) -> bool {
        self.cells.iter().any(|(&c, cell)| c != self.plan.current && cell.burst_rps.is_some())
    }

    /// Worked out anew each time: what is known of memory after one trial is little.
    fn too_large(&self) -> BTreeMap<Configuration, Obstacle> {
        let Some(expectations) = self.expectations() else { return BTreeMap::new() };
        let reason = |c: &Configuration| expectations.ruled_out(*c, self.plan.memory);
        self.cells.keys().filter_map(|c| Some((*c, reason(c)?))).collect()
    }

    pub(super) fn untried(&self) -> impl Iterator<Item = Configuration> + '_ {
        self.cells
            .iter()
            .filter(|(c, cell)| {
                cell.is_open() && cell.burst_rps.is_none() && !self.too_large.contains_key(c)
            })
            .map(|(&configuration, _)| configuration)
    }

    /// What the model expects most of, before anything was compared: who stops early gets this.
    fn favourite(&self, best_rps: Option<f64>) -> Option<Configuration> {
        let is_first = !self.has_compared() && !self.pursues();
        is_first.then(|| self.promising(best_rps)).flatten()
    }

    /// What most would set without measuring: a worker for each core, with as many threads as
    /// today, or twice as many. These are tried next, whatever the model says of them, so that no
    /// answer is worse than this.
    fn rule_of_thumb(&self) -> Option<Configuration> {
        let threads = self.plan.current.threads.get();
        let rules = [threads, threads.saturating_mul(2)].map(|threads| self.on_each_core(threads));
        rules.into_iter().flatten().find(|rule| self.untried().any(|untried| untried == *rule))
    }

    /// Of the grid, what is nearest to a worker for each core with so many threads.
    fn on_each_core(&self, threads: u16) -> Option<Configuration> {
        let cores = self.plan.cores.round().max(1.0) as u16;
        let distance = |c: &&Configuration| {
            (c.workers.get().abs_diff(cores), c.threads.get().abs_diff(threads), c.threads)
        };
        self.cells.keys().min_by_key(distance).copied()
    }

    /// The untried configuration that the model expects most of, as long as it could still be the
    /// best; among near-equals the one with fewer workers, which needs less memory.
    fn promising(&self, bar_rps: Option<f64>) -> Option<Configuration> {
        let Some(expectations) = self.expectations() else { return self.untried().last() };
        let (candidate, rps) = self
            .untried()
            .map(|configuration| (configuration, expectations.capacity_rps(configuration)))
            .reduce(|best, next| if next.1 > best.1 * 1.01 { next } else { best })?;
        let hope_rps = rps * expectations.error.min(0.3).exp();
        bar_rps.is_none_or(|bar| hope_rps > bar).then_some(candidate)
    }

    /// An untried neighbour of the best one in the grid: a surface that the model misread shows
    /// there.
    fn neighbour(&self, best: Option<(Configuration, f64)>) -> Option<Configuration> {
        let (best, bar_rps) = best?;
        let expectations = self.expectations()?;
        let is_worth_it = |c: &Configuration| expectations.capacity_rps(*c) * 1.5 > bar_rps;
        self.neighbours(best).into_iter().find(is_worth_it)
    }

    fn neighbours(&self, of: Configuration) -> Vec<Configuration> {
        let step = |values: Vec<u16>, of: u16| -> Vec<u16> {
            let below = values.iter().copied().filter(|&v| v < of).max();
            let above = values.iter().copied().filter(|&v| v > of).min();
            below.into_iter().chain(above).collect()
        };
        let workers = step(self.cells.keys().map(|c| c.workers.get()).collect(), of.workers.get());
        let threads = step(self.cells.keys().map(|c| c.threads.get()).collect(), of.threads.get());
        let is_neighbour = |c: &Configuration| {
            (c.threads == of.threads && workers.contains(&c.workers.get()))
                || (c.workers == of.workers && threads.contains(&c.threads.get()))
        };
        self.untried().filter(is_neighbour).collect()
    }

    /// What one configuration costs: a start, a burst and some three probes.
    fn climb_cost_s(&self) -> f64 {
        let rate = self.best_in_race().map_or(50.0, |(_, rps)| rps);
        let purpose = crate::terms::TrialPurpose::Probe;
        let request = self.probe_request(self.plan.current, rate, purpose);
        let probe_s = (request.warm_up + request.duration).as_secs_f64();
        self.start_cost_s + self.burst_s() + 2.0 * probe_s
    }

    /// Seconds that a burst takes, warm-up included.
    pub(super) fn burst_s(&self) -> f64 {
        let request = self.burst_request(self.plan.current);
        (request.warm_up + request.duration).as_secs_f64()
    }
}
