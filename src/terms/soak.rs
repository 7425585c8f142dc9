//! What a long run of the chosen setting showed: does what was measured in minutes last?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::obstacle::Obstacle;
use super::stated::Stated;

/// The chosen setting, with the recommended knobs, at its day-to-day rate: loads one after another
/// on one start of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    pub workers: u16,
    pub threads: u16,
    /// What was sent, requests/s.
    pub rate_rps: f64,
    /// How long it was to last, seconds.
    pub asked_s: f64,
    /// In their order.
    pub parts: Vec<SoakPart>,
    /// Of all the server's processes together, bytes; null where it was read in fewer than two
    /// parts, or not in one between others.
    pub memory_bytes: Option<Trend>,
    /// Of the workers that were there at its end.
    pub workers_memory: Vec<WorkerTrend>,
    /// Seconds; null where something was answered in fewer than two parts.
    pub latency_s_p95: Option<Trend>,
    /// Seconds from its end until the server would fill 95 % of the memory that it may use, were
    /// it to grow on as in the later half; null where no growth is certain.
    pub memory_full_in_s: Option<f64>,
    /// Workers that came while it ran.
    pub workers_replaced: u64,
    /// Why it ended before its time; null where it did not.
    pub ended: Option<Stated<Obstacle>>,
}

/// One load of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakPart {
    /// Number of the trial.
    pub trial: u32,
    /// Seconds from the beginning of the first load to this one's end.
    pub ended_s: f64,
    pub requests: u64,
    /// Of these.
    pub failed: u64,
    /// Were the goals met? Null where too few requests tell.
    pub met: Option<bool>,
    pub latency_s_p50: Option<f64>,
    pub latency_s_p95: Option<f64>,
    /// At the end, of all the server's processes; pages that they share count once.
    pub memory_bytes: Option<u64>,
    /// In the order of process ids.
    pub workers_memory: Vec<WorkerMemory>,
}

/// A worker's memory at the end of a part, with its share of the pages that it has in common with
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerMemory {
    pub pid: u32,
    /// Null where it could not be read.
    pub bytes: Option<u64>,
}

/// A worker's memory over the time, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerTrend {
    pub pid: u32,
    #[serde(flatten)]
    pub memory_bytes: Trend,
}

/// A figure over the time, and a straight line through the later half of its parts: a young server
/// grows until it is warm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// In the first part.
    pub first: f64,
    /// In the last.
    pub last: f64,
    /// Change an hour; null with fewer than four parts in that half.
    pub per_hour: Option<f64>,
    /// Of 95 %.
    pub per_hour_interval: Option<[f64; 2]>,
}

impl Trend {
    /// The change an hour with its interval, where 0 is not in that.
    pub fn certain(&self) -> Option<(f64, [f64; 2])> {
        let (per_hour, interval) = self.per_hour.zip(self.per_hour_interval)?;
        (interval[0] > 0.0 || interval[1] < 0.0).then_some((per_hour, interval))
    }
}

impl Soak {
    /// From the beginning of the first load to the end of the last, seconds.
    pub fn lasted_s(&self) -> f64 {
        self.parts.last().map_or(0.0, |part| part.ended_s)
    }

    pub fn requests(&self) -> u64 {
        self.parts.iter().map(|part| part.requests).sum()
    }

    pub fn failed(&self) -> u64 {
        self.parts.iter().map(|part| part.failed).sum()
    }

    /// Parts in which the goals were missed.
    pub fn parts_missed(&self) -> usize {
        self.parts.iter().filter(|part| part.met == Some(false)).count()
    }

    /// It went on to its end, and met the goals.
    pub fn has_lasted(&self) -> bool {
        self.ended.is_none() && self.parts_missed() == 0
    }
}
