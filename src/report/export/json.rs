//! A session in the shape that `tune --json` prints: names are a promise to scripts.
//!
//! In: a [`Story`]. Out: a [`TuneReport`]. Computes only.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::with_sentences;
use crate::report::story::Story;
use crate::report::wording::Language;
use crate::report::wording::planned::{self, PlanRow};
use crate::terms::{
    Arrivals, BootFailure, Change, Configuration, CurrentSetting, Decision, Edge, GoalList,
    InsideSummary, KnobsReport, LatencyVerdict, Limit, LoadSummary, Machine, MemoryParts, Note,
    ObjectiveReport, Offered, PlanLine, PlanRecord, Prediction, PredictionScore, Rate, Reason,
    SessionError, SessionState, Stated, TrialFailure, TrialPurpose, TrialSummary, Variant, Verdict,
    Verification, WarmUp, WarmUpKind, Warning, WorkerShare,
};

/// What `tune --json` and `report -o json` print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuneReport {
    /// Its number in the store; null when it was not stored.
    pub session: Option<i64>,
    /// RFC 3339, UTC; null when it was not stored.
    pub started_at: Option<String>,
    /// `running` also when the program died before it could say how the session ended.
    pub state: SessionState,
    /// Why it could not measure; null otherwise.
    pub error: Option<Stated<SessionError>>,
    /// The app's folder.
    pub app: String,
    pub server: String,
    /// As in `p95<200ms,errors<0.1%`.
    pub slo: GoalList,
    /// What runs today and what it holds; null when it could not be measured.
    pub current: Option<CurrentSetting>,
    /// Null when nothing met the SLO, or the session ended before it could decide.
    pub decision: Option<Decision>,
    /// What was asked for, in printing order; empty when the session ended before it was known.
    #[serde(default)]
    pub plan: Vec<PlanValue>,
    /// Whether another session's recommendation is still right; null for a session that looks for
    /// one itself.
    pub verification: Option<Verification>,
    /// In the order they were run.
    pub trials: Vec<TrialReport>,
    /// What the model expects of each configuration.
    pub predicted: Vec<Prediction>,
    /// What the model expected of each configuration before its first trial, and what came.
    #[serde(default)]
    pub scored: Vec<PredictionScore>,
    /// What memory is made of; null when none of the server's processes could be read, or the
    /// session ended before.
    pub memory: Option<MemoryParts>,
    /// What was looked for, and the settings that no other beats; null when the session ended
    /// before it could say.
    pub objective: Option<ObjectiveReport>,
    /// What the plan's knobs do; null without any, or when the session ended before.
    pub knobs: Option<KnobsReport>,
    /// Configurations that never became ready.
    pub boot_failures: Vec<BootFailureReport>,
    /// Seconds from start to end.
    pub elapsed_s: f64,
    /// Seconds under load.
    pub load_s: f64,
    /// Null when the session ended before it looked.
    pub machine: Option<Machine>,
    pub warnings: Vec<Warning>,
    /// Why the search ended, and what more minutes would buy.
    pub notes: Vec<Stated<Note>>,
}

/// One line of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanValue {
    pub what: String,
    pub value: String,
    /// Where the value came from.
    pub source: String,
    /// The value and its source as data; left out for sessions of versions before there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<PlanRecord>,
}

fn undecided() -> Verdict {
    Verdict::Undecided
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialReport {
    /// From 1, in the order of the session.
    pub id: u32,
    pub workers: u16,
    pub threads: u16,
    /// Changes of knobs that it ran with; empty for the app as it is.
    #[serde(default)]
    pub changes: Vec<String>,
    pub purpose: TrialPurpose,
    /// Trials with the same number share a process start.
    pub start: u32,
    /// Null when closed.
    pub offered_load_rps: Option<f64>,
    /// Null when open.
    pub clients: Option<u32>,
    pub verdict: Verdict,
    /// What the plain figures say where the verdict is undecided; else the verdict.
    #[serde(default = "undecided")]
    pub leaning: Verdict,
    /// Why this verdict.
    pub reason: Stated<Reason>,
    /// Smallest relative difference in rate that this trial can tell apart.
    pub resolution: f64,
    /// How near its latencies were to the goal's edge; null where nearly all of them, or nearly
    /// none, were within the goal.
    pub edge: Option<Edge>,
    /// What the latencies alone say; null where failed requests made no difference.
    pub by_latency: Option<LatencyVerdict>,
    pub valid: bool,
    pub warm_up: WarmUpKind,
    /// Seconds left out at the beginning.
    pub warm_up_s: f64,
    pub summary: LoadSummary,
    /// CPU seconds by role: master, worker, other, generator.
    pub cpu_s: BTreeMap<String, f64>,
    /// Each worker's part, by index.
    pub worker_shares: Vec<WorkerShare>,
    /// Memory of all the server's processes, or what the app's platform recorded of all of it; null
    /// when it could not be read.
    pub memory_bytes: Option<u64>,
    /// By how much the memory that its processes have in use grew, bytes a second, with the 95 %
    /// interval; null for trials of under four seconds.
    pub memory_growth_bytes_s: Option<f64>,
    pub memory_growth_bytes_s_interval: Option<[f64; 2]>,
    /// What a request cost inside the server; null without a probe.
    pub inside: Option<InsideSummary>,
    pub limit: Limit,
    /// Why the server did not live to the end; null when it did.
    pub failure: Option<TrialFailure>,
    /// Seconds of load that this trial took.
    pub load_s: f64,
    /// Seconds from the start of the session to its end.
    pub ended_s: f64,
}

/// A configuration that never became ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootFailureReport {
    pub workers: u16,
    pub threads: u16,
    /// Changes of knobs that it did not become ready with; empty for the app as it is.
    #[serde(default)]
    pub changes: Vec<String>,
    pub failure: BootFailure,
}

/// The report of events that were put together.
pub fn tune_report(story: &Story) -> TuneReport {
    TuneReport {
        session: story.stored.as_ref().map(|stored| stored.session),
        started_at: story.stored.as_ref().map(|stored| stored.started_at.clone()),
        state: story.state,
        error: story.error.clone(),
        app: story.app.clone(),
        server: story.server.clone(),
        slo: story.goals.clone(),
        current: story.current.clone(),
        decision: story.decision.clone(),
        plan: story.plan.iter().map(plan_value).collect(),
        verification: story.verification.clone(),
        trials: story.trials.iter().map(|trial| trial_report(trial, &story.changes)).collect(),
        predicted: story.predicted.clone(),
        scored: story.scored(),
        memory: story.memory.clone(),
        objective: story.objective.clone(),
        knobs: story.knobs.clone(),
        boot_failures: boot_failures(story),
        elapsed_s: story.elapsed_s,
        load_s: story.load_s,
        machine: story.machine.clone(),
        warnings: story.warnings.clone(),
        notes: story.notes.clone(),
    }
}

fn boot_failures(story: &Story) -> Vec<BootFailureReport> {
    let report =
        |(at, variant, failure): (Configuration, Variant, &BootFailure)| BootFailureReport {
            workers: at.workers.get(),
            threads: at.threads.get(),
            changes: variant.names(&story.changes),
            failure: failure.clone(),
        };
    story.all_boot_failures().map(report).collect()
}

/// A line of the plan as scripts get it.
pub fn plan_value(line: &PlanLine) -> PlanValue {
    let PlanRow { what, value, source } = planned::row(line, Language::DATA);
    PlanValue { what, value, source, fact: line.record().cloned() }
}

/// The session as a report tells it: all but what a report leaves out, such as where it is stored,
/// and but for variants of the app, whose changes it only names.
pub fn story_of(report: &TuneReport) -> Story {
    let line = |it: &PlanValue| match &it.fact {
        Some(fact) => PlanLine::Record(fact.clone()),
        None => PlanLine::Verbatim(it.what.clone(), it.value.clone(), it.source.clone()),
    };
    let as_it_is = report.trials.iter().filter(|trial| trial.changes.is_empty());
    Story {
        app: report.app.clone(),
        server: report.server.clone(),
        goals: report.slo.clone(),
        machine: report.machine.clone(),
        plan: report.plan.iter().map(line).collect(),
        trials: as_it_is.filter_map(trial_of).collect(),
        current: report.current.clone(),
        decision: report.decision.clone(),
        predicted: report.predicted.clone(),
        memory: report.memory.clone(),
        objective: report.objective.clone(),
        warnings: report.warnings.clone(),
        notes: report.notes.clone(),
        state: report.state,
        error: report.error.clone(),
        elapsed_s: report.elapsed_s,
        load_s: report.load_s,
        verification: report.verification.clone(),
        knobs: report.knobs.clone(),
        ..Story::default()
    }
}

/// `None` when its numbers are none that a trial has. How requests arrived is the plan's to say.
fn trial_of(report: &TrialReport) -> Option<TrialSummary> {
    let offered = match (report.offered_load_rps, report.clients) {
        (Some(rate), _) => {
            Offered::Open { rate: Rate::per_second(rate).ok()?, arrivals: Arrivals::Poisson }
        }
        (None, clients) => Offered::Closed { clients: clients?, think: Duration::ZERO },
    };
    Some(TrialSummary {
        id: report.id,
        purpose: report.purpose,
        configuration: Configuration::new(report.workers, report.threads).ok()?,
        variant: Variant::AS_IT_IS,
        start: report.start,
        offered,
        verdict: report.verdict,
        leaning: report.leaning,
        reason: report.reason.clone(),
        resolution: report.resolution,
        edge: report.edge,
        by_latency: report.by_latency,
        valid: report.valid,
        warm_up: WarmUp { kind: report.warm_up, left_out_s: report.warm_up_s },
        summary: report.summary.clone(),
        cpu_s: report.cpu_s.clone(),
        workers: report.worker_shares.clone(),
        memory_bytes: report.memory_bytes,
        memory_growth_bytes_s: report.memory_growth_bytes_s,
        memory_growth_bytes_s_interval: report.memory_growth_bytes_s_interval,
        inside: report.inside,
        limit: report.limit.clone(),
        failure: report.failure.clone(),
        load_s: report.load_s,
        ended_s: report.ended_s,
    })
}

fn trial_report(trial: &TrialSummary, changes: &[Change]) -> TrialReport {
    TrialReport {
        id: trial.id,
        workers: trial.configuration.workers.get(),
        threads: trial.configuration.threads.get(),
        changes: trial.variant.names(changes),
        purpose: trial.purpose,
        start: trial.start,
        offered_load_rps: trial.offered.rate().map(|rate| rate.as_per_second()),
        clients: trial.offered.clients(),
        verdict: trial.verdict,
        leaning: trial.leaning,
        reason: trial.reason.clone(),
        resolution: trial.resolution,
        edge: trial.edge,
        by_latency: trial.by_latency,
        valid: trial.valid,
        warm_up: trial.warm_up.kind,
        warm_up_s: trial.warm_up.left_out_s,
        summary: trial.summary.clone(),
        cpu_s: trial.cpu_s.clone(),
        worker_shares: trial.workers.clone(),
        memory_bytes: trial.memory_bytes,
        memory_growth_bytes_s: trial.memory_growth_bytes_s,
        memory_growth_bytes_s_interval: trial.memory_growth_bytes_s_interval,
        inside: trial.inside,
        limit: trial.limit.clone(),
        failure: trial.failure.clone(),
        load_s: trial.load_s,
        ended_s: trial.ended_s,
    }
}

/// Any report as it is printed and written: indented, with a line end.
pub fn render<T: Serialize + ?Sized>(report: &T) -> String {
    let mut text = serde_json::to_string_pretty(&with_sentences(report))
        .expect("our types have string keys and no failing serializer");
    text.push('\n');
    text
}
