//! The answer as it stands: what runs now, what to run, how sure, and what is as good.

use super::Search;
use super::cell::Cell;
use super::constants::{
    DRIFT_DEGREES, DRIFT_SD_LOG, EQUIVALENCE, NOT_WORSE, NOT_WORSE_LEVEL, PROBES_SD_DEGREES,
    SAVING, START_SD_DEGREES, START_SD_LOG,
};
use super::objective::{self, Pick, Weighed};
use super::screened::KnobsAnswer;
use crate::model;
use crate::stats::{self, Estimate, PriorSpread};
use crate::terms::{
    Configuration, HeldRate, Limit, MemoryParts, Note, Objective, Precision, SearchNote, Stated,
    Verdict, WaitingEvidence,
};

/// A capacity with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityEstimate {
    pub configuration: Configuration,
    pub rps: Estimate,
}

/// A configuration that holds as much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EquivalentChoice {
    pub configuration: Configuration,
    /// Its capacity divided by the chosen one's.
    pub ratio: Estimate,
    pub memory_bytes: Option<u64>,
}

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub capacity: CapacityEstimate,
    /// Against the current configuration; exactly 1 when that is the choice, `None` when it holds
    /// nothing.
    pub gain: Option<Estimate>,
    pub precision: Option<Precision>,
    /// That a fresh start held at the end; `None` where none was held, or there was no time.
    pub held: Option<HeldRate>,
    pub limit: Limit,
    pub memory_bytes: Option<u64>,
    /// Least memory first.
    pub equivalent: Vec<EquivalentChoice>,
}

/// How the question that the session asks is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveAnswer {
    pub objective: Objective,
    /// Does the chosen configuration hold the rate? `None` without one.
    pub held: Option<Verdict>,
    /// Measured configurations that no other beats in capacity and memory, least memory first.
    pub front: Vec<Weighed>,
}

/// The answer at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub current: Option<CapacityEstimate>,
    /// `None` while nothing was found that holds any rate within the goal.
    pub choice: Option<Choice>,
    /// `None` when no memory was read.
    pub memory: Option<MemoryParts>,
    /// `None` where nothing was looked for.
    pub objective: Option<ObjectiveAnswer>,
    /// `None` where the plan names none.
    pub knobs: Option<KnobsAnswer>,
    /// Why the search ended, what more minutes would buy.
    pub notes: Vec<Stated<Note>>,
}

impl Search {
    /// The answer so far.
    pub fn answer(&self) -> Answer {
        let picked = self.picked();
        let chosen = self.to_recommend();
        let choice = chosen.and_then(|chosen| self.choice(chosen));
        let current = self.printed(self.plan.current, chosen);
        let memory = model::memory_parts(&self.memory_points());
        let objective = Some(ObjectiveAnswer {
            objective: self.plan.objective,
            held: picked.and_then(|pick| pick.held),
            front: objective::front(&self.weighed_as_printed(chosen), chosen),
        });
        let mut notes = self.notes.clone();
        notes.extend(self.doubts_of(chosen, picked.as_ref(), choice.as_ref()).map(Stated::Fact));
        Answer { current, choice, memory, knobs: self.knobs_answer(), objective, notes }
    }

    /// What is to be said of this answer, whatever ended the search.
    fn doubts_of(
        &self,
        chosen: Option<Configuration>,
        picked: Option<&Pick>,
        choice: Option<&Choice>,
    ) -> impl Iterator<Item = Note> {
        let precision = choice.and_then(|choice| choice.precision);
        let never_held = chosen.and_then(|it| self.never_held(it));
        let not_held = chosen.filter(|it| self.ending_of(*it).is_none());
        let not_held = not_held.map(|_| SearchNote::NotHeldAtEnd);
        let failing = chosen.and_then(|_| self.at_any_rate.note(self.slo.as_ref()?));
        let of_search = [never_held, self.hardly_known(chosen), not_held, failing];
        let of_objective = picked.map(|pick| self.pursuit_notes(pick)).unwrap_or_default();
        let of_precision = precision.and_then(|it| self.more_minutes(&it));
        let steadiness = self.unsteadiness().map(Note::Steadiness).into_iter();
        steadiness
            .chain(of_search.into_iter().flatten().map(Note::Search))
            .chain(of_objective.into_iter().map(Note::Objective))
            .chain(of_precision.map(Note::Precision))
    }

    /// What answers the question that was asked; without one, or without an answer, the highest
    /// capacity.
    pub(super) fn to_recommend(&self) -> Option<Configuration> {
        self.picked().map(|pick| pick.configuration).or_else(|| self.chosen())
    }

    /// One measured setting's capacity divided by another's, with its 95 % interval; `None` before
    /// both were measured.
    pub fn compared(&self, a: Configuration, b: Configuration) -> Option<Estimate> {
        let is_known = |c: &Configuration| self.cells.contains_key(c);
        (is_known(&a) && is_known(&b)).then(|| self.ratio(a, b, 0.95)).flatten()
    }

    /// A capacity below everything that was tried is a guess of the belief's lower end.
    fn never_held(&self, chosen: Configuration) -> Option<SearchNote> {
        let cell = &self.cells[&chosen];
        let is_tried = cell.probes > 0 || !cell.blocks.is_empty();
        (is_tried && !cell.has_held).then_some(SearchNote::NoRateHeld { configuration: chosen })
    }

    /// The session ended before the blocks, for which the reference's probes had waited.
    fn hardly_known(&self, chosen: Option<Configuration>) -> Option<SearchNote> {
        let current = self.plan.current;
        let cell = &self.cells[&current];
        let is_guessed = cell.race.is_some() && cell.probes == 0 && cell.blocks.is_empty();
        (is_guessed && chosen != Some(current))
            .then_some(SearchNote::CurrentNotTriedAtRate { configuration: current })
    }

    fn choice(&self, chosen: Configuration) -> Option<Choice> {
        let cell = &self.cells[&chosen];
        let unknown = || Limit::unknown(WaitingEvidence::NotSaturated);
        let memory =
            cell.memory_bytes.or_else(|| self.expectations().and_then(|e| e.memory_bytes(chosen)));
        Some(Choice {
            capacity: self.printed(chosen, Some(chosen))?,
            held: self.ending_of(chosen).and_then(|ending| ending.held),
            gain: self.gain(chosen),
            precision: Some(self.precision(chosen)),
            limit: cell.limit().cloned().unwrap_or_else(unknown),
            memory_bytes: memory,
            // Where something else is asked for, as much capacity is not as good.
            equivalent: match self.pursues() {
                true => Vec::new(),
                false => self.equivalent_to(chosen),
            },
        })
    }

    fn gain(&self, chosen: Configuration) -> Option<Estimate> {
        if chosen == self.plan.current {
            return Some(Estimate { value: 1.0, low: 1.0, high: 1.0, count: 1 });
        }
        self.capacity(self.plan.current)?;
        self.ratio(chosen, self.plan.current, 0.95)
    }

    /// The highest capacity among what was made sure of (else of the race). One that needs clearly
    /// less memory and holds about as much wins over it.
    pub(super) fn chosen(&self) -> Option<Configuration> {
        let best = self.best_finalist().or_else(|| self.best_so_far())?;
        let memory = |c: &Configuration| self.cells[c].memory_bytes;
        let saves = |c: &Configuration| {
            let both = memory(c).zip(memory(&best));
            both.is_some_and(|(less, more)| (less as f64) < SAVING * more as f64)
        };
        let smaller = self
            .confirmed()
            .filter(|c| *c != best && saves(c))
            .filter(|c| self.ratio(*c, best, NOT_WORSE_LEVEL).is_some_and(|it| is_as_good(&it)))
            .min_by_key(|c| memory(c));
        Some(smaller.unwrap_or(best))
    }

    /// While the first block is under way the race speaks for those that are still to come.
    fn best_finalist(&self) -> Option<Configuration> {
        match &self.stage {
            super::Stage::Confirm(confirm) if confirm.is_first_block() => {
                let is_open = |c: &Configuration| self.cells[c].is_open();
                self.best_of(confirm.finalists.iter().copied().filter(is_open))
            }
            _ => self.best_confirmed(),
        }
    }

    /// By whatever is known of each, a burst and the model at the least.
    fn best_so_far(&self) -> Option<Configuration> {
        self.cells
            .iter()
            .filter(|(_, cell)| cell.is_open())
            .filter_map(|(&configuration, cell)| Some((configuration, cell.race_mean_sd()?.0)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(configuration, _)| configuration)
    }

    /// Usable configurations that were measured on fresh starts after the race.
    fn confirmed(&self) -> impl Iterator<Item = Configuration> + '_ {
        self.cells
            .iter()
            .filter(|(_, cell)| cell.is_open() && !cell.blocks.is_empty())
            .map(|(&configuration, _)| configuration)
    }

    /// By all that is known of each, its starts and the race; the worst start breaks a tie. Who was
    /// beaten has fewer blocks than the others.
    pub(super) fn best_confirmed(&self) -> Option<Configuration> {
        self.best_of(self.confirmed())
    }

    fn best_of(&self, finalists: impl Iterator<Item = Configuration>) -> Option<Configuration> {
        let spread = self.start_spread(1.0).variance;
        let score = |cell: &Cell| cell.score(spread);
        let worst = |cell: &Cell| cell.blocks.iter().map(|b| b.1).fold(f64::INFINITY, f64::min);
        finalists.max_by(|a, b| {
            let (a, b) = (&self.cells[a], &self.cells[b]);
            score(a).total_cmp(&score(b)).then(worst(a).total_cmp(&worst(b)))
        })
    }

    fn weighed_as_printed(&self, chosen: Option<Configuration>) -> Vec<Weighed> {
        let as_printed = |it: Weighed| Weighed {
            capacity: self.printed(it.configuration, chosen).map_or(it.capacity, |it| it.rps),
            ..it
        };
        self.weighed().into_iter().map(as_printed).collect()
    }

    /// The capacity as it is printed: of the chosen setting what was held at the end, of another
    /// what keeps the ratio to it that was measured.
    fn printed(
        &self,
        configuration: Configuration,
        chosen: Option<Configuration>,
    ) -> Option<CapacityEstimate> {
        let measured = self.capacity(configuration)?;
        let Some((chosen, ending)) = chosen.and_then(|it| Some((it, self.ending_of(it)?))) else {
            return Some(measured);
        };
        if configuration == chosen {
            return Some(CapacityEstimate { configuration, rps: ending.capacity });
        }
        let value = measured.rps.value * ending.capacity.value / self.capacity(chosen)?.rps.value;
        let Estimate { low, high, count, .. } = measured.rps;
        let rps = Estimate { value, low: low.min(value), high: high.max(value), count };
        Some(CapacityEstimate { configuration, rps })
    }

    /// From fresh starts made after the choice; from the race alone when there was no time for
    /// them.
    pub(super) fn capacity(&self, configuration: Configuration) -> Option<CapacityEstimate> {
        let cell = self.cells.get(&configuration)?;
        let rps = if cell.blocks.is_empty() {
            race_estimate(cell)?
        } else {
            widened(self.blocks_estimate(configuration)?, 1.96 * self.drift_sd_log())
        };
        Some(CapacityEstimate { configuration, rps })
    }

    /// From the blocks as they were, whatever the machine did meanwhile.
    pub(super) fn blocks_estimate(&self, configuration: Configuration) -> Option<Estimate> {
        let blocks = &self.cells.get(&configuration)?.blocks;
        let logs: Vec<f64> = blocks.iter().map(|block| block.1.ln()).collect();
        Some(exp(stats::shrunk_interval(&logs, self.start_spread(1.0), 0.95)?))
    }

    /// How far the machine's speed is from its usual one over the minutes of the blocks, which the
    /// blocks themselves cannot show: from how far what was confirmed lies from what the race had
    /// found some minutes before, beyond what chance explains.
    pub(super) fn drift_sd_log(&self) -> f64 {
        let (mut variance, mut degrees) = (DRIFT_SD_LOG.powi(2) * DRIFT_DEGREES, DRIFT_DEGREES);
        let spread = self.start_spread(1.0).variance;
        for cell in self.cells.values().filter(|cell| cell.probes > 0 && !cell.blocks.is_empty()) {
            let Some((race, sd)) = cell.race_mean_sd() else { continue };
            let by_chance = sd.powi(2) + START_SD_LOG.powi(2) + spread / cell.blocks.len() as f64;
            // The two differ by twice the variance of each.
            variance += 0.5 * ((mean_log(cell) - race).powi(2) - by_chance).max(0.0);
            degrees += 1.0;
        }
        (variance / degrees).sqrt()
    }

    /// `a`'s capacity divided by `b`'s, within blocks where both were measured on fresh starts.
    pub(super) fn ratio(&self, a: Configuration, b: Configuration, level: f64) -> Option<Estimate> {
        let logs: Vec<f64> = self.paired_blocks(a, b).iter().map(|(a, b)| (a / b).ln()).collect();
        if !logs.is_empty() {
            // Two starts take part in each ratio.
            return Some(exp(stats::shrunk_interval(&logs, self.start_spread(2.0), level)?));
        }
        let (a, b) = (self.cells[&a].race_mean_sd()?, self.cells[&b].race_mean_sd()?);
        let sd = (a.1.powi(2) + b.1.powi(2) + 2.0 * START_SD_LOG.powi(2)).sqrt();
        let z = stats::normal::quantile(0.5 + 0.5 * level);
        let value = a.0 - b.0;
        Some(exp(Estimate { value, low: value - z * sd, high: value + z * sd, count: 1 }))
    }

    /// What one start's capacity scatters by before any is compared: the probes' own uncertainty
    /// and the spread between starts.
    fn start_spread(&self, starts: f64) -> PriorSpread {
        let variances: Vec<f64> = self
            .cells
            .values()
            .flat_map(|cell| &cell.blocks)
            .map(|(_, _, sd_log)| sd_log.powi(2))
            .collect();
        let probes = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
        let start = START_SD_LOG.powi(2);
        // Of a sum of variances, each known as well as so many values tell it (Satterthwaite 1946).
        let degrees = (probes + start).powi(2)
            / (probes.powi(2) / PROBES_SD_DEGREES + start.powi(2) / START_SD_DEGREES);
        PriorSpread { variance: starts * (probes + start), degrees }
    }

    /// Measured configurations whose capacity is within the band of the chosen one's, as far as the
    /// measurement goes.
    fn equivalent_to(&self, chosen: Configuration) -> Vec<EquivalentChoice> {
        let mut equivalent: Vec<EquivalentChoice> = self
            .cells
            .iter()
            .filter(|(c, cell)| **c != chosen && cell.is_open() && cell.capacity_rps().is_some())
            .filter_map(|(&configuration, cell)| {
                let ratio = self.ratio(configuration, chosen, 0.90)?;
                (ratio.value >= 1.0 - EQUIVALENCE).then_some(EquivalentChoice {
                    configuration,
                    ratio,
                    memory_bytes: cell.memory_bytes,
                })
            })
            .collect();
        equivalent.sort_by_key(|e| (e.memory_bytes.unwrap_or(u64::MAX), e.configuration));
        equivalent
    }
}

impl Cell {
    /// Logarithm of the race's capacity and its standard deviation.
    fn race_mean_sd(&self) -> Option<(f64, f64)> {
        let belief = self.race.as_ref()?;
        Some((belief.median().ln(), belief.sd_log()))
    }

    /// Logarithm of the capacity by its blocks and by the race, each as far as it is to be trusted.
    /// `spread`: variance of one block.
    fn score(&self, spread: f64) -> f64 {
        let blocks = self.blocks.len() as f64 / spread.max(1e-6);
        let (race, sd) = self.race_mean_sd().unwrap_or((0.0, f64::INFINITY));
        let race_weight = 1.0 / (sd.powi(2) + START_SD_LOG.powi(2));
        (mean_log(self) * blocks + race * race_weight) / (blocks + race_weight)
    }
}

fn mean_log(cell: &Cell) -> f64 {
    cell.blocks.iter().map(|block| block.1.ln()).sum::<f64>() / cell.blocks.len().max(1) as f64
}

/// One start's belief, widened by what starts differ.
fn race_estimate(cell: &Cell) -> Option<Estimate> {
    let (mean, sd) = cell.race_mean_sd()?;
    let half = 1.96 * (sd.powi(2) + START_SD_LOG.powi(2)).sqrt();
    Some(exp(Estimate { value: mean, low: mean - half, high: mean + half, count: 1 }))
}

/// With another, independent error of the logarithm, of this half width.
fn widened(estimate: Estimate, half: f64) -> Estimate {
    let wider = (estimate.high / estimate.value).ln().hypot(half).exp();
    Estimate { low: estimate.value / wider, high: estimate.value * wider, ..estimate }
}

/// It holds as much as far as is known, and hardly less where that is wrong.
fn is_as_good(ratio: &Estimate) -> bool {
    ratio.value > 1.0 - EQUIVALENCE && ratio.low > NOT_WORSE
}

fn exp(log: Estimate) -> Estimate {
    Estimate { value: log.value.exp(), low: log.low.exp(), high: log.high.exp(), count: log.count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{SearchPlan, tests_plan};

    /// What 4 x 4 and 2 x 4 held, block by block, each to this standard deviation of the logarithm,
    /// and the memory of the smaller by the larger's.
    fn chosen(large: &[f64], small: &[f64], sd_log: f64, memory: f64) -> Configuration {
        let at = |workers| Configuration::new(workers, 4).unwrap();
        let grid = vec![at(2), at(4)];
        let mut search = Search::new(SearchPlan { grid, current: at(4), ..tests_plan() });
        let mut know = |workers, held: &[f64], memory_bytes: f64| {
            let cell = search.cells.get_mut(&at(workers)).unwrap();
            cell.memory_bytes = Some(memory_bytes as u64);
            cell.blocks = (1..).zip(held).map(|(block, rps)| (block, *rps, sd_log)).collect();
        };
        know(4, large, 1e9);
        know(2, small, memory * 1e9);
        search.chosen().unwrap()
    }

    fn is_smaller(large: &[f64], small: &[f64], sd_log: f64, memory: f64) -> bool {
        chosen(large, small, sd_log, memory).workers.get() == 2
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
