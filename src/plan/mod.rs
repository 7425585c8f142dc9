//! `sweetspot.toml` and flags become a checked [`Plan`]; an app's folder is recognised.
//!
//! In: what was typed ([`Typed`]) and the files it names. Out: a plan in which every value says where
//! it came from. Reads the app's folder and the files named; starts nothing.

use std::path::PathBuf;
use std::time::Duration;

use crate::server::App;
use crate::terms::{Arrivals, Bytes, ConnectionMode, Cores, Slo, Target, Threads, Workers};

/// The latency goal as planned.
#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    Given(Slo),
    /// p95 < max(200 ms, 3 x the unloaded p95), errors < 0.1 %: settled by the first trial.
    FromUnloaded,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag,
    /// The plan file, with its line.
    File {
        line: usize,
    },
    /// Found in the app's folder.
    App,
    Default,
}

/// A checked plan of `tune`.
#[derive(Debug, Clone)]
pub struct Plan {
    pub app: App,
    /// The adapter's name.
    pub server: String,
    /// Ascending, without repeats, not empty.
    pub workers: Vec<Workers>,
    /// Ascending, without repeats, not empty.
    pub threads: Vec<Threads>,
    pub targets: Vec<Target>,
    pub goal: Goal,
    /// `None`: all that this process may use.
    pub cores: Option<Cores>,
    pub memory: Option<Bytes>,
    pub budget: Duration,
    pub arrivals: Arrivals,
    pub connection: ConnectionMode,
    /// From due to the last byte.
    pub timeout: Duration,
    /// Most database connections that may be open at once.
    pub db_connections: Option<u32>,
    pub seed: u64,
    pub store: PathBuf,
    /// What is printed with the plan: what, value, and where it came from; in printing order.
    pub lines: Vec<PlanLine>,
}

/// One printed line of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLine {
    pub what: String,
    pub value: String,
    pub source: Source,
}
