//! What a limit is told by, and what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::doubt::GeneratorDoubt;
use super::stated::Stated;

/// The name of several processes together; that of one is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ProcessNames {
    /// The busiest, and others of the same program.
    Alike { name: String, others: u64 },
}

/// What a process beside the server used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourCores {
    pub name: Stated<ProcessNames>,
    pub cores: f64,
}

/// How much of the memory that it may use was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFill {
    pub most_bytes: u64,
    pub limit_bytes: u64,
}

/// How busy the server's CPU was, shares of 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuBusy {
    /// Of all cores that the server may use.
    pub cores_ratio: f64,
    /// Of one core, by the busiest worker.
    pub worker_ratio: f64,
}

/// What requests occupy: threads, or whole workers where each has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slots {
    pub count: u32,
    pub are_workers: bool,
}

/// The counters that show a limit, or that none was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Evidence {
    Resource(ResourceEvidence),
    Waiting(WaitingEvidence),
}

/// CPU, memory or the host was used up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ResourceEvidence {
    /// The load generator did not do what it was asked to.
    GeneratorLimits {
        doubt: GeneratorDoubt,
    },
    CoresBusy {
        cores: f64,
        busy_ratio: f64,
        server_cores: f64,
        generator_cores: f64,
    },
    /// Each worker used the one core that its interpreter lock, or its one thread, allows.
    WorkersBusy {
        workers: u32,
        busy_ratio: f64,
        has_one_thread: bool,
        idle_cores: f64,
        cores: f64,
    },
    /// The control group was throttled in this share of its periods.
    Throttled {
        cores: f64,
        throttled_ratio: f64,
        server_cores: f64,
    },
    /// Share of the workers' CPU time that was garbage collection.
    Collecting {
        ratio: f64,
        per_request_s: f64,
    },
    /// Processes killed by the kernel.
    OutOfMemory {
        kills: u64,
        memory: Option<MemoryFill>,
    },
    /// Pages read again, and the share of time that something waited for memory.
    MemoryPressure {
        reread_pages_per_s: f64,
        waited_ratio: f64,
        memory: Option<MemoryFill>,
    },
    /// Share of the cores' time that the hypervisor gave to other guests.
    Stolen {
        ratio: f64,
    },
    /// Processes that are not the server's took this share.
    TakenByOthers {
        cores: f64,
        busy_ratio: f64,
        taken_ratio: f64,
        /// The busiest, at most 3.
        processes: Vec<NeighbourCores>,
    },
}

/// Where requests waited, or that no limit was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum WaitingEvidence {
    /// No trial of the setting was a saturating load.
    NotSaturated,
    /// No rule held.
    NoRuleHolds {
        cpu: CpuBusy,
        in_flight_mean: f64,
        slots: Slots,
    },
    /// Services that work for the app were busy.
    BackendBusy {
        backend_cores: f64,
        server_cores: f64,
        cores: f64,
        /// The busiest, at most 3.
        processes: Vec<NeighbourCores>,
    },
    /// Requests took longer than alone, without CPU to explain it.
    BackendWaits {
        by_workers: bool,
        held_s: f64,
        stretch: f64,
        cpu: CpuBusy,
    },
    /// Every slot was taken while the CPU had time.
    SlotsTaken {
        slots: Slots,
        in_flight_mean: f64,
        cpu: CpuBusy,
    },
    /// Busy shares of the busiest and the idlest worker.
    Unbalanced {
        busiest_ratio: f64,
        idlest_ratio: f64,
    },
    ProxyTurnedAway {
        due: u64,
        closed: u64,
        status_502: u64,
        cpu: CpuBusy,
    },
    ListenQueueFull {
        backlog: u32,
        turned_away: u64,
        p99_s: f64,
        cores_busy_ratio: f64,
    },
}

family!(Evidence: Resource(ResourceEvidence), Waiting(WaitingEvidence));

/// What to do about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum LimitAdvice {
    /// `has_threads`: the server has threads to choose.
    MoreCoresOrLessCpu {
        has_threads: bool,
    },
    MoreWorkers,
    /// More threads would wait for the same lock.
    MoreWorkersNotThreads,
    MoreThreadsOrWorkers,
    LookAtBackend {
        has_threads: bool,
    },
    MoreMemoryOrFewerWorkers,
    HigherQuotaOrWorkersPerCore,
    LessGarbage,
    MeasureAtAnotherTime,
    EndNeighbours,
    FreshConnections,
    RaiseProxyLimits,
    LongerListenQueue,
    /// What to do about this doubt.
    MendGenerator {
        doubt: GeneratorDoubt,
    },
}
