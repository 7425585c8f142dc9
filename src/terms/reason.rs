//! Why a verdict is what it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goals::GoalScope;
use super::slo::SloTerm;
use super::warning::Warning;

/// Why a load met its goals, or did not, or why that cannot be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Reason {
    /// What was counted of the goals that decide.
    Counted { goals: Vec<GoalCount> },
    /// Every goal looks met, and those that are not certain have reasons not to be.
    MetButUncertain { goals: Vec<GoalCount> },
    /// No goal is missed for certain, and one at least is not certain to be met: so few requests
    /// show no smaller relative overload than this.
    NotToldApart { goals: Vec<GoalCount>, due: u64, resolution_ratio: f64 },
    /// There was nothing to judge by.
    NoGoalYet,
    /// The load was ended early because the number of requests in flight kept growing.
    StoppedEarly { in_flight: u64 },
    /// The number of requests in flight grew, from the first measured second to the last.
    InFlightGrew { growth_per_s: f64, first: u64, last: u64 },
    /// The server ended during the load.
    ServerDied,
    /// A closed load that saturates is asked for throughput only.
    ClosedLoad,
    /// The figures cannot be believed.
    Doubted { doubts: Vec<Warning> },
    /// The user ended it.
    StoppedByUser,
}

/// What was counted of one goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalCount {
    /// Null: all requests, or those of the goal that the reason stands with.
    pub scope: Option<GoalScope>,
    /// In the order of the goal; of several goals only the terms that decide.
    pub terms: Vec<TermCount>,
}

/// How many requests broke one term of a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TermCount {
    pub term: SloTerm,
    pub violations: u64,
    pub requests: u64,
    /// Failed requests are among the violations of a latency term.
    pub counts_failures: bool,
    /// Neighbouring requests fared alike, and all of them count as this many; null: as they are.
    pub effective_requests: Option<f64>,
    pub certainty: Certainty,
}

impl TermCount {
    /// Of the requests that broke it, 0..=1; 0 without requests.
    pub fn share(&self) -> f64 {
        self.violations as f64 / self.requests.max(1) as f64
    }
}

/// Whether a term of a goal is met, or missed, for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    Certain,
    /// It takes `needed` requests even if none breaks the term.
    TooFew {
        needed: u64,
    },
    /// The share that broke it is too near to the share that may.
    TooClose,
}
