//! One interval of a server that is watched without a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blind_spot::BlindSpot;
use super::monitor_record::{MonitorSecond, ProcessMemory};
use super::stated::Stated;

/// What a running server used in one interval, as scripts read it: a JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSecond {
    /// When the interval ended, RFC 3339 in UTC.
    pub time: String,
    /// Its times count from the start of the watch.
    #[serde(flatten)]
    pub second: MonitorSecond,
    /// As last walked, which is every few intervals; in order of pid.
    pub memory: Vec<ProcessMemory>,
    /// What cannot be seen, a sentence each.
    pub blind_spots: Vec<Stated<BlindSpot>>,
}
