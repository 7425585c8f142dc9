//! One check of a machine that is to be measured on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limit_refusal::LimitRefusal;

/// How a check came out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// Fit.
    Ok,
    /// Figures will be noisier or lower than they could be.
    Warn,
    /// Figures would mislead, or nothing can be measured.
    Bad,
}

/// What a check found, and whether one can measure there.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub state: FindingState,
    pub check: MachineCheck,
}

/// What was checked of a machine, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum MachineCheck {
    /// Cores that we may use, of those there are; the quota where it is less than these.
    CoresFound {
        available: u32,
        online: u32,
        quota: Option<CoresQuota>,
    },
    /// Each name once; none: the machine does not show them.
    GovernorsFound {
        names: Vec<String>,
    },
    /// The share of the cores' time that the hypervisor gave to others.
    StealFound {
        steal_ratio: f64,
        over_s: f64,
    },
    /// How busy the cores were while we did nothing; the busiest process where that is much.
    LoadFound {
        busy_ratio: f64,
        over_s: f64,
        busiest: Option<BusiestProcess>,
    },
    /// How far times of one computation differ; null: it could not be measured.
    NoiseFound {
        spread: Option<NoiseSpread>,
    },
    /// The limit of open files, and what it may be raised to.
    OpenFilesFound {
        limit: u64,
        raisable_to: u64,
    },
    /// Ports for outgoing connections; null: not visible.
    PortsFound {
        ports: Option<LocalPorts>,
    },
    /// The longest listen queue that a server gets; null: not visible.
    ListenQueueFound {
        connections_max: Option<u64>,
    },
    /// What the kernel reads the time from; null: not visible.
    ClockFound {
        source: Option<String>,
    },
    ControlGroupsFound {
        permission: GroupPermission,
    },
    /// Whether all of a server ends by its control group, also what hides from us.
    LeftBehindFound {
        group_ends_all: bool,
    },
    PriorityFound {
        permitted: Priority,
    },
    /// Null: not visible.
    MemoryFound {
        memory: Option<MemoryLeft>,
    },
    SwapFound {
        used_bytes: u64,
        total_bytes: u64,
    },
    /// Free for what is stored in the folder; null: not visible.
    DiskFound {
        free_bytes: Option<u64>,
        folder: String,
    },
    /// A program that the app needs; no path: it is missing.
    ProgramFound {
        program: String,
        path: Option<String>,
    },
    #[serde(untagged)]
    OfCluster(ClusterCheck),
}

/// What was checked of a cluster, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ClusterCheck {
    /// A cluster's API server, and where in the cluster one would measure.
    ApiServerFound {
        version: String,
        namespace: String,
        /// There is no such namespace.
        is_missing: bool,
    },
    /// What of the rights in a role's file one does not have there, but for those on kinds that a
    /// cluster need not have (KEDA's, vertical autoscalers).
    RightsFound { role: String, missing: Vec<String> },
    /// A cluster's nodes; null: not visible.
    NodesFound { nodes: Option<Vec<NodesAlike>> },
    /// What quotas of the namespace leave; null: not visible.
    QuotasFound { quotas: Option<Vec<QuotaLeft>> },
    /// Whether the cluster serves what pods use of CPU, by which an autoscaler goes; null: it
    /// doesn't say.
    PodMetricsFound { are_served: Option<bool> },
    /// What pods of this image saw, one on each node.
    NodesLookedAt { image: String, looks: Vec<NodeLook> },
}

family!(MachineCheck: OfCluster(ClusterCheck));

/// Nodes of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodesAlike {
    pub count: u32,
    pub architecture: String,
    pub kernel: String,
    /// What pods may have of each.
    pub cores: f64,
    pub memory_gib: u64,
    /// They are ready, and nobody has closed them.
    pub take_pods: bool,
}

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSaid {
    /// Seconds since 1970, by its clock, when it said so.
    pub at_s: f64,
    pub cpu_model: String,
    /// Release.
    pub kernel: String,
    /// That a pod may run on.
    pub cores: u32,
}

/// A node, as a pod on it found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeLook {
    /// Its name; empty where no node took the pod.
    pub node: String,
    /// Null: the pod doesn't run, or could not be asked.
    pub said: Option<NodeSaid>,
    /// Seconds by which its clock is ahead of ours (below zero: behind), at least and at most.
    pub clock_ahead_s: Option<[f64; 2]>,
    /// Why the pod doesn't run, or could not be asked.
    pub why: Option<String>,
}

/// One resource of a quota, in amounts as Kubernetes writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaLeft {
    pub quota: String,
    pub resource: String,
    pub used: String,
    pub hard: String,
    /// Nothing is left.
    pub is_spent: bool,
}

/// A quota of CPU time, and the control group that has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoresQuota {
    pub cores: f64,
    pub folder: String,
}

/// The process that used most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusiestProcess {
    pub pid: u32,
    pub name: String,
    pub cores: f64,
}

/// How much times of one fixed computation differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSpread {
    /// The middle 80 % of times on one core, relative to the median; the median core's.
    pub within_ratio: f64,
    /// The slowest core's median over the fastest's, minus one.
    pub between_ratio: f64,
    pub cores: u32,
    /// Times on each core.
    pub repeats: u32,
}

/// Ports for outgoing connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalPorts {
    pub first: u32,
    pub last: u32,
    /// Ports of closed connections are taken again at once, at least on loopback.
    pub is_reused: bool,
}

impl LocalPorts {
    pub fn count(self) -> u32 {
        (self.last + 1).saturating_sub(self.first)
    }

    /// Fresh connections a second that can go on for longer than a minute, where ports are not
    /// reused: a port rests for a minute after the side that closes first has closed.
    pub fn fresh_per_s(self) -> u32 {
        self.count() / 60
    }
}

/// Memory that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLeft {
    pub available_bytes: u64,
    pub total_bytes: u64,
    /// Of the control group, where it is less than all.
    pub limit_bytes: Option<u64>,
}

/// What a thread of ours may have to run before others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    RealTime,
    /// A better nice level.
    Nice,
    Normal,
}

/// A folder in which no control group could be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedGroup {
    pub folder: String,
    pub why: LimitRefusal,
}

/// What a try to make a control group showed; `version`: of control groups, 1 or 2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupPermission {
    /// Groups with limits of CPU and memory can be made.
    Both { version: u8 },
    /// A group can be made, but not with limits of these.
    Without { version: u8, missing: Vec<String> },
    /// There are groups, but none may be made in any of these.
    Refused { version: u8, tried: Vec<RefusedGroup> },
    /// No control groups are mounted.
    None,
}

impl MachineCheck {
    /// Its stable name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::CoresFound { .. } => "cores",
            Self::GovernorsFound { .. } => "governor",
            Self::StealFound { .. } => "steal",
            Self::LoadFound { .. } => "load",
            Self::NoiseFound { .. } => "noise",
            Self::OpenFilesFound { .. } => "open_files",
            Self::PortsFound { .. } => "ports",
            Self::ListenQueueFound { .. } => "somaxconn",
            Self::ClockFound { .. } => "clock",
            Self::ControlGroupsFound { .. } => "control_groups",
            Self::LeftBehindFound { .. } => "left_behind",
            Self::PriorityFound { .. } => "priority",
            Self::MemoryFound { .. } => "memory",
            Self::SwapFound { .. } => "swap",
            Self::DiskFound { .. } => "disk",
            Self::ProgramFound { .. } => "tool",
            Self::OfCluster(check) => match check {
                ClusterCheck::ApiServerFound { .. } => "api_server",
                ClusterCheck::RightsFound { .. } => "rights",
                ClusterCheck::NodesFound { .. } => "nodes",
                ClusterCheck::QuotasFound { .. } => "quotas",
                ClusterCheck::PodMetricsFound { .. } => "pod_metrics",
                ClusterCheck::NodesLookedAt { .. } => "pods_on_nodes",
            },
        }
    }
}
