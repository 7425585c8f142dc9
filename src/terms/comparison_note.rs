//! What a comparison or a verification says beside its figures.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use super::doubt::LoadOffered;
use super::figure_kind::FigureKind;
use super::goals::GoalList;
use super::load_summary::ShapeSummary;
use super::machine::Machine;
use super::plan_record::PlannedValue;
use super::units::Bytes;

/// One of two results: B is judged against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    A,
    B,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// A setting as it is named; `threads` is null for a server whose workers have one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedSetting {
    pub workers: u16,
    pub threads: Option<u16>,
}

/// Why two machines may not be one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum MachineDifference {
    /// Of one of the results the machine is not known.
    MachineNotKnown,
    /// The CPU's model or the number of cores differs.
    MeasuredElsewhere { a: Machine, b: Machine },
}

/// Why two results must not be compared; each with the way out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum CompareRefusal {
    MachinesDiffer {
        why: MachineDifference,
    },
    /// To compare machines takes more starts of the setting.
    TooFewStarts {
        side: Side,
        starts: u64,
        needed: u64,
    },
    /// To compare machines takes more than results of one start.
    OneStartEach {
        needed: u64,
    },
    /// As they are written.
    GoalsDiffer {
        a: GoalList,
        b: GoalList,
        /// Else of capacities found at a URL.
        is_of_sessions: bool,
    },
    /// A value of the plans, null where one has none; the flag sets it.
    PlansDiffer {
        a: Option<PlannedValue>,
        b: Option<PlannedValue>,
        flag: String,
    },
    /// What was offered; null where it is not known.
    LoadsDiffer {
        a: Option<LoadOffered>,
        b: Option<LoadOffered>,
    },
    /// Rate or clients are the same, and how they went on is not.
    ShapesDiffer {
        a: ShapeSummary,
        b: ShapeSummary,
    },
    /// Its warnings say why.
    LoadNotValid {
        side: Side,
    },
    ArrivalsDiffer,
    CapacityNotFound {
        side: Side,
    },
    /// Two settings that ran at once have too little time in common.
    BlocksTooFew {
        blocks: u64,
        block_s: u32,
        needed: u64,
    },
    /// No hour of the later range has its weekday and hour in the earlier one.
    HoursUnmatched,
    /// Days of the later range whose hours are in both.
    TooFewDays {
        days: u64,
        needed: u64,
    },
    /// More than half of what the ranges have room for is not there, for gaps or too few requests.
    MostlyGaps {
        present: u64,
        possible: u64,
    },
}

/// Why a figure is not among those compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum FigureLeftOut {
    /// A load's result does not say what the server used.
    ServerCpuNotInLoad,
    /// On one side nothing was answered.
    NothingAnswered {
        figure: FigureKind,
    },
    NotMeasuredOnBoth {
        figure: FigureKind,
    },
    /// The session, or the result, of one side has none.
    MissingOnOneSide {
        figure: FigureKind,
    },
    /// The setting holds nothing there, or was not measured.
    SettingHoldsNothing {
        figure: FigureKind,
        setting: Configuration,
        side: Side,
    },
    /// There is no rate that both were offered and held.
    NoCommonRate,
    /// None of the metrics is there that say it; these names are near them.
    MetricAbsent {
        figure: FigureKind,
        near: Vec<String>,
    },
    /// Quantiles of several processes cannot be put together.
    OnlySummary {
        figure: FigureKind,
        metric: String,
    },
    /// It lies beyond the histogram's last bound.
    BeyondBuckets {
        figure: FigureKind,
        bound_s: f64,
    },
    /// An access log does not say it.
    NotInLog {
        figure: FigureKind,
    },
    /// The metrics of a load balancer do not say it.
    NotAtLoadBalancer {
        figure: FigureKind,
    },
    /// The metrics that are made of traces do not say it.
    NotInTraces {
        figure: FigureKind,
    },
}

/// What has a name that may be another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamedPart {
    App,
    Server,
    Kernel,
}

/// What else differs; the figures are compared all the same. Of a verification A is then, B now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Difference {
    NameDiffers {
        what: NamedPart,
        a: String,
        b: String,
    },
    /// A value of the plans, null where one has none.
    PlannedOtherwise {
        a: Option<PlannedValue>,
        b: Option<PlannedValue>,
    },
    /// What the app server may use of the machine's.
    ServerMemoryDiffers {
        a: Bytes,
        b: Bytes,
    },
    RecommendedDiffers {
        a: NamedSetting,
        b: NamedSetting,
    },
    /// Changes are recommended too, and take no part; with them this setting is, null where that is
    /// the recommended one.
    KnobsNotVerified {
        changes: Vec<String>,
        at: Option<NamedSetting>,
    },
}

/// A figure, and the metric that says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRead {
    pub figure: FigureKind,
    pub metric: String,
}

/// How far to trust a comparison, and what would tell more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum CompareNote {
    /// They are two sessions.
    NotMeasuredInTurn,
    /// They are settings of one session that no block has both of.
    NoCommonBlock,
    /// The setting was not measured again after the choice.
    FiguresOfRace { side: Side },
    /// What was asked for is not known.
    PlanNotKnown { side: Side },
    /// Neither result says on which machine it was measured; the ratio is what two starts of one
    /// server differ by.
    MachinesNotSaid { starts_differ_ratio: f64 },
    /// Files of the working folder differ from its commit, and take no part.
    ChangesNotMeasured { files: u64 },
    /// The revision has other repositories in it, which are not checked out.
    SubmodulesLeftOut { side: Side },
    /// By these paths, which are links to the working folder, both revisions may run its code in
    /// place of their own.
    CodeShared { paths: Vec<String> },
    /// Not even one client alone was served within the goal.
    GoalOutOfReach,
    /// The budget has room for so many blocks of two revisions, each of which takes so long; it
    /// should have room for `wanted`, which takes `budget_s`.
    FewBlocks { blocks: u64, block_s: f64, wanted: u64, budget_s: f64 },
    /// Two settings ran at once; the intervals hold however often one looks at a range that begins
    /// then.
    RanAtOnce,
    /// Two settings ran at once, in a range that ends now: the next one as long begins later, and
    /// is another question. `from` is when this one begins (RFC 3339, UTC).
    RanAtOnceLately { from: String },
    /// By which of the source's metrics each figure is.
    MetricsRead { metrics: Vec<MetricRead> },
    /// Replies that a load balancer makes itself are counted of all its target groups together.
    BalancersOwnErrors,
    /// Hours of one weekday were compared; what else changed between the two times is not told
    /// apart.
    HoursMatched,
    /// Blocks of the range that one side lacks.
    BlocksMissing { missing: u64, possible: u64 },
    /// B's requests divided by A's, of two settings that ran at once.
    TrafficUneven { traffic_ratio: f64 },
    /// By so much the clock of who was asked is ahead of ours.
    ClocksApart { ahead_s: f64 },
    /// The range ends later than now, or than what is known: it was cut (RFC 3339, UTC).
    RangeCut { to: String },
    /// Counters began anew, as they do when a process starts.
    CountersReset { side: Side, times: u64 },
    /// The histogram's bucket that it lies in; what changes within it is interpolated.
    BucketWide { figure: FigureKind, low_s: f64, high_s: f64 },
    /// Requests of the log that say no response time, or lines that are not understood.
    LinesLeftOut { side: Side, lines: u64, of: u64 },
    /// What Prometheus remarked of its answers.
    SourceWarned { text: String },
}
