//! What the server's processes and the host used, second by second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a process is to the app server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Boots and watches workers; serves nothing.
    Master,
    /// Serves requests.
    Worker,
    /// Anything else below the server: a helper, a proxy, a database.
    Other,
}

/// What one process used in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUse {
    pub pid: u32,
    pub role: Role,
    /// The worker's index from 0, in the order of process ids; `None` for others.
    pub index: Option<u16>,
    /// The process's command name or title.
    pub name: String,
    /// CPU seconds used in this interval (the process's own CPU clock).
    pub cpu_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    /// Seconds its threads were runnable but waited for a core, summed over threads.
    pub run_delay_s: f64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Threads it has.
    pub threads: u32,
    /// Of those, running or runnable when looked at.
    pub threads_runnable: f64,
}

/// What the machine's cores did in one interval, summed over the cores looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostUse {
    /// Busy share of each core, 0..=1, in core order.
    pub cores_busy: Vec<f64>,
    /// Seconds stolen by the hypervisor, all cores.
    pub steal_s: f64,
    pub iowait_s: f64,
    /// Seconds the server's control group was throttled.
    pub throttled_s: f64,
    /// Scheduling periods in which it was throttled.
    pub throttled_periods: u64,
}

/// One interval of about a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorSecond {
    /// Start, seconds from the start of the load.
    pub at_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    pub processes: Vec<ProcessUse>,
    pub host: HostUse,
    /// Connections waiting to be accepted when looked at; `None` when it could not be seen.
    pub listen_queue: Option<u32>,
}

/// Memory of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessMemory {
    pub pid: u32,
    pub role: Role,
    /// Its share of shared pages and all of its own.
    pub pss_bytes: u64,
    /// Its own pages alone.
    pub uss_bytes: u64,
    pub rss_bytes: u64,
}

/// What was watched during one load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MonitorRecord {
    /// Oldest first.
    pub seconds: Vec<MonitorSecond>,
    /// Taken once, at the end of the load; empty when it could not be read.
    pub memory: Vec<ProcessMemory>,
    /// What could not be seen, a sentence each.
    pub blind_spots: Vec<String>,
}
