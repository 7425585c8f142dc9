//! What the search asks for, and what it is told.

use std::time::Duration;

use super::constants::HOLD_WARM_UP;
use crate::terms::{
    Arrivals, BootCause, Configuration, ConnectionMode, Offered, Rate, Stated, TrialPurpose,
    TrialSummary, Variant,
};

/// One trial that the search wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialRequest {
    pub configuration: Configuration,
    /// Changes to the app.
    pub variant: Variant,
    /// Start the server afresh first, even when this configuration runs already.
    pub fresh_start: bool,
    pub purpose: TrialPurpose,
    pub offered: Offered,
    /// Whole seconds.
    pub warm_up: Duration,
    /// Measured part.
    pub duration: Duration,
    /// Trials of equal numbers have the same arrivals but for their rate: what is chance in these
    /// falls out when they are compared. `None`: arrivals of its own.
    pub common_arrivals: Option<u32>,
    /// `None`: as the plan has it.
    pub connection: Option<ConnectionMode>,
    /// How many of the pods that run are taken away before; 0 but for [`TrialPurpose::LostPod`].
    pub pods_away: u16,
}

impl TrialRequest {
    /// Of the app as it is, on the server that runs, with arrivals of its own.
    pub fn new(
        configuration: Configuration,
        purpose: TrialPurpose,
        offered: Offered,
        warm_up: Duration,
        duration: Duration,
    ) -> Self {
        Self {
            configuration,
            variant: Variant::AS_IT_IS,
            fresh_start: false,
            purpose,
            offered,
            warm_up,
            duration,
            common_arrivals: None,
            connection: None,
            pods_away: 0,
        }
    }

    /// A fresh start of the app as it is, at a rate that is to be held, requests/s.
    pub(super) fn hold(
        configuration: Configuration,
        purpose: TrialPurpose,
        (rate_rps, arrivals): (f64, Arrivals),
        duration: Duration,
    ) -> Self {
        let rate = Rate::per_second(rate_rps).expect("a rate to be held is above zero");
        let offered = Offered::Open { rate, arrivals };
        let request = Self::new(configuration, purpose, offered, HOLD_WARM_UP, duration);
        Self { fresh_start: true, ..request }
    }

    /// So many clients that don't think.
    pub fn burst(
        configuration: Configuration,
        clients: u32,
        warm_up: Duration,
        duration: Duration,
    ) -> Self {
        let offered = Offered::Closed { clients, think: Duration::ZERO };
        Self::new(configuration, TrialPurpose::Saturate, offered, warm_up, duration)
    }

    /// Seconds of load, warm-up included.
    pub(super) fn load_s(&self) -> f64 {
        (self.warm_up + self.duration).as_secs_f64()
    }
}

/// What became of a trial that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    Trial(Box<TrialSummary>),
    /// The configuration never became ready. `ended_s` as in [`TrialSummary::ended_s`].
    BootFailed {
        configuration: Configuration,
        reason: Stated<BootCause>,
        ended_s: f64,
    },
}

/// A valid trial for tests: a load at this rate, which held, and of whose requests, all of them
/// answered, so many failed.
#[cfg(test)]
pub(crate) fn tests_trial(
    purpose: TrialPurpose,
    rate_rps: f64,
    (due, failed): (u64, u64),
) -> TrialSummary {
    use crate::terms::{Limit, LoadSummary, Reason, Verdict, WaitingEvidence, WarmUp, WarmUpKind};

    let rate = Rate::per_second(rate_rps).expect("a rate of tests is above zero");
    let status = [("200".to_string(), due - failed), ("500".to_string(), failed)].into();
    TrialSummary {
        id: 1,
        purpose,
        configuration: Configuration::new(1, 1).expect("one is not zero"),
        variant: Variant::AS_IT_IS,
        start: 1,
        offered: Offered::Open { rate, arrivals: Arrivals::Poisson },
        verdict: Verdict::Yes,
        leaning: Verdict::Yes,
        reason: Reason::NoGoalYet.into(),
        resolution: 0.1,
        edge: None,
        by_latency: None,
        valid: true,
        warm_up: WarmUp { kind: WarmUpKind::Flat, left_out_s: 2.0 },
        summary: LoadSummary { due, completed: due, status, ..LoadSummary::default() },
        cpu_s: [].into(),
        workers: Vec::new(),
        memory_bytes: None,
        memory_growth_bytes_s: None,
        memory_growth_bytes_s_interval: None,
        inside: None,
        limit: Limit::unknown(WaitingEvidence::NotSaturated),
        failure: None,
        load_s: 12.0,
        ended_s: 12.0,
    }
}
