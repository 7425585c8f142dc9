//! The product's words as types: units, a configuration, an SLO, what a trial recorded and what it
//! means, the decision, doubts, and the events that every report is made from.
//!
//! Everything else may import this folder; it imports nothing of ours and only computes. Types here
//! are what is stored and what scripts read, so a field is added, never renamed.

/// Makes a family of facts of the facts of each of its kinds.
macro_rules! family {
    ($family:ident: $($kind:ident($of:ident)),* $(,)?) => {
        $(impl From<$of> for $family {
            fn from(fact: $of) -> Self {
                Self::$kind(fact)
            }
        })*
    };
}

mod advice;
mod advise_report;
mod blind_spot;
mod capacity_summary;
mod change_reason;
mod code;
mod comparison;
mod comparison_note;
mod configuration;
mod decision;
mod doubt;
mod duration;
mod event;
mod evidence;
mod failure;
mod figure_kind;
mod finding;
mod framework;
mod goals;
mod knob;
mod lab;
mod lab_event;
mod latencies;
mod limit;
mod limit_refusal;
mod load_record;
mod load_summary;
mod machine;
mod monitor_record;
mod note;
mod objective;
mod obstacle;
mod plan_record;
mod planned_step;
mod reason;
mod remark;
mod request_row;
mod secrets;
mod session_error;
pub(crate) mod slo;
mod soak;
mod stated;
mod stop;
mod target;
mod trial;
mod units;
mod warning;
mod what_if;

pub use advice::{
    Advice, CoreCount, Counts, DatabaseAdvice, DynoType, HealthCheck, HostAdvice, PoolSetting,
    RunningAdvice, SettingAdvice, SettingsPlace,
};
pub use advise_report::{
    AdviseNote, AdviseRefusal, AdviseReport, Growth, ScalingTarget, SeenRoute, SeenTraffic,
};
pub use blind_spot::BlindSpot;
pub use capacity_summary::{CapacityConclusion, CapacityLatency, CapacitySummary, CapacityWindow};
pub use change_reason::{ChangeReason, RecheckReason};
pub use code::code;
pub use comparison::{
    CompareReport, ComparedFigure, ComparedSide, RevisionsMeasured, Standing, Verification,
    VerifiedSetting,
};
pub use comparison_note::{
    CompareNote, CompareRefusal, Difference, FigureLeftOut, MachineDifference, MetricRead,
    NamedPart, NamedSetting, Side,
};
pub use configuration::Configuration;
pub use decision::{
    CurrentSetting, Decision, Equivalent, HeldRate, KnobLine, MemoryParts, OPERATING_SHARE,
    Precision, PredictedLimit, Prediction, PredictionScore, Settings, TuneResult,
};
pub use doubt::{
    CapacityDoubt, ChangeNotThere, ClusterDoubt, Doubt, GeneratorDoubt, LimitedResource, LoadDoubt,
    LoadOffered, MachineDoubt, MissingTrial, PredictionDoubt, QuantumOwner, ScalabilityCurve,
    SessionDoubt,
};
pub use duration::{format_duration, parse_duration};
pub use event::{Event, EventKind, LiveSecond, Phase, SessionState};
pub use evidence::{
    CpuBusy, Evidence, LimitAdvice, MemoryFill, NeighbourCores, ProcessNames, ResourceEvidence,
    Slots, WaitingEvidence,
};
pub use failure::{
    BootAdvice, BootCause, BootEnd, BootFailure, BootFailureKind, FrameworkSetting, ProcessEnd,
    ReplyAdvice, ServerEnd, StartAdvice, TrialFailure,
};
pub use figure_kind::FigureKind;
pub use finding::{
    BusiestProcess, ClusterCheck, CoresQuota, Finding, FindingState, GroupPermission, LocalPorts,
    MachineCheck, MemoryLeft, NodeLook, NodeSaid, NodesAlike, NoiseSpread, Priority, QuotaLeft,
    RefusedGroup,
};
pub use framework::Framework;
pub use goals::{GoalList, GoalScope, Goals, GoalsError, OwnGoal, Part, PlannedGoal};
pub use knob::{
    AtOneRate, Change, KnobCheck, KnobResult, KnobVerdict, KnobsReport, Variant, WithAPodLess,
};
pub use lab::{
    Holds, LabComparison, LabConclusion, LabEntry, LabEvidence, LabFailure, LabFigures, LabLatency,
    LabPair, LabResult, LabRun, LabRuns, LabSetting, LabTargetFigures, LabTune,
};
pub use lab_event::{LabEvent, LabTuneEvent};
pub use latencies::{Latencies, LatencySummary};
pub use limit::{Limit, LimitKind};
pub use limit_refusal::LimitRefusal;
pub use load_record::{
    Arrivals, CertificateFault, ErrorCounts, FleetMember, GOOD_STATUSES, GeneratorUse, LoadRecord,
    LoadRun, LoadSecond, Offered, TargetSecond, TlsTrouble, commonest_failure,
};
pub use load_summary::{
    GeneratorSummary, GoalSummary, LoadSummary, MemberSummary, RouteSummary, SendLagSummary,
    ShapeSummary, SloSummary, StageSummary, TargetSummary, Window, WindowLatency,
};
pub use machine::Machine;
pub use monitor_record::{
    CoreUse, DeviceUse, GroupUse, HostUse, InsideRequest, InsideUse, MonitorRecord, MonitorSecond,
    NeighbourUse, ProcessFacts, ProcessMemory, ProcessUse, Role, WatchSecond, WorkerStats,
};
pub use note::{
    KnobsNote, MissingFigure, Note, ObjectiveNote, OtherConnections, PlanNote, PrecisionNote,
    RecheckNote, SearchNote, SteadinessNote,
};
pub use objective::{FrontSetting, Objective, ObjectiveKind, ObjectiveReport, Prices};
pub use obstacle::Obstacle;
pub use plan_record::{
    Allowance, BOOT_TIMEOUT_MOST, FlagPlace, PlanLine, PlanRecord, PlanSource, PlannedPath,
    PlannedTarget, PlannedValue, ReverseProxy, differing_values, plan_records,
};
pub use planned_step::{PlannedStep, StepKind, StepTime};
pub use reason::{Certainty, GoalCount, Reason, TermCount};
pub use remark::{
    CommandRemark, NodeRemark, PhpRemark, PythonRemark, Remark, RubyRemark, SettingsRemark,
};
pub use request_row::{RequestError, RequestRow};
pub use secrets::{HIDDEN, Secrets};
pub use session_error::{GeneratorPart, SessionError, SettingsError, Task};
pub use slo::{QuantileLimit, Slo, SloError, SloTerm};
pub use soak::{Soak, SoakPart, Trend, WorkerMemory, WorkerTrend};
pub use stated::{Stated, or_empty};
pub use stop::{StopRequest, StopSignal};
pub use target::{ConnectionMode, Target, TargetError};
pub use trial::{
    Edge, InsideSummary, LatencyVerdict, TrialPurpose, TrialRecord, TrialSummary, Verdict, WarmUp,
    WarmUpKind, WorkerShare,
};
pub use units::{Bytes, Cores, Rate, Ratio, Threads, UnitError, Workers};
pub use warning::Warning;
pub use what_if::{
    FitReport, FitResidual, FittedDemand, FittedFigure, FleetDay, FleetDays, FleetNeed,
    FleetReport, ModelForm, OtherRequests, PredictReport, PredictTable, PredictedLatency,
    PredictedSetting, SimulatedMachine, Wait, WaitError,
};
