//! What `tune` ends on, in the shape that `tune --json` prints (names are a promise to scripts).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advice::{Advice, SettingsPlace};
use super::knob::KnobsReport;
use super::limit::{Limit, LimitKind};
use super::load_summary::GoalSummary;
use super::machine::Machine;
use super::note::Note;
use super::objective::ObjectiveReport;
use super::obstacle::Obstacle;
use super::soak::Soak;
use super::stated::Stated;
use super::warning::Warning;

/// The share of capacity to run at day to day: what is left absorbs bursts, restarts and slow days.
pub const OPERATING_SHARE: f64 = 0.7;

/// What runs today and what it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentSetting {
    pub workers: u16,
    pub threads: u16,
    /// Null when it holds no rate within the SLO, and when that is not known.
    pub capacity_rps: Option<f64>,
    pub capacity_rps_interval: Option<[f64; 2]>,
}

/// A configuration as good as the chosen one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Equivalent {
    pub workers: u16,
    pub threads: u16,
    /// Its capacity divided by the chosen one's.
    pub ratio: f64,
    pub ratio_interval: [f64; 2],
    pub memory_bytes: Option<u64>,
    /// At the decision's `latency_at_rps`; null where it was not measured there.
    pub latency_s_p95: Option<f64>,
}

/// The setting as the server spells it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The command that starts the server with it; empty: as it is started today.
    #[serde(default)]
    pub start: String,
    /// Environment variables, by name.
    pub env: BTreeMap<String, String>,
    /// Lines for the server's configuration file, or for what [`place`](Self::place) names.
    pub config_snippet: String,
    /// Where the lines go, for a server that has no configuration file: "on the command line".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Stated<SettingsPlace>>,
    /// Variables of the recommended knobs, to be set whichever of the above is taken.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs_env: BTreeMap<String, String>,
    /// Lines of the recommended knobs, each with where it goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knobs_lines: Vec<KnobLine>,
    /// Connection pool, health checks, the computed form and what it gets wrong.
    #[serde(default)]
    pub advice: Vec<Stated<Advice>>,
}

/// A line that sets a knob of the server's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnobLine {
    /// The file, or "on the command line".
    pub place: Stated<SettingsPlace>,
    pub line: String,
}

/// The configuration to set, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    pub workers: u16,
    pub threads: u16,
    pub capacity_rps: f64,
    pub capacity_rps_interval: [f64; 2],
    /// Capacity divided by the current setting's; null when that holds nothing.
    pub gain_ratio: Option<f64>,
    pub gain_ratio_interval: Option<[f64; 2]>,
    /// How well the capacity is known.
    pub precision: Option<Precision>,
    /// The rate that a fresh start held at the end of the session; null where none was held, or
    /// there was no time to try one.
    pub held: Option<HeldRate>,
    /// The rate to run it at day to day.
    pub operating_rps: f64,
    /// What a long run at that rate showed; null where none was asked for, or it did not begin.
    pub soak: Option<Soak>,
    pub limit: Limit,
    /// Of several targets: each goal with its targets, as at the highest rate that held when the
    /// choice was confirmed. Else empty.
    #[serde(default)]
    pub goals: Vec<GoalSummary>,
    /// That rate; null without such goals.
    pub goals_rps: Option<f64>,
    /// The rate at which its p95 was measured beside that of settings that hold as much; null where
    /// there were none, or no time.
    pub latency_at_rps: Option<f64>,
    /// p95 there, seconds.
    pub latency_s_p95: Option<f64>,
    /// As good within 3 %, least memory first; the chosen one is not repeated.
    pub equivalent: Vec<Equivalent>,
    pub settings: Settings,
    pub memory_bytes: Option<u64>,
    /// Connections its workers x threads can hold at once; 0 where each worker is an event loop,
    /// whose pool decides.
    pub database_connections: u32,
}

/// A rate that the chosen setting, started afresh, was sent at the end of the session and held
/// within the goals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldRate {
    pub rate_rps: f64,
    /// How long it was measured.
    pub duration_s: f64,
    pub requests: u64,
    /// Of these.
    pub failed: u64,
    /// Number of the trial.
    pub trial: u32,
    /// The latencies of at least one goal were met beyond chance (95 %), and the rest by the plain
    /// figures, with too few requests to be sure; else all by the plain figures alone.
    pub certain: bool,
}

/// How well a capacity is known from the fresh starts of its session, and what it would take to
/// know it better. How a machine differs from one day to the next is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// Half the width of a 95 % interval that was asked for, relative.
    pub asked_ratio: f64,
    /// The one reached; null while nothing was measured after the choice.
    pub reached_ratio: Option<f64>,
    /// More time that would reach it, about; 0 when it is reached, null when that can't be told.
    pub more_s: Option<f64>,
}

impl Precision {
    /// It is known as well as was asked.
    pub fn is_reached(&self) -> bool {
        self.reached_ratio.is_some_and(|reached| reached <= self.asked_ratio)
    }
}

/// What memory is made of: `shared + workers x (worker + threads x thread)`, as fitted to all that
/// was measured. Pages that forked processes share are counted once. Intervals of 95 %; null with
/// fewer than four configurations, and where these have all the same workers or threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryParts {
    /// Shared pages, and the master's own.
    pub shared_bytes: u64,
    pub shared_bytes_interval: Option<[u64; 2]>,
    /// Each worker's own.
    pub worker_bytes: u64,
    pub worker_bytes_interval: Option<[u64; 2]>,
    /// Each thread's.
    pub thread_bytes: u64,
    pub thread_bytes_interval: Option<[u64; 2]>,
}

/// The limit that is predicted, without evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedLimit {
    pub kind: LimitKind,
}

/// What the model expects of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    pub workers: u16,
    pub threads: u16,
    /// What a saturating closed load gets.
    pub throughput_rps_max: f64,
    pub capacity_rps: f64,
    pub capacity_rps_interval: [f64; 2],
    pub memory_bytes: Option<u64>,
    pub limit: PredictedLimit,
    /// Why it can't be run (memory, database connections); null when it can.
    pub ruled_out: Option<Stated<Obstacle>>,
}

/// What the model expected of a configuration before its first trial, beside what was measured
/// then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionScore {
    pub workers: u16,
    pub threads: u16,
    pub predicted_throughput_rps_max: f64,
    /// Of its first saturating closed load; null without one.
    pub measured_throughput_rps_max: Option<f64>,
    pub predicted_capacity_rps: f64,
    pub predicted_capacity_rps_interval: [f64; 2],
    /// Null when its trials do not tell.
    pub measured_capacity_rps: Option<f64>,
}

/// All that `tune --json` prints but the trials, which are added from the store's events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuneResult {
    pub current: Option<CurrentSetting>,
    /// `None` when nothing met the SLO or nothing could be measured.
    pub decision: Option<Decision>,
    pub predicted: Vec<Prediction>,
    /// `None` when no memory of the server's processes could be read.
    pub memory: Option<MemoryParts>,
    /// What was looked for, and what comes near; `None` in sessions from before it could be said.
    pub objective: Option<ObjectiveReport>,
    /// `None` when the plan names no knobs, or the session ended before they were tried.
    pub knobs: Option<KnobsReport>,
    /// Seconds from start to end.
    pub elapsed_s: f64,
    /// Seconds under load.
    pub load_s: f64,
    pub machine: Machine,
    pub warnings: Vec<Warning>,
    /// What more minutes would buy, or why the search ended.
    pub notes: Vec<Stated<Note>>,
}
