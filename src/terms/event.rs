//! What happened in a session, in order: the only thing that reports and the store are made from.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::comparison::Verification;
use super::configuration::Configuration;
use super::decision::{Prediction, TuneResult};
use super::failure::BootFailure;
use super::goals::GoalList;
use super::knob::{Change, Variant};
use super::load_record::LoadRecord;
use super::load_record::Offered;
use super::machine::Machine;
use super::monitor_record::MonitorRecord;
use super::plan_record::PlanLine;
use super::session_error::SessionError;
use super::stated::Stated;
use super::trial::{TrialPurpose, TrialSummary};
use super::warning::Warning;

/// Where a running load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    WarmUp,
    Measure,
    /// Nothing is due any more; the last replies are awaited.
    Drain,
}

/// One second of a running load, for whoever watches. By the clock, not by due second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LiveSecond {
    /// Since the load began, at the end of this second.
    pub at: Duration,
    pub phase: Phase,
    pub due: u64,
    pub sent: u64,
    /// Of any status.
    pub replies: u64,
    /// Requests that failed as goals count it: they ended without a reply, or with one that is
    /// neither 2xx nor 3xx, which is among `replies` too.
    pub errors: u64,
    pub in_flight: u64,
    /// Mean in flight over this second, sampled by a timer.
    pub in_flight_mean: f64,
    /// Of the replies of this second; `None` when there was none.
    pub p95: Option<Duration>,
    /// How late the requests that were due in this second left; `None` when none did.
    pub send_lag_p99: Option<Duration>,
}

#[cfg(test)]
impl LiveSecond {
    /// In the middle of a load, with so many in flight.
    pub fn with_in_flight(in_flight_mean: f64) -> Self {
        Self {
            at: Duration::from_secs(1),
            phase: Phase::Measure,
            due: 100,
            sent: 100,
            replies: 80,
            errors: 0,
            in_flight: in_flight_mean as u64,
            in_flight_mean,
            p95: None,
            send_lag_p99: None,
        }
    }
}

/// How a session stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    #[default]
    Running,
    /// Ended with a result.
    Done,
    /// The user stopped it; the answer so far was printed.
    Stopped,
    /// It could not measure.
    Failed,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds since the session began, by the place's clock.
    pub at_s: f64,
    pub kind: EventKind,
}

/// Every server had threads when older sessions were stored.
fn yes() -> bool {
    true
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// First event of a session that asks whether the recommendation of another is still right.
    Verifying { session: i64 },
    /// The plan and the machine.
    SessionStarted {
        app: String,
        server: String,
        /// False when its workers have one thread each, so that there is nothing to say of threads.
        #[serde(default = "yes")]
        has_threads: bool,
        slo: GoalList,
        machine: Machine,
        plan: Vec<PlanLine>,
        budget: Option<Duration>,
        /// What variants are made of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
    },
    /// An earlier session of the same plan was taken up; `trials` are known already.
    Resumed { session: i64, trials: u32 },
    /// What doctor found, or a doubt that came up.
    Warned(Warning),
    /// A server is being started.
    ServerStarting {
        configuration: Configuration,
        #[serde(default, skip_serializing_if = "Variant::is_as_it_is")]
        variant: Variant,
        start: u32,
    },
    /// It never became ready.
    BootFailed {
        configuration: Configuration,
        #[serde(default, skip_serializing_if = "Variant::is_as_it_is")]
        variant: Variant,
        failure: BootFailure,
    },
    TrialStarted {
        id: u32,
        purpose: TrialPurpose,
        configuration: Configuration,
        #[serde(default, skip_serializing_if = "Variant::is_as_it_is")]
        variant: Variant,
        offered: Offered,
        /// How long requests will be due for, warm-up included.
        duration: Duration,
        /// What the session expects still to need, this trial included; `None` when unknown.
        left: Option<Duration>,
    },
    /// Not stored.
    Second(LiveSecond),
    /// The summary and what it was made from.
    TrialFinished {
        summary: Box<TrialSummary>,
        /// What the load generator recorded, second by second.
        load: Box<LoadRecord>,
        monitor: Box<MonitorRecord>,
    },
    /// The model's expectation of the whole grid; a later one replaces it.
    Predicted(Vec<Prediction>),
    /// Whether the recommendation is still right; the session's end follows.
    Verified(Box<Verification>),
    SessionEnded {
        state: SessionState,
        result: Option<Box<TuneResult>>,
        error: Option<Stated<SessionError>>,
    },
}
