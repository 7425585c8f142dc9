//! What is said between us and the guardian: one JSON value a line, orders one way and replies the
//! other.
//!
//! In and out: values. Only computes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::cgroup::{Group, Limits};
use crate::server::{CommandLine, RunAs};
use crate::terms::ProcessEnd;

/// What the guardian is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// First: make a scratch folder in the first of these folders that can be written to, and a
    /// control group for the limits. Both are removed when the guardian ends. All that is started
    /// runs as this user, whose the folder is; `None`: as we do.
    Begin { scratch_in: Vec<PathBuf>, limits: Limits, run_as: Option<RunAs> },
    /// Start a process, beside those that run.
    Start {
        command: CommandLine,
        /// Where its output goes, in the scratch folder; made afresh unless another process has
        /// written there since the last [`Order::End`].
        log: PathBuf,
        /// The cores it may use; empty: as inherited.
        cpus: Vec<usize>,
        /// How far it steps behind others, 0..=19: so that a load generator that may not step
        /// ahead is still in time on shared cores.
        #[serde(default)]
        nice: i32,
    },
    /// Send a signal to one of the processes started; one that has ended is fine.
    Signal { pid: u32, signal: i32 },
    /// End whatever is left, for certain.
    End,
}

/// What the guardian says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Begun {
        scratch: PathBuf,
        group: Group,
        /// `NAME=value` in the environment of all that is started.
        mark: String,
        /// Who is to end everything should we be killed reads it.
        record: Option<PathBuf>,
    },
    Started {
        pid: u32,
    },
    /// The program could not be run; `is_missing`: there is no such program.
    NotStarted {
        is_missing: bool,
        message: String,
    },
    /// A process started has ended by itself or by our signal.
    Exited {
        pid: u32,
        status: ProcessEnd,
    },
    /// Everything has ended, but for those in `left` (which the kernel would not let go in time).
    Ended {
        left: Vec<u32>,
    },
    /// An order could not be carried out.
    Refused {
        message: String,
    },
}
