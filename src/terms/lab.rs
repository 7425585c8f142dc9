//! A published experiment measured again, in the shape that `lab run --json` prints.
//!
//! Names and units are a promise to scripts: add, never rename. Seconds, bytes, requests/s, cores.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use super::failure::{BootCause, BootFailure, ServerEnd, TrialFailure};
use super::machine::Machine;
use super::slo::{self, Slo};
use super::stated::Stated;
use super::units::{Threads, Workers};
use super::warning::Warning;

/// One entry of `lab list --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabEntry {
    pub name: String,
    pub title: String,
    /// As `tune --server` takes it.
    pub server: String,
    /// About how long `lab run --quick` takes, seconds.
    pub quick_s: f64,
    /// About how long the whole run takes, seconds.
    pub full_s: f64,
}

/// What one run of an experiment is: a setting under a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabSetting {
    /// The requests, under the name that the experiment has for them.
    pub target: String,
    /// Runs of one series are set in relation to its first one.
    pub series: String,
    pub workers: Workers,
    pub threads: Threads,
    /// Requests due a second as the article has it; null when closed.
    pub rate_rps: Option<f64>,
    /// Clients of a closed load; null when open.
    pub clients: Option<u32>,
    /// What a client waits between a reply and its next request.
    pub think_s: f64,
    /// Variables of the app that belong to the setting.
    pub env: BTreeMap<String, String>,
    /// From 1.
    pub repeat: u32,
}

/// A distribution in seconds; null where it was not published, or nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabLatency {
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

/// What a run showed, here or in the article; null or empty where it is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabFigures {
    pub requests: Option<u64>,
    /// Good replies a second.
    pub throughput_rps: Option<f64>,
    /// Good replies of all requests due, 0..=1.
    pub success: Option<f64>,
    pub latency_s: LabLatency,
    /// Replies by status code; "0" is a request without a reply.
    pub status: BTreeMap<String, u64>,
    /// CPU of the app server's processes, cores.
    pub cpu_cores: Option<f64>,
    /// CPU of the databases and other services beside it, cores, by name.
    pub services_cpu_cores: BTreeMap<String, f64>,
    /// Busy share of all the machine's cores, 0..=1.
    pub cpu_share: Option<f64>,
    /// The app server's memory: processes' own and their part of what they share.
    pub memory_bytes: Option<u64>,
    /// That memory in relation to the limit, 0..=1.
    pub memory_share: Option<f64>,
    /// Of mixed requests, each kind's own figures.
    pub by_target: Vec<LabTargetFigures>,
}

/// The figures of one kind of request among several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabTargetFigures {
    /// Such as `GET /products`.
    pub target: String,
    pub requests: u64,
    /// Good replies of all, 0..=1.
    pub success: f64,
    pub latency_s: LabLatency,
}

/// One run: measured and published side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabRun {
    pub setting: LabSetting,
    /// Requests due a second here; differs from the setting's rate by the experiment's scale.
    pub offered_rps: Option<f64>,
    /// Null when the server did not come up; see `failure`.
    pub measured: Option<LabFigures>,
    /// Null when the article has no such run, or shows it as a picture.
    pub published: Option<LabFigures>,
    /// Throughput in relation to the series' first run.
    pub relative_measured: Option<f64>,
    pub relative_published: Option<f64>,
    /// Why there is no result, or what went wrong while there was one.
    pub failure: Option<Stated<LabFailure>>,
    /// The figures' values in equal parts of the run, from which intervals are made.
    pub blocks: BTreeMap<String, Vec<f64>>,
    pub warnings: Vec<Warning>,
}

#[cfg(test)]
impl LabRun {
    /// For tests: one thread a worker and four clients, without figures.
    pub fn sample(workers: u16) -> Self {
        Self {
            setting: LabSetting {
                target: "GET /".into(),
                series: "GET /".into(),
                workers: Workers::new(workers).unwrap(),
                threads: Threads::new(1).unwrap(),
                rate_rps: None,
                clients: Some(4),
                think_s: 0.0,
                env: BTreeMap::new(),
                repeat: 1,
            },
            offered_rps: None,
            measured: None,
            published: None,
            relative_measured: None,
            relative_published: None,
            failure: None,
            blocks: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }
}

/// Why a run has no result, or what went wrong meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum LabFailure {
    /// `last_line`: the server's own.
    RunWithoutServer {
        why: Stated<BootCause>,
        last_line: Option<String>,
    },
    ServerEndedInRun {
        status: Stated<ServerEnd>,
    },
}

impl From<TrialFailure> for LabFailure {
    fn from(failure: TrialFailure) -> Self {
        match failure {
            TrialFailure::Died { status, .. } => Self::ServerEndedInRun { status },
            TrialFailure::Boot(BootFailure { message: why, .. }) => {
                Self::RunWithoutServer { why, last_line: None }
            }
        }
    }
}

/// A figure of the best run of some, or its ratio to that of others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum LabComparison {
    RunsCompared { figure: String, of: LabRuns, to: Option<LabRuns> },
}

/// Runs that have all of these; what is empty or null is not asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabRuns {
    /// The target's, or the series'.
    pub name: Option<String>,
    pub workers: Vec<u16>,
    /// More workers than this.
    pub workers_above: Option<u16>,
    pub threads: Vec<u16>,
    pub rates_rps: Vec<f64>,
    pub clients: Vec<u32>,
    pub env: BTreeMap<String, String>,
}

/// Does a rule hold?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    Yes,
    No,
    /// The figures' intervals reach to both sides, or a run is missing.
    Undecided,
}

/// A figure, or a ratio of two, that a conclusion rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabEvidence {
    /// What was compared.
    pub what: Stated<LabComparison>,
    /// Null when a run is missing.
    pub value: Option<f64>,
    /// 95 %; null when there are too few parts of a run.
    pub interval: Option<[f64; 2]>,
    /// The value that follows from the published figures.
    pub published: Option<f64>,
    /// At least this is needed.
    pub at_least: Option<f64>,
    /// At most this may be.
    pub at_most: Option<f64>,
    pub holds: Holds,
}

/// A sentence that the article ended with, and whether it holds here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabConclusion {
    pub says: String,
    pub holds: Holds,
    pub evidence: Vec<LabEvidence>,
}

/// The result of `lab run --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabResult {
    pub lab: String,
    pub title: String,
    pub source: String,
    pub is_quick: bool,
    pub machine: Machine,
    /// What the article ran on.
    pub published_machine: String,
    /// By what the article's rates were multiplied, because a request costs more or less CPU here;
    /// null where rates are not scaled.
    pub scale: Option<f64>,
    /// The rule that the article ended with.
    pub rule: String,
    pub runs: Vec<LabRun>,
    pub conclusions: Vec<LabConclusion>,
    pub warnings: Vec<Warning>,
}

/// The capacity of two settings, measured one after the other after fresh starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabPair {
    /// Of the setting that `tune` chose; null when it was not found.
    pub chosen_rps: Option<f64>,
    /// Of the article's setting.
    pub article_rps: Option<f64>,
}

/// The result of `lab tune --json`: what `tune` chooses for an experiment's app, against the
/// setting that the article ended with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabTune {
    pub lab: String,
    pub machine: Machine,
    #[serde(with = "slo::as_written")]
    #[schemars(with = "String")]
    pub slo: Slo,
    /// Null when nothing held the SLO.
    pub chosen: Option<Configuration>,
    /// As good within 3 %, by `tune`'s own measurements.
    pub equivalent: Vec<Configuration>,
    pub article: Configuration,
    /// How long `tune` took, seconds.
    pub tune_s: f64,
    /// Of that under load.
    pub tune_load_s: f64,
    /// How long the experiment's runs would take at three times 60 s each.
    pub matrix_s: f64,
    /// Empty when both settings are the same.
    pub pairs: Vec<LabPair>,
    /// Capacity of the chosen setting in relation to the article's: 1 when they are the same; null
    /// when it was not measured.
    pub ratio: Option<f64>,
    /// 95 %, of the pairs' ratios.
    pub ratio_interval: Option<[f64; 2]>,
    /// At least 97 % of the article's?
    pub holds: Holds,
    pub warnings: Vec<Warning>,
}
