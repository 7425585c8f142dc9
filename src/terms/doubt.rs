//! What makes a figure or an answer doubtful.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blind_spot::BlindSpot;
use super::code::code;
use super::configuration::Configuration;
use super::finding::MachineCheck;
use super::goals::GoalList;
use super::limit_refusal::LimitRefusal;
use super::load_record::TlsTrouble;
use super::obstacle::Obstacle;
use super::stated::Stated;

/// A doubt, by what it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Doubt {
    Generator(GeneratorDoubt),
    Load(LoadDoubt),
    Capacity(CapacityDoubt),
    Machine(MachineDoubt),
    /// Found by `doctor`.
    Check(MachineCheck),
    Session(SessionDoubt),
    Prediction(PredictionDoubt),
    Cluster(ClusterDoubt),
}

/// The load generator itself is what was measured, or may be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum GeneratorDoubt {
    /// `late` of all requests left later than they were due by more than the limit.
    SentLate { late: u64, requests: u64, limit_s: f64 },
    /// The busiest loop used this share of a core.
    LoopBusy { busy_ratio: f64 },
    /// Requests that found no free port or file descriptor on our side.
    OutOfAddresses { requests: u64 },
    /// What was sampled in flight is not rate x mean latency, which Little's law says it is.
    LittleViolated { in_flight_mean: f64, expected_mean: f64 },
    /// Of several generators that send together; `after_s`: when the first was lost.
    Lost { lost: u16, of: u16, after_s: f64 },
    /// Generators that send together began so far from each other, as far as is known.
    BeganApart { apart_s: f64 },
}

/// The replies, or what was sent, are not what they should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum LoadDoubt {
    /// As many requests as are allowed were in flight; `dropped` of those that waited were never
    /// sent.
    WaitedForPlace { requests: u64, dropped: u64 },
    /// Requests without a reply; `silent_s`: how long none came before the end, where that is long.
    Unanswered { requests: u64, due: u64, silent_s: Option<f64> },
    /// Replies that are neither 2xx nor 3xx; `commonest_status`: of these, null in records from
    /// before it was noted.
    FailedReplies {
        failed: u64,
        replies: u64,
        #[serde(default)]
        commonest_status: Option<u16>,
    },
    /// The load was ended early; `is_unmeasured`: before the measured part began.
    LoadCutShort { after_s: f64, is_unmeasured: bool },
    /// The time to the server varies by as much as matters for the shortest limit of the goals.
    RouteVaries { jitter_s: f64, connect_s: f64, limit_s: f64 },
    /// A cache answered instead of the app.
    RepliesCached { cached: u64, replies: u64 },
    /// Replies that name a proxy (`Via`).
    ProxyBetween { passed: u64, replies: u64 },
    /// Some workers had much more to do than others; both in cores.
    WorkersUneven { busiest_cores: f64, idlest_cores: f64 },
    /// TLS failed.
    TlsFailed { trouble: TlsTrouble },
    /// Requests whose row could not be written in time.
    RowsLeftOut { requests: u64 },
    /// The access log has more targets than are kept apart.
    RareTargetsLeftOut { targets_kept: u32, requests: u64, targets: u64 },
    /// Lines of the access log; `first_line` counts from 1.
    LogLinesNotUnderstood { lines: u64, first_line: u64 },
    /// Something of the server could not be watched.
    NotSeen { what: Stated<BlindSpot> },
    /// What the platform recorded of the app could not be read; `said`: why, in its own words.
    MetricsUnread { said: String },
}

/// The search for a capacity did not get to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum CapacityDoubt {
    /// The server stopped answering under this load.
    ServerGone {
        load: LoadOffered,
    },
    SearchCutShort {
        after_s: f64,
    },
    /// The generator, not the server, was the limit.
    GeneratorLimited,
    /// The goal was met at every rate tried.
    NoUpperBound,
    /// Too few requests to name a capacity.
    NoCapacityNamed,
}

/// What was asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadOffered {
    RateRps(f64),
    Clients(u32),
}

/// The machine is not what was asked for, or does not keep the server apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum MachineDoubt {
    /// The load generator has no core of its own; the server runs on `cores` cores.
    GeneratorSharesCores {
        cores: f64,
    },
    FewerCores {
        asked_cores: f64,
        usable_cores: f64,
    },
    LessMemory {
        asked_bytes: u64,
        usable_bytes: u64,
    },
    /// The server runs on whole cores instead.
    CoresNotEnforced {
        cores: f64,
        why: LimitRefusal,
    },
    MemoryNotEnforced {
        limit_bytes: u64,
        why: LimitRefusal,
    },
    /// The server and the app have all rights on the machine, as its folder is root's and nobody
    /// else was named.
    AppIsRoot,
}

/// What was measured in a cluster is not all of what runs there, or does not stay as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ClusterDoubt {
    /// One pod is measured of those that the Deployment had.
    OnePodOfSeveral { pods: u64 },
    /// The container has no limit of this kind, so that it may use what its node has.
    NoLimit { of: LimitedResource },
    /// A program that keeps the Deployment as a repository says may undo what is tried.
    KeptByRepository { program: String },
    /// An autoscaler that something else owns, and may set anew.
    AutoscalerOwned { owner: String },
    /// A vertical autoscaler of this name changes what its pods request, and may evict them for it.
    VerticalAutoscaler { name: String, namespace: String },
    /// Variables that give the setting have their values elsewhere, in a ConfigMap or a Secret.
    VariablesElsewhere { variables: Vec<String> },
    /// Containers beside the app's in the pods that an image's pods are like, which these have not.
    ContainersLeftOut { containers: Vec<String> },
    /// Its pods ran on these nodes, and it could not be looked at whether they are of one kind.
    NodesNotCompared { first: String, other: String },
    /// The app's pod ran on this node, and beside it this many of the generators' pods; 0: their
    /// collector's alone.
    GeneratorSharesNode { node: String, generators: u64 },
}

/// What a container may be limited in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedResource {
    Cpu,
    Memory,
}

/// A session answers less than was asked, or its record is damaged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SessionDoubt {
    /// The app runs one thread a worker today, and nobody agreed to try more.
    OneThreadOnly,
    /// Changes that cannot be tried on this app.
    KnobsNotThere { changes: Vec<ChangeNotThere> },
    /// The report is made from those events that can be read; `error` is the first one's.
    StoreDamaged { error: String, readable_events: u64 },
    /// A newer version wrote the session: as of `StoreDamaged`.
    StoreNewer { error: String, readable_events: u64 },
}

/// A change that cannot be tried, by its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeNotThere {
    pub change: String,
    pub why: Obstacle,
}

/// Too little was measured for a prediction, or it contradicts itself, or what is asked lies far
/// from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum PredictionDoubt {
    /// The model is fitted to few saturated settings; `missing` would tell most.
    FewTrials { saturated_settings: u32, missing: MissingTrial },
    /// Predictions are for all requests together, within this quantile's limit.
    SeveralGoals { goals: GoalList, quantile_ratio: f64, limit_s: f64 },
    /// One setting's throughput, in one trial and in another.
    ContradictoryTrials { setting: Configuration, times: f64 },
    /// Throughput changed over the session in relation to its settings; below zero it fell.
    NotSteady { change_ratio: f64 },
    /// No adapter knows the server; its own curve where that is followed.
    UnknownServer { server: String, curve: Option<ScalabilityCurve> },
    /// There is no setting for how long a thread keeps the interpreter's lock.
    NoQuantum { of: QuantumOwner },
    /// The model misses what was measured by this share.
    PoorFit { misfit_ratio: f64 },
    /// The farthest setting asked for, beside what was measured (fewest and most).
    Extrapolation {
        workers: [u16; 2],
        threads: [u16; 2],
        cores: f64,
        asked_workers: u16,
        asked_threads: u16,
        asked_cores: f64,
    },
    /// The load generator's share of the cores is part of the predictions.
    GeneratorIncluded { cores_ratio: f64 },
}

/// The trial that would make a prediction more certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingTrial {
    OneClientAlone,
    /// This number of workers under all it can take, of a server without threads to choose.
    SaturatedWorkers(u32),
    SaturatedSetting(Configuration),
}

/// The universal scalability law through what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalabilityCurve {
    pub contention: f64,
    pub coherency: f64,
    pub misfit_ratio: f64,
}

/// Whose lock it would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuantumOwner {
    EventLoop,
    UnknownRuntime,
    /// A name with its version.
    Runtime(String),
}

family! {
    Doubt: Generator(GeneratorDoubt), Load(LoadDoubt), Capacity(CapacityDoubt),
    Machine(MachineDoubt), Check(MachineCheck), Session(SessionDoubt),
    Prediction(PredictionDoubt), Cluster(ClusterDoubt),
}

/// Known by its code in older stores.
pub(super) const GENERATOR_SHARES_CORES: &str = "generator_shares_cores";

impl Doubt {
    /// Its stable name for scripts; several doubts of a kind have one.
    pub fn code(&self) -> String {
        let name = match self {
            Self::Generator(GeneratorDoubt::SentLate { .. }) => "generator_send_lag",
            Self::Generator(GeneratorDoubt::LoopBusy { .. }) => "generator_cpu",
            Self::Generator(GeneratorDoubt::OutOfAddresses { .. }) => {
                "generator_address_unavailable"
            }
            Self::Generator(GeneratorDoubt::LittleViolated { .. }) => "generator_little",
            Self::Generator(GeneratorDoubt::Lost { .. }) => "generator_lost",
            Self::Generator(GeneratorDoubt::BeganApart { .. }) => "generators_apart",
            Self::Load(LoadDoubt::WaitedForPlace { .. }) => "max_in_flight",
            Self::Load(LoadDoubt::Unanswered { .. }) => "unanswered",
            Self::Load(LoadDoubt::FailedReplies { .. }) => "status",
            Self::Load(LoadDoubt::LoadCutShort { .. }) => "cut_short",
            Self::Load(LoadDoubt::RouteVaries { .. }) => "route_jitter",
            Self::Load(LoadDoubt::RepliesCached { .. }) => "cached_replies",
            Self::Load(LoadDoubt::ProxyBetween { .. }) => "proxy_between",
            Self::Load(LoadDoubt::WorkersUneven { .. }) => "uneven_workers",
            Self::Load(LoadDoubt::TlsFailed { .. }) => "tls",
            Self::Load(LoadDoubt::RowsLeftOut { .. }) => "rows_left_out",
            Self::Load(LoadDoubt::RareTargetsLeftOut { .. }) => "rare_targets",
            Self::Load(LoadDoubt::LogLinesNotUnderstood { .. }) => "log_lines",
            Self::Load(LoadDoubt::NotSeen { what }) => match what.fact() {
                Some(BlindSpot::OnlyWholeMinutes) => "only_whole_minutes",
                _ => "not_seen",
            },
            Self::Load(LoadDoubt::MetricsUnread { .. }) => "metrics_unread",
            Self::Capacity(CapacityDoubt::ServerGone { .. }) => "server_gone",
            Self::Capacity(CapacityDoubt::SearchCutShort { .. }) => "cut_short",
            Self::Capacity(CapacityDoubt::GeneratorLimited) => "generator_limit",
            Self::Capacity(CapacityDoubt::NoUpperBound) => "no_upper_bound",
            Self::Capacity(CapacityDoubt::NoCapacityNamed) => "too_few_requests",
            Self::Machine(MachineDoubt::GeneratorSharesCores { .. }) => GENERATOR_SHARES_CORES,
            Self::Machine(MachineDoubt::FewerCores { .. }) => "fewer_cores",
            Self::Machine(MachineDoubt::LessMemory { .. }) => "less_memory",
            Self::Machine(MachineDoubt::CoresNotEnforced { .. }) => "limits_not_enforced",
            Self::Machine(MachineDoubt::MemoryNotEnforced { .. }) => "limits_not_enforced",
            Self::Machine(MachineDoubt::AppIsRoot) => "app_is_root",
            Self::Check(check) => check.code(),
            Self::Session(SessionDoubt::OneThreadOnly) => "one_thread_only",
            Self::Session(SessionDoubt::KnobsNotThere { .. }) => "knob_not_there",
            Self::Session(SessionDoubt::StoreDamaged { .. }) => "store-damaged",
            Self::Session(SessionDoubt::StoreNewer { .. }) => "store-newer",
            Self::Prediction(_) | Self::Cluster(_) => return code(self),
        };
        name.to_string()
    }
}
