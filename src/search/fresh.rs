//! The capacity of one fresh start: a burst, then some probes where the belief is most divided.

use std::time::Duration;

use super::ask::TrialRequest;
use super::belief::{Most, after_burst, observe};
use super::constants::{LOOK_LEAST_S, SETTLE, USUAL_CV2, WINDOW_MOST_S};
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
}

impl Default for Pace {
    fn default() -> Self {
        Self { probes: 1, duration_s: LOOK_LEAST_S }
    }
}

impl Pace {
    /// At which each start takes about `each_s` seconds, as far as that is possible.
    pub fn of(ledger: &Ledger, each_s: f64) -> Self {
        let settle_s = SETTLE.as_secs_f64();
        let free_s = each_s - ledger.start_cost_s - loads::burst_s(ledger);
        let probes = if free_s < LOOK_LEAST_S + 1.5 * settle_s { 1 } else { 2 };
        let duration_s = free_s / f64::from(probes) - settle_s;
        Self { probes, duration_s: duration_s.clamp(LOOK_LEAST_S, WINDOW_MOST_S).round() }
    }

    /// Seconds that one start takes, load included.
    pub fn start_s(self, ledger: &Ledger) -> f64 {
        let probe_s = SETTLE.as_secs_f64() + self.duration_s;
        ledger.start_cost_s + loads::burst_s(ledger) + f64::from(self.probes) * probe_s
    }
}

/// What is started: a configuration of a variant of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arm {
    pub configuration: Configuration,
    pub variant: Variant,
}

/// One start on its way.
#[derive(Debug, Clone, Default)]
pub(super) struct FreshStart {
    probes: u32,
    belief: Option<RatePosterior>,
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
}

impl FreshStart {
    /// Its next trial.
    pub fn request(&self, ledger: &Ledger, arm: Arm, pace: Pace) -> TrialRequest {
        let (at, purpose) = (arm.configuration, TrialPurpose::Screen);
        let request = match &self.belief {
            None => TrialRequest { fresh_start: true, ..loads::burst(ledger, at) },
            Some(belief) => TrialRequest {
                duration: Duration::from_secs_f64(pace.duration_s),
                ..loads::probe(ledger, at, belief.median())
            },
        };
        TrialRequest { purpose, variant: arm.variant, ..request }
    }

    /// What it is taken to hold by now, requests/s; `None` before its burst.
    pub fn expected_rps(&self) -> Option<f64> {
        self.belief.as_ref().map(RatePosterior::median)
    }

    /// Takes the next result; the capacity once all probes are done. `known`: the capacity and the
    /// burst of the same configuration of the app as it is; a change that lets twice as much
    /// through begins its search there.
    pub fn take(&mut self, summary: &TrialSummary, known: Known, pace: Pace) -> Option<Capacity> {
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
        self.probes += 1;
        (self.probes >= pace.probes).then(|| Capacity {
            rps: belief.median(),
            sd_log: belief.scatter_sd_log(),
            memory_bytes: summary.memory_bytes,
        })
    }
}
