//! What bursts and windows say of a capacity: how each moves what is believed of it.
//!
//! In: a belief, and what a load showed. Out: the belief as it is then. Computes only.

use super::constants::{
    BURST_SD_LOG, COLLAPSED, FEWEST_ARRIVALS, MANY_CLIENTS, OUT_BY_BURST, REFUSED,
};
use crate::stats::{RatePosterior, mean_sd_log};
use crate::terms::{Edge, LoadSummary, TrialSummary, Verdict};

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
    /// What a trial at this rate, requests/s, said; where enough arrived, of the rate that did.
    pub fn of_trial(rate_rps: f64, summary: &TrialSummary) -> Self {
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

/// Lets one window move the belief: near the goal's edge by how near it was, else by which side. An
/// undecided one still leans to a side, and counts half.
pub(super) fn observe_window(belief: &mut RatePosterior, answer: &WindowAnswer) {
    if let Some(edge) = answer.edge {
        // Of a queue with Poisson arrivals whose requests vary as an exponential distribution does:
        // its share that waits longer than w is about exp(-(1/s - rate) w).
        let power = answer.rate_rps * edge.limit_s;
        belief.observe_late(answer.rate_rps, edge.excess_log, edge.excess_sd, power);
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
/// chance has it, and the server met those, not the rate. Of a load that was cut short it is what
/// came until then. `None` of clients, and where so few requests came that their number is chance.
fn arrived_rps(summary: &TrialSummary) -> Option<f64> {
    let load = &summary.summary;
    let is_whole = load.due >= FEWEST_ARRIVALS && summary.offered.rate().is_some();
    (is_whole && load.duration_s > 0.0).then(|| load.due as f64 / load.duration_s)
}

/// What a burst shows that nothing can exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Most {
    /// Requests/s.
    pub rps: f64,
    /// Standard deviation of its logarithm.
    pub sd_log: f64,
}

impl Most {
    /// What got through, unless there were fewer clients than the server has threads because more
    /// would have been too many. `cv2`: squared coefficient of variation of what a request takes.
    pub fn of(summary: &TrialSummary, cv2: f64) -> Option<Self> {
        let slots = summary.configuration.slots();
        let clients = summary.offered.clients();
        let is_cut = clients.is_some_and(|clients| (MANY_CLIENTS..slots).contains(&clients));
        Self::of_load(&summary.summary, cv2).filter(|_| !is_cut)
    }

    /// What got through with enough clients. `None` where nothing did, or many were refused: who
    /// turns away what comes at once may let more through of what comes one after the other.
    fn of_load(load: &LoadSummary, cv2: f64) -> Option<Self> {
        let rps = load.got_through_rps();
        let is_refused = load.failed_share() > REFUSED;
        // Also what the first seconds of a start are off by.
        let sd_log = BURST_SD_LOG.hypot(mean_sd_log(cv2, load.completed));
        (!is_refused && rps > 0.0).then_some(Self { rps, sd_log })
    }

    /// Surely below what is so much larger.
    pub fn is_below(self, rps: f64) -> bool {
        self.rps * (OUT_BY_BURST * self.sd_log).exp() < rps
    }

    /// No open load holds more than a closed one gets when it saturates.
    pub fn cap(self, belief: &mut RatePosterior) {
        belief.observe(self.rps * (1.0 + self.sd_log), false, self.sd_log);
    }
}

/// What is believed after a burst, before any rate was tried. `most`: what the burst showed.
pub(super) fn after_burst(prior_rps: f64, sd_log: f64, most: Option<Most>) -> RatePosterior {
    let mut belief = RatePosterior::with_prior(prior_rps, sd_log);
    if let Some(most) = most {
        most.cap(&mut belief);
    }
    belief
}

/// Lets one trial move the belief. What a server answers under too much is all that it can be
/// trusted with: Puma with one thread a worker, which waits on kept connections, answers 110/s to
/// clients that send again at once and 30/s of 95/s that come as they like.
pub(super) fn observe(belief: &mut RatePosterior, rate_rps: f64, summary: &TrialSummary) {
    observe_window(belief, &WindowAnswer::of_trial(rate_rps, summary));
    let answered_rps = summary.summary.throughput_rps;
    let has_collapsed = answered_rps > 0.0 && answered_rps < COLLAPSED * rate_rps;
    if summary.verdict == Verdict::No && has_collapsed {
        Most { rps: answered_rps, sd_log: BURST_SD_LOG }.cap(belief);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(good: u64, failed: u64) -> LoadSummary {
        let status = [("200".to_string(), good), ("503".to_string(), failed)].into();
        let completed = good + failed;
        LoadSummary { duration_s: 10.0, due: completed, completed, status, ..Default::default() }
    }

    #[test]
    fn few_replies_that_differ_much_bound_little() {
        let many = Most::of_load(&load(4000, 0), 1.0).unwrap();
        let few = Most::of_load(&load(40, 0), 4.0).unwrap();
        assert!(many.is_below(430.0) && !many.is_below(420.0), "{many:?}");
        assert!(!few.is_below(6.0), "{few:?}");
        let belief = |most: Most| after_burst(most.rps, 1.0, Some(most)).quantile(0.9) / most.rps;
        assert!(belief(many) < 1.1 && belief(few) > 1.2, "{} {}", belief(many), belief(few));
    }

    #[test]
    fn a_server_that_refuses_has_shown_no_most() {
        assert!(Most::of_load(&load(950, 50), 1.0).is_some());
        assert_eq!(Most::of_load(&load(800, 200), 1.0), None);
        assert_eq!(Most::of_load(&load(0, 0), 1.0), None);
    }
}
