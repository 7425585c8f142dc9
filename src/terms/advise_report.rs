//! What is advised from watching a server at its own traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blind_spot::BlindSpot;
use super::goals::GoalList;
use super::limit::LimitKind;
use super::stated::Stated;
use super::what_if::{FittedDemand, PredictedSetting};

/// What `advise --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviseReport {
    pub seen: SeenTraffic,
    /// What capacities are within; one derived from the times of single requests where none was
    /// given.
    pub slo: Option<GoalList>,
    /// Why nothing is advised; empty when something is.
    pub refused: Vec<Stated<AdviseRefusal>>,
    /// What a request costs; null when nothing is advised.
    pub demand: Option<FittedDemand>,
    /// The setting it runs with.
    pub current: Option<PredictedSetting>,
    /// The setting to run; the current one where none is expected to be better.
    pub advised: Option<PredictedSetting>,
    /// All that were considered, the highest capacity first.
    pub predicted: Vec<PredictedSetting>,
    /// Where the current setting ends as traffic grows.
    pub growth: Option<Growth>,
    /// What an autoscaler would aim at, by the advised setting.
    pub scaling: Option<ScalingTarget>,
    /// Parts of the app, that with the most time first; at most 50.
    pub routes: Vec<SeenRoute>,
    pub notes: Vec<Stated<AdviseNote>>,
}

/// What was seen. Times in seconds, means over requests where nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenTraffic {
    pub length_s: f64,
    /// Servers that they were of; 1 where one was watched.
    pub instances: u32,
    pub requests: u64,
    /// Of these, told one by one.
    pub requests_told: u64,
    /// Of one instance, mean over all of the time.
    pub rate_rps: f64,
    /// As was said, else those that were seen most often.
    pub workers: u16,
    pub threads: u16,
    /// Cores that the server may use.
    pub cores: f64,
    /// The most that all of its processes took; null where that of one or all was not seen.
    pub memory_bytes: Option<u64>,
    /// CPU of all its processes for a request; null where they were not watched.
    pub cpu_per_request_s: Option<f64>,
    /// From the app's call to its return.
    pub app_s: f64,
    pub app_s_p50: f64,
    pub app_s_p95: f64,
    pub app_s_p99: f64,
    /// On its own thread's CPU clock.
    pub app_cpu_s: f64,
    /// Waiting for the interpreter's lock; null where nothing tells.
    pub gvl_wait_s: Option<f64>,
    /// Waiting before the app; null where nothing in front sets a time stamp that makes sense.
    pub queue_s: Option<f64>,
    /// CPU that the probe took in the app's threads for a request; null without one.
    pub probe_s: Option<f64>,
    /// Cores that sweetspot took to watch.
    pub watching_cores: Option<f64>,
}

/// The end of what the current setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    pub limit: LimitKind,
    /// Requests/s within the goal.
    pub at_rps: f64,
    pub at_rps_interval: [f64; 2],
    /// That in times of what came in the busiest tenth of the minutes.
    pub times: f64,
}

/// Of one instance with the advised setting, at the rate that it should run at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingTarget {
    pub rate_rps: f64,
    /// Share of its cores that is busy then.
    pub cpu_ratio: f64,
    /// Mean wait for a free thread then, seconds.
    pub queue_s: f64,
}

/// A part of the app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenRoute {
    /// The framework's own name of it, or its path without what names single things.
    pub name: String,
    pub requests: u64,
    /// Of the time that threads spent in requests.
    pub time_ratio: f64,
    /// Means, seconds.
    pub app_s: f64,
    pub cpu_s: f64,
    /// Of its time, what is neither CPU nor the interpreter's lock.
    pub wait_ratio: f64,
    /// It mostly waits, and holds threads for a part of the time that counts.
    pub is_io_bound: bool,
}

/// Why nothing is advised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum AdviseRefusal {
    /// By how much requests differ, so few say too little of the mean one.
    RequestsTooFew { requests: u64, needed: u64 },
    /// With so much CPU for a request the threads cannot have had it for as short a time as they
    /// had: other work is in these processes, or not all requests were seen.
    CpuNotExplained { cpu_s: f64, app_s: f64 },
    /// At the highest the setting is expected to have been busy all the time.
    AlreadyFull { rate_rps: f64 },
    /// Not even one request alone is within the goal.
    NothingWithinGoal,
    /// No setting that is within the goal fits into the memory: the smallest needs so much, and may
    /// fill 95 % of what there is.
    NothingFits { needed_bytes: u64, limit_bytes: u64 },
}

/// How far to trust it, and what would tell more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum AdviseNote {
    /// Nothing tells how long requests wait for the interpreter's lock: the model says.
    LockWaitInferred,
    /// The traffic was so small a share of what the current setting is expected to hold.
    TrafficFarBelow { capacity_ratio: f64 },
    /// Nothing in front sets a time stamp.
    QueueTimeNotSeen,
    /// So many threads were seen; the settings may allow more.
    ThreadsSeen { threads: u16 },
    /// It runs one thread a worker, and whether more are safe is not known.
    OneThreadConsidered,
    /// Requests took so many times as long in the busiest tenth of the time as in the quietest.
    SlowerWhenBusy { ratio: f64, expected_ratio: f64 },
    /// Cores that other processes of the machine used.
    OthersUseCores { cores: f64 },
    /// The memory of other settings is inferred from that of one.
    MemoryOfOneSetting,
    /// CPU outside the app's own threads is not in it.
    OnlyAppCpu,
    /// What could not be watched.
    NotWatched { what: Stated<BlindSpot> },
    /// The server's memory was not seen, so no setting is ruled out by it.
    MemoryNotSeen,
    /// For this share of the looks it ran another setting, most often this one; threads are null
    /// where they were not seen.
    SettingChanged { workers: u16, threads: Option<u16>, time_ratio: f64 },
    /// All of its processes had ended before the time was over.
    ServerEnded { after_s: f64 },
    /// More cores were named than the server may use, and these count.
    FewerCoresThere { asked_cores: f64, usable_cores: f64 },
    /// More memory was named than the server may use, and this counts.
    LessMemoryThere { asked_bytes: u64, usable_bytes: u64 },
    /// It is known when batches of requests were recorded, and not when each one ended.
    RecordedInBatches,
}
