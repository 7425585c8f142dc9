//! What the server's processes and the host used, second by second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blind_spot::BlindSpot;
use super::evidence::ProcessNames;
use super::stated::Stated;

/// What a process is to the app server.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Boots and watches workers; serves nothing.
    Master,
    /// Serves requests.
    Worker,
    /// Anything else below the server: a helper, a proxy, a database.
    #[default]
    Other,
}

/// One process of the server's, as far as its role shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFacts<'a> {
    /// A process that the server was started with, and not one of its descendants.
    pub is_root: bool,
    /// Command line joined by spaces (servers write their title there).
    pub title: &'a str,
    /// It holds a socket on which the server listens, and none of its children does.
    pub serves: bool,
}

/// What one process used in one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Of those, waiting without a way to be interrupted when looked at: for a disk, mostly.
    #[serde(default)]
    pub threads_blocked: f64,
    /// Pages it touched for the first time, or that were shared until it wrote to them.
    #[serde(default)]
    pub minor_faults: u64,
    /// Pages that had to be read from a disk.
    #[serde(default)]
    pub major_faults: u64,
    /// Memory it has in use at the end, pages that it shares with others included.
    #[serde(default)]
    pub resident_bytes: u64,
    /// Files it has open, sockets among them, as last counted; `None` when it could not be seen.
    pub open_files: Option<u32>,
    /// Sockets among them.
    pub open_sockets: Option<u32>,
}

/// What one core did in one interval, as shares that add up to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreUse {
    /// The kernel's number of it.
    pub core: u16,
    /// Programs, also those at lowered priority.
    pub user: f64,
    /// The kernel, interrupts included.
    pub system: f64,
    pub idle: f64,
    /// Idle while something waited for a disk.
    pub iowait: f64,
    /// Given to other machines by the hypervisor.
    pub steal: f64,
}

/// What one network interface or disk carried in one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// As the kernel names it: `eth0`, `vda`.
    pub name: String,
    /// Bytes received, or read.
    pub in_bytes: u64,
    /// Bytes sent, or written.
    pub out_bytes: u64,
    /// Seconds in which a disk had something to do; `None` for a network interface.
    pub busy_s: Option<f64>,
}

/// A process beside the server that used the same cores in one interval, or several of one program
/// together: then `pid` is the busiest one's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourUse {
    pub pid: u32,
    pub name: Stated<ProcessNames>,
    pub cpu_s: f64,
    /// A process of the server has a connection to it: a database or another service behind the
    /// app. `None` when that could not be seen.
    pub serves_app: Option<bool>,
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
    /// Periods of its quota in which it was throttled.
    pub throttled_periods: u64,
    /// Periods of its quota in which it ran; 0 without a quota.
    #[serde(default)]
    pub periods: u64,
    /// What each of these cores did.
    #[serde(default)]
    pub cores: Vec<CoreUse>,
    #[serde(default)]
    pub networks: Vec<DeviceUse>,
    #[serde(default)]
    pub disks: Vec<DeviceUse>,
    /// Processes that are neither the server's nor ours and used at least a twentieth of a core,
    /// the busiest first, at most five. Only looked for when that much is missing from the sum.
    #[serde(default)]
    pub neighbours: Vec<NeighbourUse>,
}

/// What the server's control group counted in one interval. A figure that the group's version or
/// the kernel does not have is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupUse {
    /// CPU seconds of all that is in it, also of what began and ended between two looks.
    pub cpu_s: Option<f64>,
    /// Memory charged to it at the end, files in the cache included.
    pub memory_bytes: Option<u64>,
    /// Of that, memory that no file stands behind.
    pub anonymous_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    /// The smallest limit on it and the groups around it.
    pub memory_limit_bytes: Option<u64>,
    /// Times its memory was at the limit and something had to go first.
    pub memory_limit_hits: Option<u64>,
    /// Pages that had to make room and were read from a disk again soon after.
    pub refaulted_pages: Option<u64>,
    /// Processes killed for want of memory.
    pub out_of_memory_kills: Option<u64>,
    /// Seconds in which something in it waited for a core.
    pub cpu_pressure_s: Option<f64>,
    /// Seconds in which something in it waited for memory.
    pub memory_pressure_s: Option<f64>,
    /// Seconds in which something in it waited for a disk.
    pub io_pressure_s: Option<f64>,
}

impl GroupUse {
    /// Of totals that only grow: what came since those of `before`, with today's memory and limit.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes,
            anonymous_bytes: self.anonymous_bytes,
            swap_bytes: self.swap_bytes,
            memory_limit_bytes: self.memory_limit_bytes,
            ..self.with(before, u64::saturating_sub, |now, then| (now - then).max(0.0))
        }
    }

    /// Each figure of this one and of `other` put together, bytes and events by `counts`, seconds
    /// by `times`; `None` where either is.
    pub fn with(
        &self,
        other: &Self,
        counts: fn(u64, u64) -> u64,
        times: fn(f64, f64) -> f64,
    ) -> Self {
        let count = |a: Option<u64>, b: Option<u64>| Some(counts(a?, b?));
        let time = |a: Option<f64>, b: Option<f64>| Some(times(a?, b?));
        Self {
            cpu_s: time(self.cpu_s, other.cpu_s),
            memory_bytes: count(self.memory_bytes, other.memory_bytes),
            anonymous_bytes: count(self.anonymous_bytes, other.anonymous_bytes),
            swap_bytes: count(self.swap_bytes, other.swap_bytes),
            memory_limit_bytes: count(self.memory_limit_bytes, other.memory_limit_bytes),
            memory_limit_hits: count(self.memory_limit_hits, other.memory_limit_hits),
            refaulted_pages: count(self.refaulted_pages, other.refaulted_pages),
            out_of_memory_kills: count(self.out_of_memory_kills, other.out_of_memory_kills),
            cpu_pressure_s: time(self.cpu_pressure_s, other.cpu_pressure_s),
            memory_pressure_s: time(self.memory_pressure_s, other.memory_pressure_s),
            io_pressure_s: time(self.io_pressure_s, other.io_pressure_s),
        }
    }
}

/// What a process of the server did with its requests in one interval, as a probe inside it told.
/// Sums over the requests that ended in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InsideUse {
    pub pid: u32,
    pub requests: u64,
    /// Seconds from the app's call to its return.
    pub app_s: f64,
    /// CPU seconds of the threads that ran them.
    pub cpu_s: f64,
    /// Seconds of garbage collection in the whole process; `None` where the interpreter does not
    /// tell.
    pub gc_s: Option<f64>,
    /// Seconds in which these threads waited for the interpreter's lock; `None` where it does not
    /// tell.
    pub gvl_wait_s: Option<f64>,
    /// Seconds from the proxy's or generator's time stamp to the app's call, over the requests that
    /// had one; `None` without any.
    pub queue_s: Option<f64>,
    /// CPU seconds that the probe itself took in the threads that ran them; in none of the others.
    pub probe_s: f64,
}

/// A request that was told by itself, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct InsideRequest {
    /// From the app's call to its return.
    pub app_s: f64,
    /// On the clock of its thread.
    pub cpu_s: f64,
    /// For the interpreter's lock; `None` where it does not tell.
    pub gvl_wait_s: Option<f64>,
    /// Before the app; `None` without a time stamp.
    pub queue_s: Option<f64>,
    /// The part of the app that it was for.
    pub route: String,
}

/// What the server itself says of one of its workers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerStats {
    /// `None` where the server is one process.
    pub pid: Option<u32>,
    /// Requests that it has taken in and no thread has taken yet.
    pub waiting: u32,
    /// Threads that have nothing to do, or could still be made.
    pub free_threads: u32,
    /// The most threads it may have.
    pub threads: u32,
    /// Requests since it was started.
    pub requests: u64,
}

/// One interval of about a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorSecond {
    /// Start, seconds from the start of the load.
    pub at_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    pub processes: Vec<ProcessUse>,
    pub host: HostUse,
    /// The most connections that waited to be accepted at any look; `None` when it could not be
    /// seen.
    pub listen_queue: Option<u32>,
    /// Mean over all looks, where `listen_queue` has the most.
    pub listen_queue_mean: Option<f64>,
    /// How many may wait there; `None` when it could not be seen.
    pub listen_backlog: Option<u32>,
    /// Connections that the kernel turned away, because a queue was full, in the whole network
    /// that the server sees; `None` when it could not be seen.
    pub listen_overflows: Option<u64>,
    /// `None` when the server has no control group of its own.
    pub group: Option<GroupUse>,
    /// A process each, in order of pid; empty without a probe.
    #[serde(default)]
    pub inside: Vec<InsideUse>,
    /// What the server said of its workers last, which may be some seconds old; empty without a
    /// probe, and of servers that say nothing.
    #[serde(default)]
    pub worker_stats: Vec<WorkerStats>,
}

/// Memory of one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessMemory {
    pub pid: u32,
    pub role: Role,
    /// Its share of shared pages and all of its own.
    pub pss_bytes: u64,
    /// Of that, memory that no file stands behind; `None` where the kernel does not tell (before
    /// 5.4).
    pub pss_anonymous_bytes: Option<u64>,
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
    /// What could not be seen.
    pub blind_spots: Vec<Stated<BlindSpot>>,
}

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
