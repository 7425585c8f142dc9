//! What bursts and windows say of a capacity: how each moves what is believed of it.
//!
//! In: a belief, and what a load showed. Out: the belief as it is then. Computes only.

use super::constants::{
    BURST_SD_LOG, COLLAPSED, FEWEST_ARRIVALS, MANY_CLIENTS, NOISE_SD_LOG, STEEPNESS_ERROR,
    STEEPNESS_LEAST, STEEPNESS_MOST, WAIT_SHARE,
};
use crate::stats::RatePosterior;
use crate::terms::{Edge, TrialSummary, Verdict};

/// What a window at one rate said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowAnswer {
    pub rate_rps: f64,
    pub verdict: Verdict,
    /// What the plain figures say where the verdict is undecided; else the verdict.
    pub leaning: Verdict,
    pub resolution: f64,
    pub edge: Option<Edge>,
    pub is_valid: bool,
    /// Invalid because the generator had no time left: it will not get further another time.
    pub is_generator_busy: bool,
    pub load_s: f64,
}

impl WindowAnswer {
    pub(super) fn of_trial(rate_rps: f64, summary: &TrialSummary) -> Self {
        Self {
            rate_rps: arrived_rps(summary).unwrap_or(rate_rps),
            verdict: summary.verdict,
            leaning: summary.leaning,
            resolution: summary.resolution,
            edge: summary.edge,
            is_valid: summary.valid,
            is_generator_busy: false,
            load_s: summary.load_s,
        }
    }
}

/// On which sides of its capacity a start was probed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sides {
    pub held: bool,
    pub missed: bool,
}

impl Sides {
    /// Takes a window. One near the goal's edge tells where it is, on whichever side it was.
    pub fn take(&mut self, summary: &TrialSummary) {
        let is_near = summary.edge.is_some();
        self.held |= is_near || summary.leaning == Verdict::Yes;
        self.missed |= is_near || summary.leaning == Verdict::No;
    }
}

/// Where a window near the goal's edge puts the capacity: its rate, and how sure that is.
fn near(answer: &WindowAnswer) -> Option<(f64, f64)> {
    let edge = answer.edge?;
    let waits = answer.rate_rps * edge.limit_s * WAIT_SHARE;
    let power = waits.clamp(STEEPNESS_LEAST, STEEPNESS_MOST);
    let off = edge.excess_log / power;
    let sd = (edge.excess_sd / power).hypot(STEEPNESS_ERROR * off).hypot(NOISE_SD_LOG);
    Some((answer.rate_rps * (-off).exp(), sd))
}

/// Lets one window move the belief: near the goal's edge by how near it was, else by which side. An
/// undecided one still leans to a side, and counts half.
pub(super) fn observe_window(belief: &mut RatePosterior, answer: &WindowAnswer) {
    if let Some((capacity_rps, sd)) = near(answer) {
        belief.observe_near(capacity_rps, sd);
        return;
    }
    // The resolution is what a window tells apart nearly always: two standard deviations.
    let sd = answer.resolution / 2.0;
    let (held, sd) = match answer.verdict {
        Verdict::Yes => (true, sd),
        Verdict::No => (false, sd),
        Verdict::Undecided => (answer.leaning == Verdict::Yes, sd * 2.0),
    };
    belief.observe(answer.rate_rps, held, sd);
}

/// What came in the measured seconds, requests/s: of Poisson arrivals at a rate as many come as
/// chance has it, and the server met those, not the rate. `None` when the load ended early.
fn arrived_rps(summary: &TrialSummary) -> Option<f64> {
    let load = &summary.summary;
    let is_whole = load.due >= FEWEST_ARRIVALS && summary.offered.rate().is_some();
    (is_whole && load.duration_s > 0.0).then(|| load.due as f64 / load.duration_s)
}

/// What a burst shows that nothing can exceed, requests/s: what got through, unless there were
/// fewer clients than the server has threads because more would have been too many.
pub(super) fn most_rps(summary: &TrialSummary) -> Option<f64> {
    let slots = summary.configuration.slots();
    let is_cut =
        summary.offered.clients().is_some_and(|clients| (MANY_CLIENTS..slots).contains(&clients));
    (!is_cut).then(|| summary.summary.got_through_rps())
}

/// What is believed after a burst, before any rate was tried. `most_rps`: what the burst showed.
pub(super) fn after_burst(prior_rps: f64, sd_log: f64, most_rps: Option<f64>) -> RatePosterior {
    let mut belief = RatePosterior::with_prior(prior_rps, sd_log);
    cap(&mut belief, most_rps);
    belief
}

/// No open load holds more than a closed one gets when it saturates.
/// `most_rps`: what the burst showed, if it showed anything.
fn cap(belief: &mut RatePosterior, most_rps: Option<f64>) {
    if let Some(most_rps) = most_rps.filter(|rps| *rps > 0.0) {
        belief.observe(most_rps * (1.0 + BURST_SD_LOG), false, BURST_SD_LOG);
    }
}

/// Lets one trial move the belief. What a server answers under too much is all that it can be
/// trusted with: Puma with one thread a worker, which waits on kept connections, answers 110/s to
/// clients that send again at once and 30/s of 95/s that come as they like.
pub(super) fn observe(belief: &mut RatePosterior, rate_rps: f64, summary: &TrialSummary) {
    observe_window(belief, &WindowAnswer::of_trial(rate_rps, summary));
    let answered_rps = summary.summary.throughput_rps;
    if summary.verdict == Verdict::No && answered_rps < COLLAPSED * rate_rps {
        cap(belief, Some(answered_rps));
    }
}
