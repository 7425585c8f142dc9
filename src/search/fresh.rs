//! The capacity of one fresh start: a burst, then some probes where the belief is most divided.

use super::climb::{cap, observe};
use super::{Search, TrialRequest};
use crate::stats::RatePosterior;
use crate::terms::{Configuration, TrialPurpose, TrialSummary, Variant};

/// Probes on each start.
pub(super) const PROBES: u32 = 3;
/// Before it is probed, a start holds what is known beforehand, give or take this.
const PRIOR_SD_LOG: f64 = 0.15;

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

impl PartialEq for FreshStart {
    fn eq(&self, other: &Self) -> bool {
        self.probes == other.probes && self.belief.is_some() == other.belief.is_some()
    }
}

/// What is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Known {
    pub capacity_rps: f64,
    pub burst_rps: f64,
}

/// What one start came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Capacity {
    pub rps: f64,
    pub sd_log: f64,
    pub memory_bytes: Option<u64>,
}

impl Search {
    /// The next trial of a start.
    pub(super) fn fresh_request(&self, arm: Arm, start: &FreshStart) -> TrialRequest {
        let request = match &start.belief {
            None => TrialRequest { fresh_start: true, ..self.burst_request(arm.configuration) },
            Some(belief) => {
                self.probe_request(arm.configuration, belief.median(), TrialPurpose::Screen)
            }
        };
        TrialRequest { purpose: TrialPurpose::Screen, variant: arm.variant, ..request }
    }

    /// Seconds that one start takes, load included.
    pub(super) fn fresh_cost_s(&self, rate_rps: f64) -> f64 {
        let request = self.probe_request(self.plan.current, rate_rps, TrialPurpose::Screen);
        let probe_s = (request.warm_up + request.duration).as_secs_f64();
        self.start_cost_s + self.burst_s() + f64::from(PROBES) * probe_s
    }
}

impl FreshStart {
    /// Takes the next result; the capacity once all probes are done. `known`: the capacity and the
    /// burst of the same configuration of the app as it is; a change that lets twice as much
    /// through begins its search there.
    pub(super) fn take(&mut self, summary: &TrialSummary, known: Known) -> Option<Capacity> {
        let Some(rate) = summary.offered.rate() else {
            let burst_rps = summary.summary.throughput_rps;
            let prior = known.capacity_rps * burst_rps / known.burst_rps;
            let mut belief = RatePosterior::with_prior(prior.max(0.01), PRIOR_SD_LOG);
            cap(&mut belief, burst_rps);
            self.belief = Some(belief);
            return None;
        };
        let belief = self.belief.as_mut()?;
        observe(belief, rate.as_per_second(), summary);
        self.probes += 1;
        (self.probes >= PROBES).then(|| Capacity {
            rps: belief.median(),
            sd_log: belief.sd_log(),
            memory_bytes: summary.memory_bytes,
        })
    }
}
