//! What came of the knobs: a ratio with its interval for each change, a verdict, and what to set.
//!
//! Several changes are compared with one and the same app: each interval is so much wider that all
//! of them together cover with 95 % (Bonferroni: a level of 1 - 0.05 / changes each), and what
//! ends a comparison early has to be far surer (1 - 0.001 / changes; Haybittle 1971, Peto 1976), so
//! that looking after every block finds nothing that is not there.

use std::collections::BTreeMap;

use super::constants::{
    EQUIVALENCE, GUESS_DEGREES, KNOBS_BLOCKS_LEAST, KNOBS_ERROR, KNOBS_ERROR_EARLY, START_SD_LOG,
    STARTS_IN_A_RATIO,
};
use super::fresh::{Arm, Capacity, Pace, Tail};
use super::ledger::Ledger;
use crate::stats::{self, Estimate, PriorSpread};
use crate::terms::{AtOneRate, Configuration, KnobVerdict, Obstacle, Variant, WithAPodLess};

/// Looks at what a way does without one of its pods, until one of them could be measured: a second
/// try, as other trials have.
const LOST_POD_LOOKS_MOST: usize = 2;

/// What one change does.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeAnswer {
    pub capacity: Option<Estimate>,
    pub memory: Option<Estimate>,
    pub verdict: KnobVerdict,
    /// Seconds that a verdict would need.
    pub more_s: Option<f64>,
    pub at_one_rate: Option<AtOneRate>,
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
    /// Of the app as it is.
    pub at_one_rate: Option<AtOneRate>,
    pub together: Option<VariantAnswer>,
    /// Beside the recommended changes at `at`.
    pub neighbours: Vec<VariantAnswer>,
    pub recommended: Variant,
    pub gain: Option<Estimate>,
    /// The configuration to run them with: another than `at` only beyond doubt.
    pub recommended_at: Configuration,
}

/// One start that was measured to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub block: u32,
    pub arm: Arm,
    pub capacity: Capacity,
}

/// One look at what is left of a way to cut the app once a pod was taken away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LostPod {
    pub block: u32,
    pub variant: Variant,
    /// `None`: it could not be measured.
    pub seen: Option<WithAPodLess>,
}

/// All that was measured of the knobs.
#[derive(Debug, Clone, Default)]
pub(super) struct Knobs {
    /// The configuration at which they are tried; `None` before that begins.
    pub at: Option<Configuration>,
    pub measured: Vec<Measured>,
    /// At most two for each variant, of which the second may have been measured.
    pub lost_pods: Vec<LostPod>,
    /// Changes that cannot be run, with the reason.
    pub out: BTreeMap<usize, Obstacle>,
    /// Changes for which there was no time.
    pub untried: BTreeMap<usize, Obstacle>,
    pub pace: Pace,
}

impl Knobs {
    /// Beside what is known of the app as it is.
    pub fn seen<'a>(&'a self, ledger: &'a Ledger) -> Screened<'a> {
        Screened { ledger, knobs: self }
    }
}

/// What came of the knobs so far.
#[derive(Clone, Copy)]
pub(super) struct Screened<'a> {
    ledger: &'a Ledger,
    knobs: &'a Knobs,
}

impl Screened<'_> {
    /// `None` before any was tried. `chosen`: what is recommended without them.
    pub fn answer(self, chosen: Option<Configuration>) -> Option<KnobsAnswer> {
        let changes = self.ledger.plan.changes.len();
        let at = self.knobs.at.or_else(|| chosen.filter(|_| changes > 0))?;
        let recommended = self.recommended();
        let neighbours = self.neighbour_answers(recommended);
        let moved = neighbours
            .iter()
            .filter(|it| it.capacity.low > 1.0)
            .max_by(|a, b| a.capacity.value.total_cmp(&b.capacity.value));
        let is_some = !recommended.is_as_it_is();
        let level = self.level(KNOBS_ERROR);
        Some(KnobsAnswer {
            at,
            level,
            changes: (0..changes).map(|it| self.change_answer(it)).collect(),
            at_one_rate: self.at_one_rate(Variant::AS_IT_IS),
            together: self.together_answer(),
            recommended_at: moved.map_or(at, |it| it.configuration),
            neighbours,
            recommended,
            gain: self.capacity_ratio(recommended, level).filter(|_| is_some),
        })
    }

    /// Changes that are compared.
    fn tried(&self) -> impl Iterator<Item = usize> {
        let changes = self.ledger.plan.changes.iter().enumerate();
        changes
            .filter(|(at, it)| it.ruled_out.is_none() && !self.knobs.untried.contains_key(at))
            .map(|(at, _)| at)
    }

    /// Those of them that may be recommended.
    fn choices(&self) -> impl Iterator<Item = usize> {
        self.tried().filter(|it| !self.ledger.plan.changes[*it].is_machine)
    }

    fn level(&self, error: f64) -> f64 {
        1.0 - error / self.tried().count().max(1) as f64
    }

    /// Changes that more blocks could still say something of.
    pub fn open_changes(&self) -> Vec<usize> {
        let is_out = |change: &usize| self.knobs.out.contains_key(change);
        self.tried().filter(|it| !is_out(it) && !self.is_decided(*it)).collect()
    }

    fn is_decided(&self, change: usize) -> bool {
        let variant = Variant::of(change);
        let sure = self.capacity_ratio(variant, self.level(KNOBS_ERROR_EARLY));
        sure.is_some_and(|sure| {
            sure.count >= u64::from(KNOBS_BLOCKS_LEAST)
                && (sure.low > 1.0 || sure.high < 1.0 || self.is_same(variant))
        })
    }

    /// The whole interval lies within the band in which capacities are as good as each other.
    fn is_same(&self, variant: Variant) -> bool {
        let ratio = self.capacity_ratio(variant, 0.90);
        ratio.is_some_and(|it| it.low > 1.0 - EQUIVALENCE && it.high < 1.0 + EQUIVALENCE)
    }

    /// Does any change look as if its help had to be checked further?
    pub fn seems_to_help(&self) -> bool {
        self.choices().any(|change| {
            let ratio = self.capacity_ratio(Variant::of(change), self.level(KNOBS_ERROR));
            ratio.is_some_and(|ratio| ratio.value > 1.0 + EQUIVALENCE)
        })
    }

    fn change_answer(&self, change: usize) -> ChangeAnswer {
        let known = self.ledger.plan.changes[change].ruled_out.as_ref();
        let out = known.or_else(|| self.knobs.out.get(&change));
        let untried = self.knobs.untried.get(&change);
        let arms = self.beside_as_it_is(Variant::of(change));
        let ratio = arms.and_then(|arms| self.compared(arms, self.level(KNOBS_ERROR)));
        let verdict = match (out, &ratio) {
            (Some(_), _) => KnobVerdict::Out,
            (None, Some(ratio)) => self.verdict(ratio),
            (None, None) => KnobVerdict::Undecided,
        };
        let is_open = verdict == KnobVerdict::Undecided;
        let unknown = (is_open && ratio.is_none()).then_some(Obstacle::SessionEnded);
        let reason = out.or(untried).cloned().or(unknown);
        let more_s = ratio.filter(|_| is_open).map(|ratio| self.more_s(&ratio.capacity));
        let (capacity, memory) = (ratio.map(|it| it.capacity), ratio.and_then(|it| it.memory));
        let at_one_rate = self.at_one_rate(Variant::of(change));
        ChangeAnswer { capacity, memory, verdict, more_s, at_one_rate, reason }
    }

    /// What was seen of this variant at the rate that is the same for all; `None`: nothing was.
    fn at_one_rate(&self, variant: Variant) -> Option<AtOneRate> {
        let arm = Arm { configuration: self.knobs.at?, variant };
        let of_arm = self.knobs.measured.iter().filter(|it| it.arm == arm);
        let all: Vec<(Tail, Option<u64>)> = of_arm
            .filter_map(|it| Some((it.capacity.latency?, it.capacity.memory_bytes)))
            .collect();
        let middle = |figure: fn(&Tail) -> f64| {
            let values: Vec<f64> = all.iter().map(|(tail, _)| figure(tail)).collect();
            stats::median(&values)
        };
        let p95_s = all.iter().map(|(tail, _)| tail.p95_s);
        let bytes: Vec<f64> = all.iter().filter_map(|(_, bytes)| Some((*bytes)? as f64)).collect();
        Some(AtOneRate {
            rate_rps: all.first()?.0.rate_rps,
            starts: all.len() as u32,
            latency_s_p95: middle(|tail| tail.p95_s)?,
            latency_s_p95_range: [
                p95_s.clone().fold(f64::INFINITY, f64::min),
                p95_s.fold(0.0, f64::max),
            ],
            latency_s_p99: middle(|tail| tail.p99_s)?,
            memory_bytes: stats::median(&bytes).map(|bytes| bytes as u64),
            pods: self.ledger.plan.pods_of(variant),
            with_a_pod_less: self.lost_pods(variant).find_map(|it| it.seen),
        })
    }

    fn lost_pods(&self, variant: Variant) -> impl Iterator<Item = &LostPod> {
        self.knobs.lost_pods.iter().filter(move |it| it.variant == variant)
    }

    /// Is it still to be seen what this way to cut the app does without one of several pods?
    pub fn lacks_lost_pod(&self, variant: Variant) -> bool {
        self.ledger.plan.pods_of(variant) > 1
            && self.lost_pods(variant).all(|it| it.seen.is_none())
            && self.lost_pods(variant).count() < LOST_POD_LOOKS_MOST
    }

    /// One block alone says nothing, however far apart its two starts are.
    fn verdict(&self, of: &VariantAnswer) -> KnobVerdict {
        if of.capacity.count < u64::from(KNOBS_BLOCKS_LEAST) {
            return KnobVerdict::Undecided;
        }
        let is_same = self.is_same(of.variant);
        let saves = of.memory.is_some_and(|memory| memory.high < 1.0 - EQUIVALENCE);
        match of.capacity {
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
        blocks * STARTS_IN_A_RATIO * self.knobs.pace.start_s(self.ledger)
    }

    /// The best helpful change of each knob, the best first.
    fn helpful(&self) -> Vec<(usize, f64)> {
        let mut best: Vec<(usize, f64)> = Vec::new();
        for change in self.choices() {
            let answer = self.change_answer(change);
            let helps = answer.capacity.filter(|_| answer.verdict == KnobVerdict::Helps);
            let Some(Estimate { value, .. }) = helps else { continue };
            let knob = |it: usize| &self.ledger.plan.changes[it].knob;
            match best.iter_mut().find(|(known, _)| knob(*known) == knob(change)) {
                Some(known) if known.1 >= value => {}
                Some(known) => *known = (change, value),
                None => best.push((change, value)),
            }
        }
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        best
    }

    /// Several helpful changes, as one variant.
    pub fn helpful_together(&self) -> Option<Variant> {
        let helpful = self.helpful();
        (helpful.len() > 1).then(|| Variant::of_all(helpful.iter().map(|(change, _)| *change)))
    }

    /// The helpful changes together where that was measured and is no worse than the best alone;
    /// else that one.
    pub fn recommended(&self) -> Variant {
        let Some(&(best, alone)) = self.helpful().first() else { return Variant::AS_IT_IS };
        let is_no_worse = |it: &VariantAnswer| it.capacity.value >= alone * (1.0 - EQUIVALENCE);
        let together = self.together_answer().filter(is_no_worse);
        together.map_or(Variant::of(best), |together| together.variant)
    }

    fn together_answer(&self) -> Option<VariantAnswer> {
        self.compared(self.beside_as_it_is(self.helpful_together()?)?, 1.0 - KNOBS_ERROR)
    }

    /// Configurations beside the chosen one with as many workers, which can be run.
    fn neighbours_in_threads(&self) -> Vec<Configuration> {
        let Some(at) = self.knobs.at else { return Vec::new() };
        let open = self.ledger.open().map(|(configuration, _)| configuration);
        let all: Vec<Configuration> = open.filter(|c| c.workers == at.workers).collect();
        let below = all.iter().filter(|c| c.threads < at.threads).max_by_key(|c| c.threads);
        let above = all.iter().filter(|c| c.threads > at.threads).min_by_key(|c| c.threads);
        below.into_iter().chain(above).copied().collect()
    }

    /// Those that more blocks could still say something of.
    pub fn open_neighbours(&self) -> Vec<Configuration> {
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
        let Some(at) = self.knobs.at.filter(|_| !variant.is_as_it_is()) else { return Vec::new() };
        let neighbours = self.neighbours_in_threads();
        let level = 1.0 - KNOBS_ERROR / neighbours.len().max(1) as f64;
        let arm = |configuration| Arm { configuration, variant };
        let answer = |configuration| self.compared((arm(configuration), arm(at)), level);
        neighbours.into_iter().filter_map(answer).collect()
    }

    fn capacity_ratio(&self, variant: Variant, level: f64) -> Option<Estimate> {
        let (arm, other) = self.beside_as_it_is(variant)?;
        self.capacity(arm, other, level)
    }

    fn beside_as_it_is(&self, variant: Variant) -> Option<(Arm, Arm)> {
        let configuration = self.knobs.at?;
        let arm = |variant| Arm { configuration, variant };
        Some((arm(variant), arm(Variant::AS_IT_IS)))
    }

    /// `None` before a block has measured both.
    fn compared(&self, (arm, other): (Arm, Arm), level: f64) -> Option<VariantAnswer> {
        let capacity = self.capacity(arm, other, level)?;
        let bytes = |it: &Measured| it.capacity.memory_bytes.filter(|it| *it > 0);
        let memory = self.ratio(arm, other, level, 0.0, |it| Some(bytes(it)? as f64));
        let Arm { configuration, variant } = arm;
        Some(VariantAnswer { variant, configuration, capacity, memory })
    }

    fn capacity(&self, arm: Arm, other: Arm, level: f64) -> Option<Estimate> {
        let measured = &self.knobs.measured;
        let squares = measured.iter().map(|it| it.capacity.sd_log.powi(2)).sum::<f64>();
        let probes = squares / measured.len().max(1) as f64;
        self.ratio(arm, other, level, probes, |it| Some(it.capacity.rps))
    }

    /// Geometric mean over the blocks that measured both. `probes`: variance of the figure's
    /// logarithm on one start, beside what starts differ by.
    fn ratio(
        &self,
        arm: Arm,
        other: Arm,
        level: f64,
        probes: f64,
        figure: impl Fn(&Measured) -> Option<f64>,
    ) -> Option<Estimate> {
        let measured = &self.knobs.measured;
        let within = |it: &Measured| {
            let beside = measured.iter().find(|of| of.block == it.block && of.arm == other)?;
            Some((figure(it)? / figure(beside)?).ln())
        };
        let logs: Vec<f64> =
            measured.iter().filter(|it| it.arm == arm).filter_map(within).collect();
        let variance = STARTS_IN_A_RATIO * (probes + START_SD_LOG.powi(2));
        let spread = PriorSpread { variance, degrees: GUESS_DEGREES };
        Some(stats::shrunk_interval(&logs, spread, level)?.exp())
    }
}
