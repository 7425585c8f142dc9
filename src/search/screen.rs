//! What the plan's knobs do to the chosen configuration: each change alone on fresh starts beside
//! the app as it is, interleaved; then the helpful ones together, and what is recommended at the
//! neighbouring numbers of threads.
//!
//! A state machine like the rest of the search: what came of it is read in `screened.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::constants::{
    KEPT_FOR_CHECKS, KNOBS_BLOCKS_AIMED, KNOBS_BLOCKS_LEAST, KNOBS_BLOCKS_MOST,
    KNOBS_BLOCKS_MOST_NEIGHBOURS, KNOBS_BLOCKS_MOST_TOGETHER, KNOBS_SHARE_MOST, KNOBS_SHARE_OF_ONE,
};
use super::fresh::{Arm, Capacity, FreshStart, Known, Pace};
use super::{Search, SearchPlan, Stage, TrialRequest};
use crate::terms::{Configuration, KnobsNote, Note, Obstacle, TrialSummary, Variant};

/// One change that may be tried.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobChange {
    /// Of several changes of one knob only one can be made.
    pub knob: String,
    /// As it is printed.
    pub name: String,
    /// Why it cannot be tried here.
    pub ruled_out: Option<Obstacle>,
}

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

/// The blocks measured and to come.
#[derive(Debug, Clone)]
pub(super) struct Screen {
    round: Round,
    /// What is left of this block, last one next.
    queue: Vec<Arm>,
    start: FreshStart,
    /// Blocks of this round, this one included.
    blocks: u32,
    block_began_s: f64,
}

/// One start that was measured to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub block: u32,
    pub arm: Arm,
    pub capacity: Capacity,
}

/// All that is known of the knobs.
#[derive(Debug, Clone, Default)]
pub(super) struct Knobs {
    /// The configuration at which they are tried; `None` before that begins.
    pub at: Option<Configuration>,
    pub measured: Vec<Measured>,
    /// Changes that cannot be run, with the reason.
    pub out: BTreeMap<usize, Obstacle>,
    /// Changes for which there was no time.
    pub untried: BTreeMap<usize, Obstacle>,
    /// Blocks begun so far, over all rounds.
    blocks: u32,
    pub pace: Pace,
}

/// What the knobs may use of the budget.
pub(super) fn share(plan: &SearchPlan) -> Duration {
    let changes = plan.changes.iter().filter(|change| change.ruled_out.is_none()).count();
    plan.budget.mul_f64(match changes {
        0 => 0.0,
        1 => KNOBS_SHARE_OF_ONE,
        _ => KNOBS_SHARE_MOST,
    })
}

impl Search {
    /// What the search turns to when the choice is made.
    pub(super) fn begin_screen(&mut self) -> Stage {
        let changes = self.plan.changes.iter().enumerate();
        let tried: Vec<usize> =
            changes.filter(|(_, it)| it.ruled_out.is_none()).map(|(at, _)| at).collect();
        let Some(at) = self.to_recommend().filter(|_| !tried.is_empty()) else {
            return Stage::Done;
        };
        self.knobs.at = Some(at);
        let left_s = self.whole_time_left_s();
        let arms = tried.len() as f64 + 1.0;
        self.knobs.pace = self.pace(left_s / (KNOBS_BLOCKS_AIMED * arms));
        let start_s = self.fresh_cost_s(self.knobs.pace);
        // Of each block one start is the app as it is.
        let block_starts = left_s / (f64::from(KNOBS_BLOCKS_LEAST) * start_s);
        let fitting = (block_starts.floor() as usize).saturating_sub(1).min(tried.len());
        let more_s = f64::from(KNOBS_BLOCKS_LEAST) * 2.0 * start_s;
        for &change in &tried[fitting..] {
            self.knobs.untried.insert(change, Obstacle::NoTimeLeft { more_s });
        }
        match fitting {
            0 => Stage::Done,
            _ => self.screen_block(Round::Alone, 1),
        }
    }

    /// Time of the whole budget, knobs included, that is left.
    pub(super) fn whole_time_left_s(&self) -> f64 {
        (self.whole_budget.as_secs_f64() - self.now_s).max(0.0)
    }

    pub(super) fn screen_request(&self, screen: &Screen) -> Option<TrialRequest> {
        let &arm = screen.queue.last()?;
        let request = self.fresh_request(arm, &screen.start, self.knobs.pace);
        Some(TrialRequest { fresh_start: request.fresh_start || self.setbacks > 0, ..request })
    }

    pub(super) fn is_screening(&self) -> bool {
        matches!(self.stage, Stage::Screen(_))
    }

    pub(super) fn take_screen(&mut self, summary: &TrialSummary) {
        let Some(known) = self.known_of(summary.configuration) else { return };
        let Stage::Screen(screen) = &mut self.stage else { return };
        let Some(capacity) = screen.start.take(summary, known, self.knobs.pace) else { return };
        screen.start = FreshStart::default();
        let Some(arm) = screen.queue.pop() else { return };
        self.knobs.measured.push(Measured { block: self.knobs.blocks, arm, capacity });
    }

    /// Of a configuration that was never saturated the chosen one's figures are the best guess.
    fn known_of(&self, configuration: Configuration) -> Option<Known> {
        let of = |configuration: Configuration| {
            let cell = self.cells.get(&configuration)?;
            let burst_rps = cell.burst_rps.filter(|rps| *rps > 0.0)?;
            Some(Known { capacity_rps: cell.capacity_rps().unwrap_or(0.9 * burst_rps), burst_rps })
        };
        of(configuration).or_else(|| of(self.knobs.at?))
    }

    /// The start that runs cannot be measured, or never became ready. A change that does this is
    /// out, and the rest goes on; without the app as it is there is nothing to compare with.
    pub(super) fn screen_fails(&mut self, why: Obstacle) {
        let at = self.knobs.at;
        let Stage::Screen(screen) = &mut self.stage else { return };
        screen.start = FreshStart::default();
        let Some(arm) = screen.queue.pop() else { return };
        let mut changes = arm.variant.changes();
        match (screen.round, changes.next(), changes.next()) {
            (Round::Alone, Some(change), None) => {
                self.knobs.out.insert(change, why);
            }
            (Round::Neighbours, ..) if Some(arm.configuration) != at => {}
            _ => {
                self.notes.push(Note::Knobs(KnobsNote::KnobsNotCompared { why }).into());
                self.stage = Stage::Done;
            }
        }
    }

    /// The next block of this round, or of the next.
    pub(super) fn after_screen_block(&mut self, screen: &Screen) -> Stage {
        let took_s = self.now_s - screen.block_began_s;
        let most = match screen.round {
            Round::Alone => KNOBS_BLOCKS_MOST,
            Round::Together => KNOBS_BLOCKS_MOST_TOGETHER,
            Round::Neighbours => KNOBS_BLOCKS_MOST_NEIGHBOURS,
        };
        let kept = match screen.round {
            Round::Alone if screen.blocks >= KNOBS_BLOCKS_LEAST && self.seems_to_help() => {
                KEPT_FOR_CHECKS
            }
            _ => 0.0,
        };
        let has_time = took_s <= self.whole_time_left_s() * (1.0 - kept);
        if screen.blocks < most && has_time && self.arms(screen.round).len() > 1 {
            return self.screen_block(screen.round, screen.blocks + 1);
        }
        let next = match screen.round {
            Round::Alone => [Round::Together, Round::Neighbours].as_slice(),
            Round::Together => &[Round::Neighbours],
            Round::Neighbours => &[],
        };
        let start_s = self.fresh_cost_s(self.knobs.pace);
        let fits = |round: &&Round| {
            let arms = self.arms(**round).len();
            arms > 1 && arms as f64 * start_s <= self.whole_time_left_s()
        };
        match next.iter().find(fits) {
            Some(round) => self.screen_block(*round, 1),
            None => Stage::Done,
        }
    }

    fn screen_block(&mut self, round: Round, blocks: u32) -> Stage {
        self.knobs.blocks += 1;
        let mut queue = self.arms(round);
        // Told apart from the blocks that made sure of the choice.
        let number = 1000 + u64::from(self.knobs.blocks);
        let seed = self.plan.seed.wrapping_mul(1_000_003).wrapping_add(number);
        queue.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let (start, block_began_s) = (FreshStart::default(), self.now_s);
        Stage::Screen(Screen { round, queue, start, blocks, block_began_s })
    }

    /// What the next block of a round measures, the one that is compared with first; nothing is
    /// left to compare when it stands alone.
    fn arms(&self, round: Round) -> Vec<Arm> {
        let Some(at) = self.knobs.at else { return Vec::new() };
        let arm = |configuration, variant| Arm { configuration, variant };
        let as_it_is = arm(at, Variant::AS_IT_IS);
        match round {
            Round::Alone => {
                let open = self.open_changes().into_iter().map(|it| arm(at, Variant::of(it)));
                [as_it_is].into_iter().chain(open).collect()
            }
            Round::Together => {
                let together = self.to_be_checked_together();
                [as_it_is].into_iter().chain(together.map(|variant| arm(at, variant))).collect()
            }
            Round::Neighbours => {
                let variant = self.recommended();
                if variant.is_as_it_is() {
                    return Vec::new();
                }
                let open = self.open_neighbours().into_iter().map(|it| arm(it, variant));
                [arm(at, variant)].into_iter().chain(open).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests_plan;

    fn change(ruled_out: Option<Obstacle>) -> KnobChange {
        KnobChange { knob: "X".into(), name: "X=1".into(), ruled_out }
    }

    #[test]
    fn knobs_take_a_share_of_the_budget_only_where_there_are_some() {
        for (changes, expected) in [
            (vec![], 0.0),
            (vec![change(Some(Obstacle::DiedTwice))], 0.0),
            (vec![change(None)], 0.3),
            (vec![change(None); 3], 0.4),
        ] {
            let plan = SearchPlan { changes, ..tests_plan() };
            assert_eq!(share(&plan), plan.budget.mul_f64(expected));
        }
    }
}
