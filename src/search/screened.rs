//! What came of the knobs: a ratio with its interval for each change, a verdict, and what to set.
//!
//! Several changes are compared with one and the same app: each interval is so much wider that all
//! of them together cover with 95 % (Bonferroni: a level of 1 - 0.05 / changes each), and what
//! ends a comparison early has to be far surer (1 - 0.001 / changes; Haybittle 1971, Peto 1976), so
//! that looking after every block finds nothing that is not there.

use super::Search;
use super::constants::{
    EQUIVALENCE, KNOBS_BLOCKS_LEAST, KNOBS_ERROR, KNOBS_ERROR_EARLY, START_SD_DEGREES,
    START_SD_LOG, STARTS_IN_A_RATIO,
};
use super::fresh::Arm;
use super::screen::Measured;
use crate::stats::{self, Estimate, PriorSpread};
use crate::terms::{Configuration, KnobVerdict, Obstacle, Variant};

/// What one change does.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeAnswer {
    pub capacity: Option<Estimate>,
    pub memory: Option<Estimate>,
    pub verdict: KnobVerdict,
    /// Seconds that a verdict would need.
    pub more_s: Option<f64>,
    /// Why it was not run.
    pub reason: Option<Obstacle>,
}

/// Changes beside the app without them, or beside the same changes elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VariantAnswer {
    pub variant: Variant,
    pub configuration: Configuration,
    pub capacity: Estimate,
    pub memory: Option<Estimate>,
}

/// What the knobs do.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobsAnswer {
    pub at: Configuration,
    /// Of each interval of `changes`.
    pub level: f64,
    /// In the plan's order.
    pub changes: Vec<ChangeAnswer>,
    pub together: Option<VariantAnswer>,
    /// Beside the recommended changes at `at`.
    pub neighbours: Vec<VariantAnswer>,
    pub recommended: Variant,
    pub gain: Option<Estimate>,
    /// The configuration to run them with: another than `at` only beyond doubt.
    pub recommended_at: Configuration,
}

impl Search {
    /// `None` before any was tried.
    pub(super) fn knobs_answer(&self) -> Option<KnobsAnswer> {
        let at = self.knobs.at.or_else(|| self.to_recommend().filter(|_| self.has_changes()))?;
        let recommended = self.recommended();
        let neighbours = self.neighbour_answers(recommended);
        let moved = neighbours
            .iter()
            .filter(|it| it.capacity.low > 1.0)
            .max_by(|a, b| a.capacity.value.total_cmp(&b.capacity.value));
        let is_some = !recommended.is_as_it_is();
        Some(KnobsAnswer {
            at,
            level: self.level(KNOBS_ERROR),
            changes: (0..self.plan.changes.len()).map(|it| self.change_answer(it)).collect(),
            together: self.together_answer(),
            recommended_at: moved.map_or(at, |it| it.configuration),
            neighbours,
            recommended,
            gain: self.capacity_ratio(recommended, self.level(KNOBS_ERROR)).filter(|_| is_some),
        })
    }

    fn has_changes(&self) -> bool {
        !self.plan.changes.is_empty()
    }

    /// Changes that are compared.
    fn tried(&self) -> impl Iterator<Item = usize> + '_ {
        let changes = self.plan.changes.iter().enumerate();
        changes
            .filter(|(at, it)| it.ruled_out.is_none() && !self.knobs.untried.contains_key(at))
            .map(|(at, _)| at)
    }

    fn level(&self, error: f64) -> f64 {
        1.0 - error / self.tried().count().max(1) as f64
    }

    /// Changes that more blocks could still say something of.
    pub(super) fn open_changes(&self) -> Vec<usize> {
        let is_out = |change: &usize| self.knobs.out.contains_key(change);
        self.tried().filter(|it| !is_out(it) && !self.is_decided(*it)).collect()
    }

    fn is_decided(&self, change: usize) -> bool {
        let Some(sure) = self.capacity_ratio(Variant::of(change), self.level(KNOBS_ERROR_EARLY))
        else {
            return false;
        };
        let is_same = || {
            let ratio = self.capacity_ratio(Variant::of(change), 0.90);
            ratio.is_some_and(|ratio| is_equivalent(&ratio))
        };
        sure.count >= u64::from(KNOBS_BLOCKS_LEAST)
            && (sure.low > 1.0 || sure.high < 1.0 || is_same())
    }

    /// Does any change look as if its help had to be checked further?
    pub(super) fn seems_to_help(&self) -> bool {
        self.tried().any(|change| {
            let ratio = self.capacity_ratio(Variant::of(change), self.level(KNOBS_ERROR));
            ratio.is_some_and(|ratio| ratio.value > 1.0 + EQUIVALENCE)
        })
    }

    fn change_answer(&self, change: usize) -> ChangeAnswer {
        let known = self.plan.changes[change].ruled_out.as_ref();
        let out = known.or_else(|| self.knobs.out.get(&change));
        let untried = self.knobs.untried.get(&change);
        let variant = Variant::of(change);
        let capacity = self.capacity_ratio(variant, self.level(KNOBS_ERROR));
        let memory = self.memory_ratio(variant, self.level(KNOBS_ERROR));
        let verdict = match (out, &capacity) {
            (Some(_), _) => KnobVerdict::Out,
            (None, Some(capacity)) => self.verdict(variant, capacity, memory.as_ref()),
            (None, None) => KnobVerdict::Undecided,
        };
        let is_open = verdict == KnobVerdict::Undecided;
        let unknown = (is_open && capacity.is_none()).then_some(Obstacle::SessionEnded);
        let reason = out.or(untried).cloned().or(unknown);
        let more_s = capacity.filter(|_| is_open).map(|capacity| self.more_s(&capacity));
        ChangeAnswer { capacity, memory, verdict, more_s, reason }
    }

    /// One block alone says nothing, however far apart its two starts are.
    fn verdict(
        &self,
        variant: Variant,
        capacity: &Estimate,
        memory: Option<&Estimate>,
    ) -> KnobVerdict {
        if capacity.count < u64::from(KNOBS_BLOCKS_LEAST) {
            return KnobVerdict::Undecided;
        }
        let narrow = self.capacity_ratio(variant, 0.90);
        let is_same = narrow.is_some_and(|ratio| is_equivalent(&ratio));
        let saves = memory.is_some_and(|memory| memory.high < 1.0 - EQUIVALENCE);
        match capacity {
            _ if is_same && saves => KnobVerdict::Helps,
            _ if is_same => KnobVerdict::NoDifference,
            capacity if capacity.low > 1.0 => KnobVerdict::Helps,
            capacity if capacity.high < 1.0 => KnobVerdict::Hurts,
            _ => KnobVerdict::Undecided,
        }
    }

    /// An interval shrinks with the root of its blocks; it has to leave either 1 or the band.
    fn more_s(&self, capacity: &Estimate) -> f64 {
        let half = capacity.log_half_width();
        let off = capacity.value.ln().abs();
        let needed = off.max(EQUIVALENCE - off).max(EQUIVALENCE / 3.0);
        let blocks = capacity.count as f64 * ((half / needed).powi(2) - 1.0).max(1.0);
        blocks * STARTS_IN_A_RATIO * self.fresh_cost_s(self.knobs.pace)
    }

    /// The best helpful change of each knob, the best first.
    fn helpful(&self) -> Vec<(usize, f64)> {
        let mut best: Vec<(usize, f64)> = Vec::new();
        for change in self.tried() {
            let answer = self.change_answer(change);
            let Some(ratio) = answer.capacity.filter(|_| answer.verdict == KnobVerdict::Helps)
            else {
                continue;
            };
            let knob = |it: usize| &self.plan.changes[it].knob;
            match best.iter_mut().find(|(known, _)| knob(*known) == knob(change)) {
                Some(known) if known.1 >= ratio.value => {}
                Some(known) => *known = (change, ratio.value),
                None => best.push((change, ratio.value)),
            }
        }
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        best
    }

    /// Several helpful changes, as one variant.
    pub(super) fn to_be_checked_together(&self) -> Option<Variant> {
        let helpful = self.helpful();
        (helpful.len() > 1).then(|| Variant::of_all(helpful.iter().map(|(change, _)| *change)))
    }

    /// The helpful changes together where that was measured and is no worse than the best alone;
    /// else that one.
    pub(super) fn recommended(&self) -> Variant {
        let Some(&(best, alone)) = self.helpful().first() else { return Variant::AS_IT_IS };
        let is_no_worse = |it: &VariantAnswer| it.capacity.value >= alone * (1.0 - EQUIVALENCE);
        let together = self.together_answer().filter(is_no_worse);
        together.map_or(Variant::of(best), |together| together.variant)
    }

    fn together_answer(&self) -> Option<VariantAnswer> {
        let (variant, configuration) = (self.to_be_checked_together()?, self.knobs.at?);
        let capacity = self.capacity_ratio(variant, 1.0 - KNOBS_ERROR)?;
        let memory = self.memory_ratio(variant, 1.0 - KNOBS_ERROR);
        Some(VariantAnswer { variant, configuration, capacity, memory })
    }

    /// Configurations beside the chosen one with as many workers, which can be run.
    fn neighbours_in_threads(&self) -> Vec<Configuration> {
        let Some(at) = self.knobs.at else { return Vec::new() };
        let cells = self.cells.iter().filter(|(c, cell)| c.workers == at.workers && cell.is_open());
        let all: Vec<Configuration> = cells.map(|(&configuration, _)| configuration).collect();
        let below = all.iter().filter(|c| c.threads < at.threads).max_by_key(|c| c.threads);
        let above = all.iter().filter(|c| c.threads > at.threads).min_by_key(|c| c.threads);
        below.into_iter().chain(above).copied().collect()
    }

    /// Those that more blocks could still say something of.
    pub(super) fn open_neighbours(&self) -> Vec<Configuration> {
        let answers = self.neighbour_answers(self.recommended());
        let is_decided = |neighbour: &Configuration| {
            let mut found = answers.iter().filter(|it| it.configuration == *neighbour);
            found.any(|it| {
                it.capacity.high < 1.0 && it.capacity.count >= u64::from(KNOBS_BLOCKS_LEAST)
            })
        };
        self.neighbours_in_threads().into_iter().filter(|it| !is_decided(it)).collect()
    }

    fn neighbour_answers(&self, variant: Variant) -> Vec<VariantAnswer> {
        let neighbours = self.neighbours_in_threads();
        let level = 1.0 - KNOBS_ERROR / neighbours.len().max(1) as f64;
        let answer = |configuration: Configuration| {
            let arm = Arm { configuration, variant };
            let beside = Arm { configuration: self.knobs.at?, variant };
            let capacity = self.ratio_of(arm, beside, level, Figure::Capacity)?;
            let memory = self.ratio_of(arm, beside, level, Figure::Memory);
            Some(VariantAnswer { variant, configuration, capacity, memory })
        };
        if variant.is_as_it_is() {
            return Vec::new();
        }
        neighbours.into_iter().filter_map(answer).collect()
    }

    fn capacity_ratio(&self, variant: Variant, level: f64) -> Option<Estimate> {
        let (arm, beside) = self.beside_as_it_is(variant)?;
        self.ratio_of(arm, beside, level, Figure::Capacity)
    }

    fn memory_ratio(&self, variant: Variant, level: f64) -> Option<Estimate> {
        let (arm, beside) = self.beside_as_it_is(variant)?;
        self.ratio_of(arm, beside, level, Figure::Memory)
    }

    fn beside_as_it_is(&self, variant: Variant) -> Option<(Arm, Arm)> {
        let configuration = self.knobs.at?;
        let as_it_is = Arm { configuration, variant: Variant::AS_IT_IS };
        Some((Arm { configuration, variant }, as_it_is))
    }

    /// Geometric mean over the blocks that measured both.
    fn ratio_of(&self, arm: Arm, beside: Arm, level: f64, figure: Figure) -> Option<Estimate> {
        let measured = &self.knobs.measured;
        let in_block = |block: u32| move |it: &&Measured| it.block == block && it.arm == beside;
        let logs: Vec<f64> = measured
            .iter()
            .filter(|it| it.arm == arm)
            .filter_map(|it| {
                let other = measured.iter().find(in_block(it.block))?;
                Some((figure.of(it)? / figure.of(other)?).ln())
            })
            .collect();
        let log = stats::shrunk_interval(&logs, self.screen_spread(figure), level)?;
        let [value, low, high] = [log.value, log.low, log.high].map(f64::exp);
        Some(Estimate { value, low, high, count: log.count })
    }

    /// What a ratio of two starts scatters by before any is compared.
    fn screen_spread(&self, figure: Figure) -> PriorSpread {
        let measured = &self.knobs.measured;
        let squares = measured.iter().map(|it| it.capacity.sd_log.powi(2)).sum::<f64>();
        let probes = match figure {
            Figure::Capacity => squares / measured.len().max(1) as f64,
            Figure::Memory => 0.0,
        };
        let variance = STARTS_IN_A_RATIO * (probes + START_SD_LOG.powi(2));
        PriorSpread { variance, degrees: START_SD_DEGREES }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Capacity,
    Memory,
}

impl Figure {
    fn of(self, measured: &Measured) -> Option<f64> {
        match self {
            Self::Capacity => Some(measured.capacity.rps),
            Self::Memory => measured.capacity.memory_bytes.filter(|it| *it > 0).map(|it| it as f64),
        }
    }
}

/// The whole interval lies within the band in which capacities are as good as each other.
fn is_equivalent(ratio: &Estimate) -> bool {
    ratio.low > 1.0 - EQUIVALENCE && ratio.high < 1.0 + EQUIVALENCE
}
