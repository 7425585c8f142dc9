//! What the plan's knobs do to the chosen configuration: each change alone on fresh starts beside
//! the app as it is, interleaved; then the helpful ones together, and what is recommended at the
//! neighbouring numbers of threads. Of ways to cut the app into pods also what each does, once,
//! without one of them.
//!
//! A state machine like the rest of the search: what came of it is read in `screened.rs`.

use super::ask::TrialRequest;
use super::blocks::{fill, shuffled};
use super::constants::{
    CHANGE_PRIOR_SD_LOG, KEPT_FOR_CHECKS, KNOBS_BLOCKS_AIMED, KNOBS_BLOCKS_LEAST,
    KNOBS_BLOCKS_MOST, KNOBS_BLOCKS_MOST_NEIGHBOURS, KNOBS_BLOCKS_MOST_TOGETHER,
};
use super::fresh::{Arm, FreshStart, Known, Pace, lost_pod_s};
use super::ledger::Ledger;
use super::screened::{Knobs, LostPod, Measured};
use crate::terms::{
    Configuration, KnobsNote, Note, OPERATING_SHARE, Obstacle, TrialSummary, Variant, WithAPodLess,
};

/// What is compared now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Each change alone.
    Alone,
    /// Several helpful ones at once.
    Together,
    /// What is recommended, with other numbers of threads.
    Neighbours,
}

impl Round {
    /// The most blocks of it.
    fn blocks_most(self) -> u32 {
        match self {
            Self::Alone => KNOBS_BLOCKS_MOST,
            Self::Together => KNOBS_BLOCKS_MOST_TOGETHER,
            Self::Neighbours => KNOBS_BLOCKS_MOST_NEIGHBOURS,
        }
    }

    /// The rounds after it.
    fn later(self) -> &'static [Self] {
        match self {
            Self::Alone => &[Self::Together, Self::Neighbours],
            Self::Together => &[Self::Neighbours],
            Self::Neighbours => &[],
        }
    }

    /// What its next block measures, the one that is compared with first; nothing is left to
    /// compare when it stands alone.
    fn arms(self, ledger: &Ledger, knobs: &Knobs) -> Vec<Arm> {
        let Some(at) = knobs.at else { return Vec::new() };
        let seen = knobs.seen(ledger);
        let arm = |configuration, variant| Arm { configuration, variant };
        let (variant, others): (Variant, Vec<Arm>) = match self {
            Self::Alone => {
                let open = seen.open_changes().into_iter().map(|it| arm(at, Variant::of(it)));
                (Variant::AS_IT_IS, open.collect())
            }
            Self::Together => {
                let together = seen.helpful_together().map(|it| arm(at, it));
                (Variant::AS_IT_IS, together.into_iter().collect())
            }
            Self::Neighbours => {
                let variant = seen.recommended();
                let open = seen.open_neighbours().into_iter().filter(|_| !variant.is_as_it_is());
                (variant, open.map(|it| arm(it, variant)).collect())
            }
        };
        std::iter::once(arm(at, variant)).chain(others).collect()
    }
}

/// The blocks measured and to come.
#[derive(Debug, Clone)]
pub(super) struct Screen {
    round: Round,
    /// What of this block has not begun, last one next.
    queue: Vec<Arm>,
    /// What runs, each on a place of its own.
    starts: Vec<(Arm, FreshStart)>,
    /// Blocks of this round, this one included.
    blocks: u32,
    /// Blocks over all rounds, this one included.
    number: u32,
    block_began_s: f64,
}

impl Screen {
    /// The first block, of the changes that there is time for, at this configuration; `None` when
    /// there is nothing to be tried.
    pub fn begin(ledger: &Ledger, knobs: &mut Knobs, at: Configuration) -> Option<Self> {
        let changes = ledger.plan.changes.iter().enumerate();
        let tried: Vec<usize> =
            changes.filter(|(_, it)| it.ruled_out.is_none()).map(|(change, _)| change).collect();
        if tried.is_empty() {
            return None;
        }
        knobs.at = Some(at);
        let left_s = ledger.whole_left_s();
        let in_turn = ledger.in_turn(tried.len() + 1);
        let capacity_rps = ledger.cells.get(&at).and_then(|cell| cell.capacity_rps());
        let at_one_rate = capacity_rps.filter(|_| ledger.plan.compares_latency);
        let at_one_rate = at_one_rate.map(|rps| rps * OPERATING_SHARE);
        let once_s = |of: &[usize]| at_one_rate.map_or(0.0, |_| lost_pods_s(ledger, of));
        let each_s = (left_s - once_s(&tried)) / (KNOBS_BLOCKS_AIMED * in_turn);
        knobs.pace = Pace::of(ledger, each_s, at_one_rate);
        let least_s = f64::from(KNOBS_BLOCKS_LEAST) * knobs.pace.start_s(ledger);
        // Of each block one start is the app as it is.
        let needed_s = |of: &[usize]| ledger.in_turn(of.len() + 1) * least_s + once_s(of);
        let mut fitting = (1..=tried.len()).rev();
        let fitting = fitting.find(|&count| needed_s(&tried[..count]) <= left_s).unwrap_or(0);
        for &change in &tried[fitting..] {
            let more_s = 2.0 * least_s + once_s(&[change]);
            knobs.untried.insert(change, Obstacle::NoTimeLeft { more_s });
        }
        (fitting > 0).then(|| Self::block(ledger, knobs, Round::Alone, 1, 1))
    }

    fn block(ledger: &Ledger, knobs: &Knobs, round: Round, blocks: u32, number: u32) -> Self {
        // Told apart from the blocks that made sure of the choice.
        let queue = shuffled(round.arms(ledger, knobs), ledger.plan.seed, 1000 + number);
        let (starts, block_began_s) = (Vec::new(), ledger.now_s);
        let mut screen = Self { round, queue, starts, blocks, number, block_began_s };
        screen.fill(ledger);
        screen
    }

    fn fill(&mut self, ledger: &Ledger) {
        fill(&mut self.queue, &mut self.starts, ledger.plan.places);
    }

    /// The start of this arm is over, and makes room for the next.
    fn end(&mut self, ledger: &Ledger, arm: Arm) -> bool {
        let runs = self.starts.len();
        self.starts.retain(|(of, _)| *of != arm);
        let has_run = self.starts.len() < runs;
        self.fill(ledger);
        has_run
    }

    /// The next trial of each start of this block; none at its end.
    pub fn requests(&self, ledger: &Ledger, knobs: &Knobs) -> Vec<TrialRequest> {
        let request = |(arm, start): &(Arm, FreshStart)| start.request(ledger, *arm, knobs.pace);
        self.starts.iter().map(request).collect()
    }

    /// Takes the result.
    pub fn take(&mut self, ledger: &Ledger, knobs: &mut Knobs, summary: &TrialSummary) {
        let seen = knobs.seen(ledger);
        let is_to_lose = self.round == Round::Alone && seen.is_to_lose_a_pod(summary.variant);
        let of = |configuration| known(ledger, configuration);
        let Some(known) = of(summary.configuration).or_else(|| of(knobs.at?)) else { return };
        let arm = Arm::of_trial(summary);
        let mut starts = self.starts.iter_mut();
        let Some((_, start)) = starts.find(|(of, _)| *of == arm) else { return };
        let Some(capacity) = start.take(summary, known, knobs.pace) else { return };
        if is_to_lose && capacity.latency.is_some() {
            start.lose_a_pod();
        } else {
            self.end(ledger, arm);
        }
        knobs.measured.push(Measured { block: self.number, arm, capacity });
    }

    /// Takes what a start did without one of its pods, whatever that was: it says nothing of what
    /// the way holds with all of them.
    pub fn take_lost_pod(&mut self, ledger: &Ledger, knobs: &mut Knobs, summary: &TrialSummary) {
        let load = &summary.summary;
        let seen = summary.valid.then(|| WithAPodLess {
            pods_left: ledger.plan.pods_of(summary.variant).saturating_sub(1),
            latency_s_p95: load.latency_s.p95,
            latency_s_p99: load.latency_s.p99,
            failed_share: load.failed_share(),
        });
        self.end_a_pod_less(ledger, knobs, Arm::of_trial(summary), seen);
    }

    /// False where no start of this arm is without one of its pods.
    fn end_a_pod_less(
        &mut self,
        ledger: &Ledger,
        knobs: &mut Knobs,
        arm: Arm,
        seen: Option<WithAPodLess>,
    ) -> bool {
        let mut starts = self.starts.iter();
        let is_one = starts.any(|(of, start)| *of == arm && start.is_a_pod_less());
        if is_one {
            self.end(ledger, arm);
            knobs.lost_pods.push(LostPod { block: self.number, variant: arm.variant, seen });
        }
        is_one
    }

    /// A start that runs cannot be measured, or never became ready. A change that does this is
    /// out, and the rest goes on; without the app as it is there is nothing to compare with. False
    /// where nothing goes on.
    pub fn fail(
        &mut self,
        ledger: &mut Ledger,
        knobs: &mut Knobs,
        (arm, why): (Arm, Obstacle),
    ) -> bool {
        if self.end_a_pod_less(ledger, knobs, arm, None) || !self.end(ledger, arm) {
            return true;
        }
        let mut changes = arm.variant.changes();
        match (self.round, changes.next(), changes.next()) {
            (Round::Alone, Some(change), None) => {
                knobs.out.insert(change, why);
                true
            }
            (Round::Neighbours, ..) if Some(arm.configuration) != knobs.at => true,
            _ => {
                ledger.notes.push(Note::Knobs(KnobsNote::KnobsNotCompared { why }).into());
                false
            }
        }
    }

    /// The next block of this round, or of a later one.
    pub fn next_block(&self, ledger: &Ledger, knobs: &Knobs) -> Option<Self> {
        let (round, left_s) = (self.round, ledger.whole_left_s());
        // What is left without a pod is not looked at again.
        let once = knobs.lost_pods.iter().filter(|it| it.block == self.number).count();
        let once_s = ledger.in_turn(once) * lost_pod_s(ledger);
        let took_s = ledger.now_s - self.block_began_s - once_s;
        let is_judged = round == Round::Alone && self.blocks >= KNOBS_BLOCKS_LEAST;
        let is_kept = is_judged && knobs.seen(ledger).seems_to_help();
        let kept = if is_kept { KEPT_FOR_CHECKS } else { 0.0 };
        let arms = |round: Round| round.arms(ledger, knobs).len();
        let block = |round, blocks| Self::block(ledger, knobs, round, blocks, self.number + 1);
        let has_time = took_s <= left_s * (1.0 - kept);
        if self.blocks < round.blocks_most() && has_time && arms(round) > 1 {
            return Some(block(round, self.blocks + 1));
        }
        let start_s = knobs.pace.start_s(ledger);
        let fits = |arms: usize| arms > 1 && ledger.in_turn(arms) * start_s <= left_s;
        round.later().iter().find(|it| fits(arms(**it))).map(|it| block(*it, 1))
    }
}

/// Seconds that the looks at what is left without a pod take: once for the app as it is and for
/// each of these changes, where it has several pods.
fn lost_pods_s(ledger: &Ledger, changes: &[usize]) -> f64 {
    let changed = changes.iter().map(|change| Variant::of(*change));
    let ways = std::iter::once(Variant::AS_IT_IS).chain(changed);
    let several = ways.filter(|way| ledger.plan.pods_of(*way) > 1).count();
    ledger.in_turn(several) * lost_pod_s(ledger)
}

/// What is known of this configuration of the app as it is; `None` where it was never saturated:
/// the chosen one's figures are the best guess then.
fn known(ledger: &Ledger, configuration: Configuration) -> Option<Known> {
    let cell = ledger.cells.get(&configuration)?;
    let burst_rps = cell.burst_rps.filter(|rps| *rps > 0.0)?;
    let capacity_rps = cell.capacity_rps().unwrap_or(0.9 * burst_rps);
    let after_burst_sd_log = CHANGE_PRIOR_SD_LOG;
    Some(Known { capacity_rps, burst_rps, after_burst_sd_log, powers: ledger.powers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::plan::{KnobChange, SearchPlan, tests_plan};

    #[test]
    fn time_is_set_aside_for_a_look_at_each_way_that_has_a_pod_to_lose() {
        let change = |pods| KnobChange {
            knob: "pods".into(),
            name: "pods".into(),
            is_machine: false,
            pods: Some(pods),
            ruled_out: None,
        };
        let changes = vec![change(1), change(2), change(4)];
        // Pods of the app as it is, places, changes that are tried; looks one after another.
        type Case<'a> = (u16, usize, &'a [usize], f64);
        let cases: [Case<'_>; 5] = [
            (1, 1, &[], 0.0),
            (1, 1, &[0], 0.0),
            (1, 1, &[0, 1, 2], 2.0),
            (2, 1, &[1, 2], 3.0),
            (2, 2, &[1, 2], 2.0),
        ];
        for (pods, places, tried, expected) in cases {
            let plan = SearchPlan { changes: changes.clone(), pods, places, ..tests_plan() };
            let ledger = Ledger::new(plan);
            let looks = lost_pods_s(&ledger, tried) / lost_pod_s(&ledger);
            assert_eq!(looks, expected, "{pods} {places} {tried:?}");
        }
    }
}
