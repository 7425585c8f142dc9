//! What a session looks for among the settings that meet the SLO, and how it is answered. Another
//! objective is another question about the same trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trial::Verdict;
use super::units::Rate;

/// What the best setting has most or least of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveKind {
    /// The highest capacity.
    #[default]
    Capacity,
    /// The least memory that holds a rate.
    Memory,
    /// The lowest p95 at a rate.
    Latency,
    /// The lowest cost of a request.
    Cost,
}

/// What a machine costs an hour, in whatever currency; each finite, zero or more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prices {
    pub per_core_hour: f64,
    pub per_gib_hour: f64,
}

/// What is looked for, with what the question needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    pub kind: ObjectiveKind,
    /// The rate to be served.
    pub rate: Option<Rate>,
    pub prices: Option<Prices>,
}

impl Objective {
    /// The rate to be served, requests/s.
    pub fn rate_rps(&self) -> Option<f64> {
        self.rate.map(Rate::as_per_second)
    }
}

/// The objective and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveReport {
    pub goal: ObjectiveKind,
    /// The rate to be served; null when none was given.
    pub rate_rps: Option<f64>,
    /// Null without prices.
    pub price_per_core_hour: Option<f64>,
    pub price_per_gib_hour: Option<f64>,
    /// Does the chosen setting hold the rate? Undecided where its capacity's interval reaches to
    /// both sides; null without a rate.
    pub held: Option<Verdict>,
    /// Measured settings that no other beats in both capacity and memory, least memory first; the
    /// chosen one always. Empty when no memory could be read.
    pub front: Vec<FrontSetting>,
}

/// A setting of the front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontSetting {
    pub workers: u16,
    pub threads: u16,
    pub chosen: bool,
    pub capacity_rps: f64,
    pub capacity_rps_interval: [f64; 2],
    /// Measured on fresh starts after the search; else the figures are the search's own.
    pub confirmed: bool,
    pub memory_bytes: u64,
    /// At the rate, the median of its starts; null where it was not measured there.
    pub latency_s_p95: Option<f64>,
    /// Of the cores and the memory it needs at the rate, or else at its operating rate; null
    /// without prices.
    pub cost_per_hour: Option<f64>,
    pub cost_per_million_requests: Option<f64>,
}
