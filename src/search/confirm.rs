//! Making sure: the winner, the reference and whatever is close are measured again on fresh starts,
//! interleaved in random order, and only these figures are printed.

use super::ask::TrialRequest;
use super::belief::{Most, Sides, after_burst, observe};
use super::blocks::{arrivals_within, fill, shuffled};
use super::constants::{
    BEATEN, BLOCKS_EVER, BLOCKS_LEAST, BLOCKS_MAX, BOLD, CLOSE, FAR_BEATEN, FAR_BEHIND, PLAUSIBLE,
    PRECISION, PROBES_A_START, PROBES_A_START_MOST, START_PRIOR_SD_LOG, SURELY,
};
use super::estimates::{best_confirmed, of_blocks, ratio};
use super::hold::{kept_at_least_s, kept_s};
use super::ledger::Ledger;
use super::{loads, pursue, ties};
use crate::stats::RatePosterior;
use crate::terms::{Configuration, SearchNote, TrialPurpose, TrialSummary};

/// The blocks measured and to come.
#[derive(Debug, Clone)]
pub(super) struct Confirm {
    /// Winner of the race first, then the reference (unless it won), then what is close.
    finalists: Vec<Configuration>,
    block: u32,
    /// What of this block has not begun, last one next.
    queue: Vec<Configuration>,
    /// What runs, each on a place of its own.
    starts: Vec<(Configuration, Present)>,
    /// When this block began, seconds of the session.
    block_began_s: f64,
    /// Finalists that could not be measured again.
    left_out: Vec<Configuration>,
}

/// A start that runs: its probes, and what they say.
#[derive(Debug, Clone, Default)]
struct Present {
    probes: u32,
    sides: Sides,
    /// `None` before its burst.
    belief: Option<RatePosterior>,
    /// Its capacity is known; what is left is its latency at this rate.
    latency_rps: Option<f64>,
}

impl Present {
    /// Where it is most divided; where all probes were held, on the bold side: what lies above all
    /// of them is what is to be known.
    fn rate(&self, belief: &RatePosterior) -> f64 {
        let is_all_held = self.probes >= 2 && !self.sides.missed;
        belief.quantile(if is_all_held { BOLD } else { 0.5 })
    }
}

impl Confirm {
    /// The first block; `None` when nothing was found, or there is no time for it.
    pub fn begin(ledger: &mut Ledger) -> Option<Self> {
        let pursued = pursue::best_in_race(ledger);
        let (winner, best_rps) = pursued.or_else(|| ledger.best_in_race())?;
        let mut finalists = vec![winner];
        let reference = ledger.plan.current;
        if winner != reference && ledger.cells[&reference].race.is_some() {
            finalists.push(reference);
        }
        let close = match pursued {
            Some(_) => pursue::finalists(ledger, &finalists),
            None => close_to(ledger, best_rps, &finalists),
        };
        let start_s = loads::block_start_s(ledger, best_rps);
        let block_s = |count: usize| ledger.in_turn(count) * start_s;
        // Of one that is far behind one block will do.
        let is_near = |c: &&Configuration| !is_far_behind(ledger, **c);
        let left_s = ledger.left_s() - kept_s(ledger);
        for configuration in close {
            // Never at the price of a second block.
            let again = finalists.iter().filter(is_near).count() + 1;
            if finalists.len() < 4 && block_s(finalists.len() + 1) + block_s(again) <= left_s {
                finalists.push(configuration);
            }
        }
        let most_s = ledger.left_s() - kept_at_least_s(ledger);
        if block_s(finalists.len()) > most_s && ledger.now_s > 0.0 {
            ledger.note(SearchNote::NoTimeToConfirm);
            return None;
        }
        Some(Self::block(ledger, finalists, 1))
    }

    fn block(ledger: &Ledger, finalists: Vec<Configuration>, block: u32) -> Self {
        let queue = shuffled(finalists.clone(), ledger.plan.seed, block);
        let (starts, block_began_s) = (Vec::new(), ledger.now_s);
        let left_out = Vec::new();
        let mut confirm = Self { finalists, block, queue, starts, block_began_s, left_out };
        confirm.fill(ledger);
        confirm
    }

    fn fill(&mut self, ledger: &Ledger) {
        fill(&mut self.queue, &mut self.starts, ledger.plan.places);
    }

    /// The finalists, as long as not every one has been measured again.
    pub fn first_block(&self) -> Option<&[Configuration]> {
        (self.block == 1).then_some(self.finalists.as_slice())
    }

    /// The next trial of each start of this block; none at its end.
    pub fn requests(&self, ledger: &Ledger) -> Vec<TrialRequest> {
        let open = self.starts.iter().filter(|(at, _)| ledger.is_open(at));
        open.map(|(at, start)| self.request(ledger, *at, start)).collect()
    }

    /// Each start begins with a burst: it warms the server up as it did in the race, so that no
    /// probe meets a cold one.
    fn request(
        &self,
        ledger: &Ledger,
        configuration: Configuration,
        start: &Present,
    ) -> TrialRequest {
        let probe = |rate_rps| TrialRequest {
            purpose: TrialPurpose::Confirm,
            ..loads::probe(ledger, configuration, rate_rps)
        };
        match (start.latency_rps, &start.belief) {
            (Some(rate_rps), _) => TrialRequest {
                common_arrivals: Some(arrivals_within(self.block, PROBES_A_START_MOST)),
                ..probe(rate_rps)
            },
            (None, None) => loads::warm_burst(ledger, configuration),
            (None, Some(belief)) => TrialRequest {
                common_arrivals: Some(arrivals_within(self.block, start.probes)),
                ..probe(start.rate(belief))
            },
        }
    }

    /// Takes the result.
    pub fn take(&mut self, ledger: &mut Ledger, summary: &TrialSummary) {
        let is_of = |(at, _): &(Configuration, Present)| *at == summary.configuration;
        let Some(place) = self.starts.iter().position(is_of) else { return };
        let Some(rate) = summary.offered.rate() else {
            self.starts[place].1.belief = Some(belief(ledger, summary));
            return;
        };
        // Of what is far behind nobody asks exactly, and the last part needs its time.
        let is_far_behind = is_far_behind(ledger, summary.configuration);
        let later = ledger.in_turn(self.queue.len());
        let start_s = loads::block_start_s(ledger, rate.as_per_second());
        let later_s = later * (start_s + ties::window_s(ledger));
        let is_late = ledger.left_s() - later_s - kept_at_least_s(ledger) < summary.load_s;
        let start = &mut self.starts[place].1;
        if start.latency_rps.take().is_some() {
            self.starts.remove(place);
            self.fill(ledger);
            let cell = ledger.cell_mut(summary.configuration);
            cell.latencies_s.push(crate::model::common_p95_s(&summary.summary));
            return;
        }
        let Some(belief) = &mut start.belief else { return };
        observe(belief, rate.as_per_second(), summary);
        ledger.powers = belief.powers().or(ledger.powers);
        start.probes += 1;
        start.sides.take(summary);
        let is_between = start.sides.held && start.sides.missed;
        let is_one_sided = !is_between && start.probes < PROBES_A_START_MOST;
        let is_more_worth = start.probes < PROBES_A_START || (is_one_sided && !is_far_behind);
        if is_more_worth && !is_late {
            return;
        }
        let held_rps = belief.median();
        let cell = ledger.cell_mut(summary.configuration);
        cell.blocks.push((self.block, held_rps, belief.scatter_sd_log()));
        // In the first block it is not known yet what is as good.
        let is_asked = self.block > 1 && !is_late;
        let of_tie = ties::latency_rate(ledger, summary.configuration).filter(|_| is_asked);
        let latency_rps = pursue::latency_rate(ledger, held_rps).or(of_tie);
        self.starts[place].1 = Present { latency_rps, ..Present::default() };
        if latency_rps.is_none() {
            self.starts.remove(place);
            self.fill(ledger);
        }
    }

    /// One that could not be measured again is asked for no more; the others go on.
    pub fn leave_out(&mut self, ledger: &Ledger, configuration: Configuration) {
        self.left_out.push(configuration);
        self.finalists.retain(|it| *it != configuration);
        self.starts.retain(|(at, _)| *at != configuration);
        self.fill(ledger);
    }

    /// The next block, while it fits into the budget and would still sharpen the answer.
    pub fn next_block(mut self, ledger: &Ledger) -> Option<Self> {
        // A finalist that broke is out; what it left of the block goes on without it.
        let is_open = |c: &Configuration| ledger.is_open(c);
        if self.starts.iter().any(|(at, _)| !is_open(at)) {
            self.queue.retain(is_open);
            self.finalists.retain(is_open);
            self.starts.retain(|(at, _)| is_open(at));
            self.fill(ledger);
            return (!self.finalists.is_empty()).then_some(self);
        }
        if self.finalists.is_empty() {
            return None;
        }
        let each_s = (ledger.now_s - self.block_began_s) / self.finalists.len().max(1) as f64;
        let mut finalists = self.still_in(ledger);
        finalists.extend(overtaking(ledger, &self.left_out));
        // The first block had no windows for latencies.
        let window_s = if self.block == 1 { ties::window_s(ledger) } else { 0.0 };
        let next_s = (each_s + window_s) * finalists.len() as f64;
        let finer = (PRECISION / ledger.plan.precision).powi(2).max(1.0);
        let blocks_most = (BLOCKS_MAX * finer).min(BLOCKS_EVER) as u32;
        let is_over = self.block >= blocks_most || is_sharp(ledger, &finalists);
        if is_over || next_s + kept_s(ledger) > ledger.left_s() {
            return None;
        }
        let left_out = self.left_out;
        Some(Self { left_out, ..Self::block(ledger, finalists, self.block + 1) })
    }

    /// Finalists that are not beaten: another block of those that are would say nothing more.
    fn still_in(&self, ledger: &Ledger) -> Vec<Configuration> {
        if let Some(finalists) = pursue::still_in(ledger, &self.finalists) {
            return finalists;
        }
        let Some(best) = best_confirmed(ledger) else { return self.finalists.clone() };
        let is_beaten = |c: Configuration| {
            let below = match ledger.cells[&c].paired_blocks(&ledger.cells[&best]).count() {
                0 => return false,
                blocks if blocks < BLOCKS_LEAST => FAR_BEATEN,
                _ => BEATEN,
            };
            c != best && ratio(ledger, c, best, SURELY).is_some_and(|ratio| ratio.high < below)
        };
        self.finalists.iter().copied().filter(|c| !is_beaten(*c)).collect()
    }
}

/// Of a start's capacity, after its burst.
fn belief(ledger: &Ledger, summary: &TrialSummary) -> RatePosterior {
    let burst_rps = summary.summary.got_through_rps();
    let known = ledger.cells[&summary.configuration].race.as_ref();
    let (known_rps, known_sd) =
        known.map_or((burst_rps, START_PRIOR_SD_LOG), |it| (it.median(), it.sd_log()));
    let sd_log = known_sd.max(START_PRIOR_SD_LOG);
    // One that met a cold server bounds nothing.
    let most = Most::of(summary, ledger.cv2());
    let most = most.filter(|_| !ledger.warmth.is_cold_at_first());
    after_burst(known_rps, sd_log, most).knowing(ledger.powers)
}

/// Does it hold much less than the best one, by the race?
fn is_far_behind(ledger: &Ledger, configuration: Configuration) -> bool {
    let best = ledger.best_in_race();
    let race = ledger.cells[&configuration].race.as_ref();
    best.zip(race).is_some_and(|((_, rps), belief)| belief.median() < FAR_BEHIND * rps)
}

/// Of those that no block has measured, what promises more by the race than the best of the blocks
/// has turned out to hold: the race's winner was no good.
fn overtaking(ledger: &Ledger, left_out: &[Configuration]) -> Option<Configuration> {
    if pursue::best_in_race(ledger).is_some() {
        return None;
    }
    let best_rps = of_blocks(ledger, best_confirmed(ledger)?)?.value;
    let is_more = |(at, rps): &(Configuration, f64)| {
        let cell = &ledger.cells[at];
        let is_new = cell.blocks.is_empty() && !left_out.contains(at);
        is_new && cell.has_held && *rps * CLOSE > best_rps
    };
    ledger.raced().filter(is_more).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// Configurations whose race capacity is within 4 % of the best, least memory first.
fn close_to(ledger: &Ledger, best_rps: f64, known: &[Configuration]) -> Vec<Configuration> {
    let others = ledger.raced().filter(|(at, rps)| !known.contains(at) && *rps > best_rps * CLOSE);
    let mut close: Vec<Configuration> = others.map(|(at, _)| at).collect();
    close.sort_by_key(|&at| (ledger.memory_bytes(at).unwrap_or(u64::MAX), at));
    let plausible = plausible(ledger, known[0]);
    close.extend(plausible.filter(|c| !known.contains(c) && !close.contains(c)));
    close
}

/// The one behind the race's winner that is likeliest to be better all the same: a few unlucky
/// windows of a slow app must not decide.
fn plausible(ledger: &Ledger, winner: Configuration) -> Option<Configuration> {
    let high = |at: Configuration| ratio(ledger, at, winner, PLAUSIBLE).map(|ratio| ratio.high);
    let others = ledger.raced().map(|(at, _)| at).filter(|at| *at != winner);
    others
        .filter_map(|at| Some((at, high(at).filter(|high| *high > 1.0)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(at, _)| at)
}

/// What is printed would hardly change: the best one's capacity is known, and what is left beside
/// it differs from it by what is known too.
fn is_sharp(ledger: &Ledger, finalists: &[Configuration]) -> bool {
    if let Some(is_over) = pursue::is_sharp(ledger, finalists) {
        return is_over;
    }
    let Some(best) = best_confirmed(ledger) else { return false };
    let precision = ledger.plan.precision;
    let mut others = finalists.iter().filter(|c| **c != best);
    ledger.cells[&best].blocks.len() > BLOCKS_LEAST
        && of_blocks(ledger, best).is_some_and(|it| it.log_half_width() <= precision)
        && others.all(|c| {
            let ratio = ratio(ledger, *c, best, 0.95);
            ratio.is_none_or(|it| it.log_half_width() <= precision.max(PRECISION))
        })
}
