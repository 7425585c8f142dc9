//! Making sure: the winner, the reference and whatever is close are measured again on fresh starts,
//! interleaved in random order, and only these figures are printed.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::climb::{cap, observe};
use super::{Search, TrialRequest};
use crate::stats::{self, RatePosterior};
use crate::terms::{Configuration, TrialPurpose, TrialSummary};

/// The blocks measured and to come.
#[derive(Debug, Clone)]
pub(super) struct Confirm {
    /// Winner of the race first, then the reference (unless it won), then what is close.
    pub finalists: Vec<Configuration>,
    block: u32,
    /// What is left of this block, last one next.
    queue: Vec<Configuration>,
    /// Probes done on the present start, and what they say.
    probes: u32,
    belief: Option<RatePosterior>,
    /// When this block began, seconds of the session.
    block_began_s: f64,
}

impl PartialEq for Confirm {
    fn eq(&self, other: &Self) -> bool {
        self.finalists == other.finalists
            && self.block == other.block
            && self.queue == other.queue
            && self.probes == other.probes
    }
}

/// Probes on each fresh start.
const PROBES: u32 = 3;
/// Before it is probed, a start holds what the race said, give or take this: wide enough that the
/// race, which chose the luckiest, has little say in the figure that is printed.
const PRIOR_SD_LOG: f64 = 0.15;
const BLOCKS_MAX: u32 = 8;

impl Search {
    pub(super) fn begin_confirm(&mut self) -> Option<Confirm> {
        let (winner, best_rps) = self.best_in_race()?;
        let mut finalists = vec![winner];
        let reference = self.plan.current;
        if winner != reference && self.cells[&reference].capacity_rps().is_some() {
            finalists.push(reference);
        }
        let close = self.close_to(best_rps, &finalists);
        let block_s = |count: usize| count as f64 * self.confirm_cost_s(best_rps);
        let left_s = self.time_left().as_secs_f64();
        for configuration in close {
            // Never at the price of a second block.
            if finalists.len() < 4 && block_s(finalists.len() + 1) * 2.0 <= left_s {
                finalists.push(configuration);
            }
        }
        if block_s(finalists.len()) > left_s && self.now_s > 0.0 {
            self.notes.push(
                "no time was left to measure the choice again; the figures are the race's own"
                    .to_string(),
            );
            return None;
        }
        Some(self.block(finalists, 1))
    }

    /// Configurations whose race capacity is within 4 % of the best, least memory first.
    fn close_to(&self, best_rps: f64, known: &[Configuration]) -> Vec<Configuration> {
        let mut close: Vec<(Configuration, u64)> = self
            .cells
            .iter()
            .filter(|(configuration, cell)| cell.is_open() && !known.contains(configuration))
            .filter(|(_, cell)| cell.capacity_rps().is_some_and(|rps| rps > best_rps * 0.96))
            .map(|(&configuration, cell)| (configuration, cell.memory_bytes.unwrap_or(u64::MAX)))
            .collect();
        close.sort_by_key(|&(configuration, memory)| (memory, configuration));
        close.into_iter().map(|(configuration, _)| configuration).collect()
    }

    fn block(&self, finalists: Vec<Configuration>, block: u32) -> Confirm {
        let mut queue = finalists.clone();
        let seed = self.plan.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(block));
        queue.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let belief = None;
        Confirm { finalists, block, queue, probes: 0, belief, block_began_s: self.now_s }
    }

    /// Each start begins with a burst: it warms the server up as it did in the race, so that no
    /// probe meets a cold one.
    pub(super) fn confirm_request(&self, confirm: &Confirm) -> Option<TrialRequest> {
        let &configuration = confirm.queue.last()?;
        Some(match &confirm.belief {
            None => TrialRequest { fresh_start: true, ..self.burst_request(configuration) },
            Some(belief) => {
                self.probe_request(configuration, belief.median(), TrialPurpose::Confirm)
            }
        })
    }

    pub(super) fn take_confirm_burst(&mut self, summary: &TrialSummary) {
        let burst_rps = summary.summary.throughput_rps;
        let known = self.cells[&summary.configuration].capacity_rps();
        let mut belief = RatePosterior::with_prior(known.unwrap_or(burst_rps), PRIOR_SD_LOG);
        cap(&mut belief, burst_rps);
        if let super::Stage::Confirm(confirm) = &mut self.stage {
            confirm.belief = Some(belief);
        }
    }

    pub(super) fn take_confirm(&mut self, summary: &TrialSummary) {
        let Some(rate) = summary.offered.rate() else { return };
        let super::Stage::Confirm(confirm) = &mut self.stage else { return };
        let Some(belief) = &mut confirm.belief else { return };
        observe(belief, rate.as_per_second(), summary);
        confirm.probes += 1;
        if confirm.probes < PROBES {
            return;
        }
        let start = (confirm.block, belief.median(), belief.sd_log());
        confirm.belief = None;
        confirm.probes = 0;
        confirm.queue.pop();
        self.cell_mut(summary.configuration).blocks.push(start);
    }

    /// The next block, while it fits into the budget and would still sharpen the answer.
    pub(super) fn next_block(&mut self, mut done: Confirm) -> Option<Confirm> {
        // A finalist that broke is out; what it left of the block goes on without it.
        let is_open = |c: &Configuration| self.cells[c].is_open();
        if done.queue.last().is_some_and(|c| !is_open(c)) {
            done.queue.retain(is_open);
            done.finalists.retain(is_open);
            done.probes = 0;
            done.belief = None;
            return (!done.finalists.is_empty()).then_some(done);
        }
        let took_s = self.now_s - done.block_began_s;
        let is_sharp = self.gain_width(&done).is_some_and(|width| width < 0.03);
        if done.block >= BLOCKS_MAX || is_sharp || took_s > self.time_left().as_secs_f64() {
            return None;
        }
        Some(self.block(done.finalists, done.block + 1))
    }

    /// Half width of the gain's 95 % interval, relative.
    fn gain_width(&self, confirm: &Confirm) -> Option<f64> {
        let [winner, reference, ..] = confirm.finalists[..] else { return None };
        let pairs = self.paired_blocks(winner, reference);
        let gain = stats::log_ratio_interval(&pairs, 0.95).filter(|_| pairs.len() >= 3)?;
        Some((gain.high / gain.low).ln() / 2.0)
    }

    /// Capacities of two configurations in the blocks that measured both, by block.
    pub(super) fn paired_blocks(&self, a: Configuration, b: Configuration) -> Vec<(f64, f64)> {
        let blocks_of_b = &self.cells[&b].blocks;
        self.cells[&a]
            .blocks
            .iter()
            .filter_map(|&(block, a_rps, _)| {
                let other = blocks_of_b.iter().find(|(other, ..)| *other == block)?;
                Some((a_rps, other.1))
            })
            .collect()
    }

    fn confirm_cost_s(&self, rate_rps: f64) -> f64 {
        let request = self.probe_request(self.plan.current, rate_rps, TrialPurpose::Confirm);
        let probe_s = (request.warm_up + request.duration).as_secs_f64();
        self.start_cost_s + self.burst_s() + f64::from(PROBES) * probe_s
    }
}
