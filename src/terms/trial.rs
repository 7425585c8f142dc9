//! One configuration under one offered load: what was recorded, and what it means.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use super::failure::TrialFailure;
use super::knob::Variant;
use super::limit::Limit;
use super::load_record::{LoadRecord, Offered};
use super::load_summary::LoadSummary;
use super::monitor_record::MonitorRecord;
use super::reason::Reason;
use super::stated::Stated;
use super::warning::Warning;

/// Everything raw of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    pub configuration: Configuration,
    /// The start of the server this trial ran on, from 1, counted over the session: trials with
    /// the same number share a process start.
    pub start: u32,
    pub load: LoadRecord,
    pub monitor: MonitorRecord,
    /// How long the server took from its launch until it was ready.
    pub boot: Duration,
    /// Why the server did not live to the end of the trial, when it didn't.
    pub failure: Option<TrialFailure>,
}

/// Is the offered rate sustainable?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Yes,
    /// It doesn't.
    No,
    /// Too few observations to say, or the trial is invalid.
    Undecided,
}

impl Verdict {
    /// Were the goals met? `None` while undecided.
    pub fn met(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            Self::Undecided => None,
        }
    }
}

/// Why a trial was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialPurpose {
    /// Latency without other requests: one client.
    Unloaded,
    /// The most a closed model gets out of it.
    Saturate,
    /// Is this rate sustainable?
    Probe,
    /// Is the printed capacity sustainable? After the choice was made.
    Confirm,
    /// Does the chosen setting, started afresh, hold the rate that is to be printed?
    Hold,
    /// Does it hold that over connections of the other kind as well?
    Check,
    /// What a change of a knob does: the choice with it or, beside that, without it.
    Screen,
    /// What the other pods of a way to cut the app do, at the rate to run it at day to day, once
    /// one was taken away.
    LostPod,
    /// Does the chosen setting last at the rate to run it at day to day? A part of a long run.
    Soak,
}

/// How the warm-up ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpKind {
    /// Nothing had to be left out beyond the planned part.
    Flat,
    /// The start was slower and was left out.
    Warmed,
    /// It got slower while it was measured.
    Slowing,
    /// No steady part was found.
    NotSteady,
}

/// What was left out at the beginning, and how that was decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    pub kind: WarmUpKind,
    pub left_out_s: f64,
}

/// One worker's part of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerShare {
    /// From 0, in the order of process ids.
    pub index: u16,
    pub pid: u32,
    /// CPU used, in cores (1.0: one core all the time).
    pub cpu_cores: f64,
    /// Time its threads waited for a core, in cores.
    pub run_delay_cores: f64,
    /// At the end of the trial, with its part of the pages that it shares (PSS); null where it
    /// could not be read.
    pub memory_bytes: Option<u64>,
}

/// What a request cost inside the server as a probe there told: means over the requests of the
/// measured part, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InsideSummary {
    pub requests: u64,
    /// From the app's call to its return.
    pub app_s: f64,
    /// CPU of the thread that ran it.
    pub cpu_s: f64,
    /// Garbage collection in its process; null where the interpreter does not tell.
    pub gc_s: Option<f64>,
    /// Waiting for the interpreter's lock; null where it does not tell.
    pub gvl_wait_s: Option<f64>,
    /// From the time stamp of whoever took the request in first; null without one.
    pub queue_s: Option<f64>,
    /// CPU that the probe itself took.
    pub probe_s: f64,
}

/// Where a load was beside the edge of its latency goal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Edge {
    /// Logarithm of the share of requests that were too slow by the share that may be: 0 on the
    /// edge, above it where too many were.
    pub excess_log: f64,
    /// Standard error of that.
    pub excess_sd: f64,
    /// What is too slow, seconds.
    pub limit_s: f64,
    /// Share of requests that may be, 0..=1; 0 where it was not written down.
    #[serde(default)]
    pub allowed_ratio: f64,
}

/// What a trial's latencies say of its rate, however many requests failed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyVerdict {
    pub verdict: Verdict,
    /// See [`TrialSummary::leaning`].
    pub leaning: Verdict,
    /// See [`TrialSummary::edge`].
    pub edge: Option<Edge>,
}

/// What one trial means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSummary {
    /// From 1, in the order of the session.
    pub id: u32,
    pub purpose: TrialPurpose,
    pub configuration: Configuration,
    /// Changes that were made to the app.
    #[serde(default, skip_serializing_if = "Variant::is_as_it_is")]
    pub variant: Variant,
    /// See [`TrialRecord::start`].
    pub start: u32,
    pub offered: Offered,
    pub verdict: Verdict,
    /// What the plain figures say where the verdict is undecided; else the verdict.
    #[serde(default = "undecided")]
    pub leaning: Verdict,
    /// Why this verdict.
    pub reason: Stated<Reason>,
    /// Smallest relative difference in rate that this trial can tell apart, such as 0.06.
    pub resolution: f64,
    /// How far from the goal's edge its latencies were; `None` where nearly all of them, or nearly
    /// none, were within the goal, or the goal has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<Edge>,
    /// `None` where failed requests made no difference to the verdict, the leaning and the edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_latency: Option<LatencyVerdict>,
    pub valid: bool,
    pub warm_up: WarmUp,
    pub summary: LoadSummary,
    /// CPU seconds by role ("master", "worker", "other", "generator"), measured part only.
    pub cpu_s: BTreeMap<String, f64>,
    /// By worker index.
    pub workers: Vec<WorkerShare>,
    /// PSS of all the server's processes at the end, or what the app's platform recorded of all of
    /// it; `None` when it could not be read.
    pub memory_bytes: Option<u64>,
    /// By how much the memory that its processes have in use grew, bytes a second; `None` where
    /// too little was seen.
    pub memory_growth_bytes_s: Option<f64>,
    /// Of 95 %.
    pub memory_growth_bytes_s_interval: Option<[f64; 2]>,
    /// `None` without a probe.
    pub inside: Option<InsideSummary>,
    pub limit: Limit,
    pub failure: Option<TrialFailure>,
    /// Seconds of load that this trial took, warm-up and drain included.
    pub load_s: f64,
    /// Seconds from the start of the session to the end of this trial, by the place's clock.
    pub ended_s: f64,
}

impl TrialSummary {
    /// It ran on the app as it is, with nothing taken away.
    pub fn is_as_it_is(&self) -> bool {
        self.variant.is_as_it_is() && self.purpose != TrialPurpose::LostPod
    }

    /// Its memory is what the app's platform recorded, with all that runs beside the server's
    /// processes: nothing is told by it of what a worker takes.
    pub fn is_seen_by_platform(&self) -> bool {
        self.summary.warnings.iter().any(Warning::says_only_whole_minutes)
    }
}

fn undecided() -> Verdict {
    Verdict::Undecided
}
