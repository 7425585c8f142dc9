//! Making sure: the winner, the reference and whatever is close are measured again on fresh starts,
//! interleaved in random order, and only these figures are printed.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::climb::{cap, most_rps, observe};
use super::constants::{
    BEATEN, BLOCKS_EVER, BLOCKS_LEAST, BLOCKS_MAX, BOLD, FAR_BEATEN, FAR_BEHIND, PLAUSIBLE,
    PRECISION, PROBES_A_START, PROBES_A_START_MOST, START_PRIOR_SD_LOG, SURELY, WARM_BURST,
};
use super::{Search, TrialRequest};
use crate::stats::RatePosterior;
use crate::terms::{Configuration, SearchNote, TrialPurpose, TrialSummary, Verdict};

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
    has_held: bool,
    has_missed: bool,
    belief: Option<RatePosterior>,
    /// Its capacity is known; what is left is its latency at this rate.
    latency_rps: Option<f64>,
    /// When this block began, seconds of the session.
    block_began_s: f64,
}

impl Confirm {
    /// Where it is most divided; where all probes were held, on the bold side: what lies above all
    /// of them is what is to be known.
    fn rate(&self, belief: &RatePosterior) -> f64 {
        let is_all_held = self.probes >= 2 && !self.has_missed;
        belief.quantile(if is_all_held { BOLD } else { 0.5 })
    }

    /// Not every finalist has been measured again yet.
    pub fn is_first_block(&self) -> bool {
        self.block == 1
    }
}

/// All that are compared within a block meet the same arrivals in their first probe, in their
/// second, and so on.
pub(super) fn arrivals_within(block: u32, probe: u32) -> u32 {
    block.wrapping_mul(PROBES_A_START_MOST + 1).wrapping_add(probe)
}

impl Search {
    pub(super) fn begin_confirm(&mut self) -> Option<Confirm> {
        let pursued = self.pursued_in_race();
        let (winner, best_rps) = pursued.or_else(|| self.best_in_race())?;
        let mut finalists = vec![winner];
        let reference = self.plan.current;
        if winner != reference && self.cells[&reference].race.is_some() {
            finalists.push(reference);
        }
        let close = match pursued {
            Some(_) => self.pursued_finalists(&finalists),
            None => self.close_to(best_rps, &finalists),
        };
        let block_s = |count: usize| count as f64 * self.confirm_cost_s(best_rps);
        let left_s = self.time_left().as_secs_f64() - self.kept_for_hold_s();
        for configuration in close {
            // Never at the price of a second block.
            let again = finalists.iter().filter(|c| !self.is_far_behind(**c, best_rps)).count() + 1;
            if finalists.len() < 4 && block_s(finalists.len() + 1) + block_s(again) <= left_s {
                finalists.push(configuration);
            }
        }
        let most_s = self.time_left().as_secs_f64() - self.kept_at_least_s();
        if block_s(finalists.len()) > most_s && self.now_s > 0.0 {
            self.note(SearchNote::NoTimeToConfirm);
            return None;
        }
        Some(self.block(finalists, 1))
    }

    /// By the race: one block will do for it.
    fn is_far_behind(&self, configuration: Configuration, best_rps: f64) -> bool {
        let race = self.cells[&configuration].race.as_ref();
        race.is_some_and(|belief| belief.median() < FAR_BEHIND * best_rps)
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
        let mut close: Vec<Configuration> = close.into_iter().map(|(c, _)| c).collect();
        let plausible = self.plausible(known[0]);
        close.extend(plausible.filter(|c| !known.contains(c) && !close.contains(c)));
        close
    }

    /// The one behind the race's winner that is likeliest to be better all the same: a few
    /// unlucky windows of a slow app must not decide.
    fn plausible(&self, winner: Configuration) -> Option<Configuration> {
        let high = |c: Configuration| self.ratio(c, winner, PLAUSIBLE).map(|ratio| ratio.high);
        self.cells
            .iter()
            .filter(|(c, cell)| **c != winner && cell.is_open() && cell.capacity_rps().is_some())
            .filter_map(|(&c, _)| Some((c, high(c).filter(|high| *high > 1.0)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(c, _)| c)
    }

    fn block(&self, finalists: Vec<Configuration>, block: u32) -> Confirm {
        let mut queue = finalists.clone();
        let seed = self.plan.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(block));
        queue.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let belief = None;
        let (has_held, has_missed, block_began_s) = (false, false, self.now_s);
        let latency_rps = None;
        Confirm {
            finalists,
            block,
            queue,
            probes: 0,
            has_held,
            has_missed,
            belief,
            latency_rps,
            block_began_s,
        }
    }

    /// Each start begins with a burst: it warms the server up as it did in the race, so that no
    /// probe meets a cold one.
    pub(super) fn confirm_request(&self, confirm: &Confirm) -> Option<TrialRequest> {
        let &configuration = confirm.queue.last()?;
        if let Some(rate_rps) = confirm.latency_rps {
            return Some(self.probe_request(configuration, rate_rps, TrialPurpose::Confirm));
        }
        Some(match &confirm.belief {
            None => TrialRequest {
                fresh_start: true,
                duration: WARM_BURST,
                ..self.burst_request(configuration)
            },
            Some(belief) => TrialRequest {
                common_arrivals: Some(arrivals_within(confirm.block, confirm.probes)),
                ..self.probe_request(configuration, confirm.rate(belief), TrialPurpose::Confirm)
            },
        })
    }

    pub(super) fn take_confirm_burst(&mut self, summary: &TrialSummary) {
        let burst_rps = summary.summary.got_through_rps();
        let known = self.cells[&summary.configuration].race.as_ref();
        let (known_rps, known_sd) =
            known.map_or((burst_rps, START_PRIOR_SD_LOG), |it| (it.median(), it.sd_log()));
        let mut belief = RatePosterior::with_prior(known_rps, known_sd.max(START_PRIOR_SD_LOG));
        cap(&mut belief, most_rps(summary));
        if let super::Stage::Confirm(confirm) = &mut self.stage {
            confirm.belief = Some(belief);
        }
    }

    pub(super) fn take_confirm(&mut self, summary: &TrialSummary) {
        let Some(rate) = summary.offered.rate() else { return };
        let is_late = self.time_left().is_zero();
        let super::Stage::Confirm(confirm) = &mut self.stage else { return };
        if confirm.latency_rps.take().is_some() {
            confirm.queue.pop();
            self.take_latency(summary);
            return;
        }
        let Some(belief) = &mut confirm.belief else { return };
        observe(belief, rate.as_per_second(), summary);
        confirm.probes += 1;
        // One near the edge tells where it is, on whichever side it was.
        let is_near = summary.edge.is_some();
        confirm.has_held |= is_near || summary.leaning == Verdict::Yes;
        confirm.has_missed |= is_near || summary.leaning == Verdict::No;
        let is_between = confirm.has_held && confirm.has_missed;
        let is_one_sided = !is_between && confirm.probes < PROBES_A_START_MOST && !is_late;
        if confirm.probes < PROBES_A_START || is_one_sided {
            return;
        }
        (confirm.has_held, confirm.has_missed) = (false, false);
        let start = (confirm.block, belief.median(), belief.scatter_sd_log());
        confirm.belief = None;
        confirm.probes = 0;
        self.cell_mut(summary.configuration).blocks.push(start);
        let latency_rps = self.latency_rate(start.1);
        let super::Stage::Confirm(confirm) = &mut self.stage else { return };
        confirm.latency_rps = latency_rps;
        if latency_rps.is_none() {
            confirm.queue.pop();
        }
    }

    /// The next block, while it fits into the budget and would still sharpen the answer.
    pub(super) fn next_block(&mut self, mut done: Confirm) -> Option<Confirm> {
        // A finalist that broke is out; what it left of the block goes on without it.
        let is_open = |c: &Configuration| self.cells[c].is_open();
        if done.queue.last().is_some_and(|c| !is_open(c)) {
            done.queue.retain(is_open);
            done.finalists.retain(is_open);
            (done.probes, done.has_held, done.has_missed) = (0, false, false);
            (done.belief, done.latency_rps) = (None, None);
            return (!done.finalists.is_empty()).then_some(done);
        }
        let each_s = (self.now_s - done.block_began_s) / done.finalists.len().max(1) as f64;
        let finalists = self.still_in(&done);
        let next_s = each_s * finalists.len() as f64;
        let finer = (PRECISION / self.plan.precision).powi(2).max(1.0);
        let blocks_most = (BLOCKS_MAX * finer).min(BLOCKS_EVER) as u32;
        let is_over = done.block >= blocks_most || self.is_sharp(&finalists);
        if is_over || next_s + self.kept_for_hold_s() > self.time_left().as_secs_f64() {
            return None;
        }
        Some(self.block(finalists, done.block + 1))
    }

    /// Finalists that are not beaten: another block of those that are would say nothing more.
    fn still_in(&self, done: &Confirm) -> Vec<Configuration> {
        if let Some(finalists) = self.still_pursued(done) {
            return finalists;
        }
        let Some(best) = self.best_confirmed() else { return done.finalists.clone() };
        let is_beaten = |c: &Configuration| {
            *c != best
                && self.ratio(*c, best, SURELY).is_some_and(|ratio| {
                    match self.paired_blocks(*c, best).len() {
                        0 => false,
                        blocks if blocks < BLOCKS_LEAST => ratio.high < FAR_BEATEN,
                        _ => ratio.high < BEATEN,
                    }
                })
        };
        done.finalists.iter().copied().filter(|c| !is_beaten(c)).collect()
    }

    /// What is printed would hardly change: the best one's capacity is known, and what is left
    /// beside it differs from it by what is known too.
    fn is_sharp(&self, finalists: &[Configuration]) -> bool {
        if let Some(is_over) = self.is_pursuit_over(finalists) {
            return is_over;
        }
        let Some(best) = self.best_confirmed() else { return false };
        let blocks = &self.cells[&best].blocks;
        blocks.len() > BLOCKS_LEAST
            && self
                .blocks_estimate(best)
                .is_some_and(|it| it.log_half_width() <= self.plan.precision)
            && finalists
                .iter()
                .filter(|c| **c != best)
                .filter_map(|c| self.ratio(*c, best, 0.95))
                .all(|ratio| ratio.log_half_width() <= self.plan.precision.max(PRECISION))
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

    pub(super) fn confirm_cost_s(&self, rate_rps: f64) -> f64 {
        let request = self.probe_request(self.plan.current, rate_rps, TrialPurpose::Confirm);
        let probe_s = (request.warm_up + request.duration).as_secs_f64();
        let burst_s = (request.warm_up + WARM_BURST).as_secs_f64();
        self.start_cost_s + burst_s + f64::from(PROBES_A_START) * probe_s
    }
}
