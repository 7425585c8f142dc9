//! The highest sustainable rate of whatever runs at a URL, in the shape that
//! `load --find-capacity --json` prints.
//!
//! Names and units are a promise to scripts: add, never rename. Seconds, bytes, requests/s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goals::GoalList;
use super::load_record::Arrivals;
use super::load_summary::RouteSummary;
use super::reason::Reason;
use super::stated::Stated;
use super::warning::Warning;

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapacityConclusion {
    /// The capacity, with its interval.
    Found,
    /// The SLO was missed even at the lowest rate tried.
    Below,
    /// The SLO was met up to the highest rate that could be tried.
    AtLeast,
    /// Too little was seen to say.
    Undecided,
}

/// Latency quantiles of one window, from due to the last byte; seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityLatency {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// One rate, offered for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityWindow {
    /// Requests due per second.
    pub rate_rps: f64,
    /// How long was measured; the settling before is left out.
    pub duration_s: f64,
    /// Whether the SLO was met and the work in flight did not grow; null while undecided.
    pub met: Option<bool>,
    /// Why.
    pub reason: Stated<Reason>,
    pub latency_s: CapacityLatency,
    pub throughput_rps: f64,
    /// False when the generator was the limit; such a window decides nothing.
    pub valid: bool,
}

/// The highest arrival rate at which the SLO is met and the work in flight does not grow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacitySummary {
    pub conclusion: CapacityConclusion,
    /// The most likely capacity; null unless `conclusion` is `found`, or `undecided` after some
    /// windows.
    pub capacity_rps: Option<f64>,
    /// Low and high, 95 %; null when `capacity_rps` is.
    pub capacity_rps_interval: Option<[f64; 2]>,
    /// The rate that the capacity lies `below`, or is `at_least`; null otherwise.
    pub bound_rps: Option<f64>,
    pub slo: GoalList,
    pub arrivals: Arrivals,
    /// In the order they were run; the bursts before them are not among them.
    pub windows: Vec<CapacityWindow>,
    /// False when the generator was the limit, or the server stopped answering.
    pub valid: bool,
    pub warnings: Vec<Warning>,
    /// Seconds under load, bursts and settling included.
    pub load_s: f64,
    /// Null through unix sockets, and where no server listens.
    pub route: Option<RouteSummary>,
}
