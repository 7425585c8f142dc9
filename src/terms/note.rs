//! What is to be said of an answer besides its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use super::goals::GoalList;
use super::obstacle::Obstacle;
use super::reason::Reason;
use super::slo::{self, Slo};
use super::stated::Stated;
use super::target::ConnectionMode;
use super::units::{Rate, Threads, Workers};

/// Why the search ended where it did, how far its answer is to be trusted, and what more minutes
/// would buy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Note {
    Search(SearchNote),
    Precision(PrecisionNote),
    Steadiness(SteadinessNote),
    Objective(ObjectiveNote),
    Plan(PlanNote),
    Knobs(KnobsNote),
    Recheck(RecheckNote),
}

/// What the search could not do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SearchNote {
    /// One client alone could not be measured, and nothing was after it; `why` is the last trial's.
    AloneNotMeasured { why: Stated<Reason> },
    /// One client alone does not meet the goals, and no setting can; `goals` as they are written.
    GoalsOutOfReach { goals: GoalList, latency_s_p95: f64, why: Stated<Reason> },
    /// The budget ended the race before this setting, which may answer the question better.
    UntriedMayAnswerBetter { configuration: Configuration },
    /// The budget ended the race before this setting, which may hold much more; the ratio is what
    /// it is expected to hold, divided by the best one's capacity, where that is above it.
    UntriedMayHoldMore { configuration: Configuration, expected_ratio: Option<f64> },
    /// The choice was not measured again: its figures are the race's.
    NoTimeToConfirm,
    /// The printed rate was not sent to a fresh start: no time, or the session was stopped before.
    NotHeldAtEnd,
    /// No file of the app says whether what stands in front of it keeps its connections, so that
    /// the choice was sent the rate that it had held over connections of this kind as well.
    OtherConnections(OtherConnections),
    /// The printed rate was sent to fresh starts and missed, last at this rate, requests/s; it is
    /// what all trials together point to.
    NothingHeldAtEnd { rate_rps: f64 },
    /// Fresh starts are slower until each worker has answered about so many requests, and were
    /// warmed before they were measured. Where a cold one was sent the printed rate and held it,
    /// `warm_rps` is about what a warm one holds, requests/s; null where the printed rate is that.
    ColdAtFirst { requests: u64, warm_rps: Option<f64> },
    /// Of the requests of trials whose latencies were within the goal more failed than it allows:
    /// the load is not the reason, and no rate meets the goal.
    ErrorsAtAnyRate { failed: u64, requests: u64, allowed_ratio: f64 },
    /// Of the requests at the rate that is printed more failed than the goal allows, and whether
    /// the rate is why is not known.
    ErrorsUntold { failed: u64, requests: u64, allowed_ratio: f64 },
    /// Of these requests, whose latencies were within the goal, so many failed, which shows neither
    /// that fewer do than it allows nor that more do; `requests_needed`: it takes so many to be
    /// sure of few enough if none fails.
    ErrorsNotCertified { failed: u64, requests: u64, allowed_ratio: f64, requests_needed: u64 },
    /// Measuring a finalist again failed twice; `why` is the last trial's. `configuration`: null in
    /// records from before it was noted.
    ChoiceNotMeasuredAgain { configuration: Option<Configuration>, why: Stated<Reason> },
    /// The chosen setting held no rate that was tried: its capacity is a guess from misses.
    NoRateHeld { configuration: Configuration },
    /// What the current setting holds is worked out from its saturated trial.
    CurrentNotTriedAtRate { configuration: Configuration },
}

/// The choice at the rate that it had held, over connections of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherConnections {
    pub connection: ConnectionMode,
    pub rate_rps: f64,
    pub is_held: bool,
    pub latency_s_p95: f64,
    pub duration_s: f64,
}

/// How well the capacity is known, and what would tell more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum PrecisionNote {
    /// There was no fresh start after the choice; with this budget there would be.
    OneStart { budget_s: f64 },
    /// More time would reach the precision that was asked for. Ratios are half the width of a 95 %
    /// interval.
    Improvable { reached_ratio: f64, asked_ratio: f64, more_s: f64 },
    /// So little is known that settings which differ by a tenth look the same.
    TooVague { reached_ratio: f64, asked_ratio: f64, more_s: f64 },
}

/// The server or the machine changed while it was measured, seen by the CPU time of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SteadinessNote {
    /// A request's CPU time grows by this ratio with every minute of a start.
    SlowsDown { cpu_ratio_per_minute: f64 },
    /// A request's CPU time falls by this ratio with every minute of a start.
    StillWarmsUp { cpu_ratio_per_minute: f64 },
    /// A request's CPU time at the end of the session divided by that at its beginning.
    ChangedOverSession { cpu_ratio: f64 },
}

/// How the question that was asked is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ObjectiveNote {
    /// No measured setting holds the rate; the one that holds the most.
    NothingHoldsRate {
        rate: Rate,
        configuration: Configuration,
        capacity_rps: f64,
        capacity_rps_interval: [f64; 2],
    },
    /// No setting is certain to hold the rate; the likeliest.
    RateNotCertain { rate: Rate, configuration: Configuration, capacity_rps_interval: [f64; 2] },
    /// The setting held the rate in the race, and was not measured again.
    RateHeldInRaceOnly { rate: Rate, configuration: Configuration },
    /// What was asked about was not measured, so that the highest capacity was chosen.
    HighestCapacityInstead { missing: MissingFigure },
}

/// What an objective needs and the trials did not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingFigure {
    Memory,
    LatencyAtRate,
    MemoryOrCpu,
}

/// What another plan would tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum PlanNote {
    /// The chosen setting has the largest number of workers that was tried.
    MostWorkersChosen { workers: Workers },
    /// The chosen setting has the largest number of threads that was tried.
    MostThreadsChosen { threads: Threads },
    /// Too few requests to be certain of a goal, of a trial's length at a rate.
    TooFewRequests {
        /// As it is written.
        #[serde(with = "slo::as_written")]
        #[schemars(with = "String")]
        slo: Slo,
        /// Null for the targets without a goal of their own.
        target: Option<String>,
        /// The goal is that of all targets.
        is_of_all: bool,
        requests: u64,
        trial_s: f64,
        rate_rps: f64,
        /// Requests that it takes where none misses the goal.
        needed: u64,
        /// Null where no request came.
        needed_s: Option<f64>,
    },
}

/// What the table of changes does not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum KnobsNote {
    /// The app as it is could not be measured beside the changes.
    KnobsNotCompared { why: Obstacle },
    /// With the recommended changes `better` holds more than `chosen` does with them.
    OtherThreadsBetter {
        changes: Vec<String>,
        chosen: Configuration,
        better: Configuration,
        capacity_ratio: f64,
        capacity_ratio_interval: [f64; 2],
    },
    /// No time was left for the recommended changes at other numbers of threads.
    OtherThreadsNotTried { changes: Vec<String>, chosen: Configuration },
    /// Several changes help; those that are recommended are only a part of them.
    NotTriedTogether { changes: Vec<String> },
}

/// What kept a verification from more, and what more minutes would buy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum RecheckNote {
    /// It was left out from then on.
    SettingLeftOut { setting: Configuration, why: Obstacle },
    /// There was no time for a single start.
    BudgetTooSmall,
    /// A budget of `budget_s` would decide.
    BudgetNeeded { budget_s: f64 },
    /// No budget would decide: it lies too near the limit.
    TooNearToDecide,
}
