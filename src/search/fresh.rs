//! The capacity of one fresh start: a burst, then some probes where the belief is most divided, and
//! where that is asked for its latency at a rate that is the same for all; once also what is left
//! of it without one of its pods.

use std::time::Duration;

use super::ask::TrialRequest;
use super::belief::{Most, after_burst, observe};
use super::constants::{LOOK_LEAST_S, LOST_POD_LOOK, SETTLE, USUAL_CV2, WINDOW_MOST_S};
use super::ledger::Ledger;
use super::loads;
use crate::stats::{Powers, RatePosterior};
use crate::terms::{Configuration, TrialPurpose, TrialSummary, Variant};

/// How long is looked at each start: many short looks at many starts tell more of what a change
/// does than long ones at few.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    probes: u32,
    duration_s: f64,
    /// Requests/s of one more look, at the latency.
    at_one_rate: Option<f64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { probes: 1, duration_s: LOOK_LEAST_S, at_one_rate: None }
    }
}

impl Pace {
    /// At which each start takes about `each_s` seconds, as far as that is possible. `at_one_rate`:
    /// requests/s at which each is looked at once more.
    pub fn of(ledger: &Ledger, each_s: f64, at_one_rate: Option<f64>) -> Self {
        let settle_s = SETTLE.as_secs_f64();
        let free_s = each_s - ledger.start_cost_s - loads::burst_s(ledger);
        let probes = if free_s < LOOK_LEAST_S + 1.5 * settle_s { 1 } else { 2 };
        let pace = Self { probes, duration_s: 0.0, at_one_rate };
        let duration_s = free_s / f64::from(pace.looks()) - settle_s;
        Self { duration_s: duration_s.clamp(LOOK_LEAST_S, WINDOW_MOST_S).round(), ..pace }
    }

    /// Seconds that one start takes, load included.
    pub fn start_s(self, ledger: &Ledger) -> f64 {
        let probe_s = SETTLE.as_secs_f64() + self.duration_s;
        ledger.start_cost_s + loads::burst_s(ledger) + f64::from(self.looks()) * probe_s
    }

    /// Windows of one start, after its burst.
    fn looks(self) -> u32 {
        self.probes + u32::from(self.at_one_rate.is_some())
    }

    /// The rate that all are looked at, where the next window is for that.
    fn rate_after(self, looks: u32) -> Option<f64> {
        self.at_one_rate.filter(|_| looks >= self.probes)
    }
}

/// Seconds that a look at what is left without a pod takes at most: to take one away takes no
/// longer than a start, before which all are.
pub(super) fn lost_pod_s(ledger: &Ledger) -> f64 {
    ledger.start_cost_s + (SETTLE + LOST_POD_LOOK).as_secs_f64()
}

/// What is started: a configuration of a variant of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arm {
    pub configuration: Configuration,
    pub variant: Variant,
}

impl Arm {
    pub fn of(request: &TrialRequest) -> Self {
        Self { configuration: request.configuration, variant: request.variant }
    }

    pub fn of_trial(summary: &TrialSummary) -> Self {
        Self { configuration: summary.configuration, variant: summary.variant }
    }
}

/// One start on its way.
#[derive(Debug, Clone, Default)]
pub(super) struct FreshStart {
    /// Windows seen.
    looks: u32,
    belief: Option<RatePosterior>,
    /// The start of the server that its last trial ran on.
    server_start: u32,
    /// See [`TrialRequest::pods_away`]; of its next trial.
    pods_away: u16,
}

/// What is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Known {
    pub capacity_rps: f64,
    pub burst_rps: f64,
    /// How far off a capacity may be that is told from the burst alone: standard deviation of its
    /// logarithm.
    pub after_burst_sd_log: f64,
    pub powers: Option<Powers>,
}

/// What one start came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Capacity {
    pub rps: f64,
    pub sd_log: f64,
    pub memory_bytes: Option<u64>,
    /// At the one rate; `None` where that wasn't asked for.
    pub latency: Option<Tail>,
}

/// Latency of a window, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tail {
    pub rate_rps: f64,
    pub p95_s: f64,
    pub p99_s: f64,
}

impl FreshStart {
    /// Its next trial.
    pub fn request(&self, ledger: &Ledger, arm: Arm, pace: Pace) -> TrialRequest {
        let (at, purpose) = (arm.configuration, TrialPurpose::Screen);
        let request = match &self.belief {
            None => TrialRequest { fresh_start: true, ..loads::burst(ledger, at) },
            Some(belief) => TrialRequest {
                duration: Duration::from_secs_f64(pace.duration_s),
                ..loads::probe(ledger, at, self.next_rps(belief, pace))
            },
        };
        let request = TrialRequest { purpose, variant: arm.variant, ..request };
        let (pods_away, duration) = (self.pods_away, LOST_POD_LOOK);
        match pods_away {
            0 => request,
            _ => TrialRequest { purpose: TrialPurpose::LostPod, duration, pods_away, ..request },
        }
    }

    /// Its last trial, once its capacity is known, is without one of its pods, at the rate that is
    /// the same for all.
    pub fn take_pod_away(&mut self) {
        self.pods_away = 1;
    }

    /// Is that its next trial?
    pub fn has_lost_pod(&self) -> bool {
        self.pods_away > 0
    }

    /// Is this start of the server the one that its last trial ran on? Where a session was cut off
    /// in between and goes on, it is another, which nothing has warmed up.
    pub fn was_on(&self, server_start: u32) -> bool {
        self.server_start == server_start
    }

    fn next_rps(&self, belief: &RatePosterior, pace: Pace) -> f64 {
        pace.rate_after(self.looks).unwrap_or_else(|| belief.median())
    }

    /// What it is taken to hold by now, requests/s; `None` before its burst.
    pub fn expected_rps(&self) -> Option<f64> {
        self.belief.as_ref().map(RatePosterior::median)
    }

    /// Takes the next result; the capacity once all windows are done. `known`: the capacity and the
    /// burst of the same configuration of the app as it is; a change that lets twice as much
    /// through begins its search there.
    pub fn take(&mut self, summary: &TrialSummary, known: Known, pace: Pace) -> Option<Capacity> {
        self.server_start = summary.start;
        let Some(rate) = summary.offered.rate() else {
            let burst_rps = summary.summary.got_through_rps();
            let prior = known.capacity_rps * burst_rps / known.burst_rps;
            let most = Most::of(summary, USUAL_CV2);
            let belief = after_burst(prior.max(0.01), known.after_burst_sd_log, most);
            self.belief = Some(belief.knowing(known.powers));
            return None;
        };
        let belief = self.belief.as_mut()?;
        observe(belief, rate.as_per_second(), summary);
        let latency_s = &summary.summary.latency_s;
        let tail = |rate_rps| Tail { rate_rps, p95_s: latency_s.p95, p99_s: latency_s.p99 };
        let latency = pace.rate_after(self.looks).map(tail);
        self.looks += 1;
        (self.looks >= pace.looks()).then(|| Capacity {
            rps: belief.median(),
            sd_log: belief.scatter_sd_log(),
            memory_bytes: summary.memory_bytes,
            latency,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::plan::tests_plan;

    #[test]
    fn without_a_pod_what_runs_is_offered_the_rate_that_is_the_same_for_all() {
        let ledger = Ledger::new(tests_plan());
        let arm = Arm { configuration: ledger.plan.current, variant: Variant::AS_IT_IS };
        let pace = Pace { at_one_rate: Some(70.0), ..Pace::default() };
        let belief = Some(RatePosterior::with_prior(100.0, 0.2));
        let mut start = FreshStart { looks: pace.probes, belief, ..FreshStart::default() };
        let whole = start.request(&ledger, arm, pace);
        assert_eq!((whole.purpose, whole.pods_away), (TrialPurpose::Screen, 0));
        start.looks = pace.looks();
        start.take_pod_away();
        let less = start.request(&ledger, arm, pace);
        assert_eq!((less.purpose, less.pods_away), (TrialPurpose::LostPod, 1));
        assert_eq!((less.offered, less.fresh_start), (whole.offered, false));
        assert!((less.offered.rate().unwrap().as_per_second() - 70.0).abs() < 1e-9);
        assert_eq!(less.load_s(), lost_pod_s(&ledger) - ledger.start_cost_s);
    }
}
