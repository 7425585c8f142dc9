//! What the page is given: a session as values that it lays out and draws.
//!
//! In: a [`Story`]. Out: a [`Page`]. Its schema is `schema/page.schema.json`, and the page's own
//! types are made from that when `ui/` is built. Computes only. Sentences are composed here, so
//! that the page says what every other report says.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::Language;
use crate::report::document::{self, knobs, names, sentences};
use crate::report::facts::in_each_language;
use crate::report::story::detail::Monitored;
use crate::report::story::map::{self, Cell, Map};
use crate::report::story::{Outcome, Story};
use crate::report::wording::planned::{self, PlanRow};
use crate::report::wording::{Counted, FrontHeading, Labels, PageWords};
use crate::terms::{
    CompareReport, Configuration, CurrentSetting, Decision, EventKind, FigureKind, FrontSetting,
    GoalList, LabResult, Limit, LimitKind, Machine, MemoryParts, Note, PredictTable, Prediction,
    Reason, SessionState, Stated, TrialFailure, TrialPurpose, TrialSummary, Verdict, WarmUpKind,
    Warning, Window, WorkerShare, code,
};

/// The number of this description; a page of another one says so instead of showing nonsense.
const FORMAT: u32 = 2;

/// All that a page shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Page<'a> {
    pub format: u32,
    /// Of this program.
    pub version: &'static str,
    #[serde(flatten)]
    pub content: Content<'a>,
}

/// One thing in each language; the page takes the one that is read, and its schema says only that.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(transparent, inline, description = "")]
pub struct InEach<T> {
    en: T,
    #[schemars(skip)]
    ja: T,
}

impl<T> InEach<T> {
    fn of(made: impl Fn(Language) -> T) -> Self {
        Self { en: made(Language::English), ja: made(Language::Japanese) }
    }
}

/// What a page is about.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content<'a> {
    Session(Box<SessionPage<'a>>),
    Compare(ComparePage<'a>),
    Lab(#[serde(serialize_with = "in_each_language")] &'a LabResult),
}

impl<'a> Page<'a> {
    /// Of this content.
    pub fn of(content: Content<'a>) -> Self {
        Self { format: FORMAT, version: env!("CARGO_PKG_VERSION"), content }
    }
}

/// A comparison, and what its figures are called.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparePage<'a> {
    #[serde(flatten, serialize_with = "in_each_language")]
    report: &'a CompareReport,
    figure_names: InEach<BTreeMap<FigureKind, String>>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionPage<'a> {
    #[serde(flatten)]
    pub head: SessionHead<'a>,
    pub trials: Vec<TrialRow<'a>>,
}

/// A session without its trials.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionHead<'a> {
    session: Option<i64>,
    started_at: Option<&'a str>,
    state: SessionState,
    error: Option<InEach<String>>,
    app: &'a str,
    server: &'a str,
    has_threads: bool,
    slo: &'a GoalList,
    /// (quantile, seconds).
    limits: Vec<(f64, f64)>,
    machine: Option<MachineText>,
    text: InEach<SessionText>,
    current: Option<&'a CurrentSetting>,
    #[serde(serialize_with = "in_each_language")]
    decision: Option<&'a Decision>,
    map: Vec<MapCell>,
    memory: Option<&'a MemoryParts>,
    front: Vec<&'a FrontSetting>,
    knobs: InEach<Vec<[String; 4]>>,
    plan: InEach<Vec<PlanRow>>,
    #[serde(serialize_with = "in_each_language")]
    warnings: &'a [Warning],
    #[serde(serialize_with = "in_each_language")]
    notes: &'a [Stated<Note>],
    failures: InEach<Vec<(String, Vec<String>)>>,
    predict: Option<Predictions<'a>>,
}

/// Predictions, with the names of their limits and the doubts about them as sentences.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Predictions<'a> {
    #[serde(flatten)]
    table: &'a PredictTable,
    limit_names: InEach<BTreeMap<String, &'static str>>,
    doubts: Vec<InEach<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct MachineText {
    text: InEach<String>,
    cores: f64,
    memory_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct SessionText {
    headline: String,
    /// The decision's.
    limit: Option<&'static str>,
    map_heading: String,
    facts: Vec<(&'static str, String)>,
    ways_out: Vec<String>,
    method: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct MapCell {
    workers: u16,
    threads: u16,
    #[schemars(extend("enum" = ["measured", "at_least", "below", "predicted", "ruled_out",
        "did_not_start", "unknown"]))]
    state: &'static str,
    #[schemars(extend("enum" = ["chosen", "today", "equivalent", null]))]
    mark: Option<&'static str>,
    rps: Option<f64>,
    rps_interval: Option<[f64; 2]>,
    predicted_rps: Option<f64>,
    predicted_rps_interval: Option<[f64; 2]>,
    memory_bytes: Option<u64>,
    is_memory_measured: bool,
    why: Option<InEach<String>>,
    /// As predicted.
    limit: Option<InEach<&'static str>>,
}

/// A trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrialRow<'a> {
    id: u32,
    workers: u16,
    threads: u16,
    changes: Vec<String>,
    purpose: TrialPurpose,
    purpose_name: InEach<&'static str>,
    start: u32,
    offered_rps: Option<f64>,
    clients: Option<u32>,
    outcome: InEach<&'static str>,
    outcome_code: Outcome,
    verdict: Verdict,
    #[serde(serialize_with = "in_each_language")]
    reason: &'a Stated<Reason>,
    valid: bool,
    warm_up_kind: WarmUpKind,
    warm_up_s: f64,
    duration_s: f64,
    throughput_rps: f64,
    due: u64,
    completed: u64,
    errors: u64,
    status: &'a BTreeMap<String, u64>,
    latency_s: crate::terms::LatencySummary,
    memory_bytes: Option<u64>,
    #[serde(serialize_with = "in_each_language")]
    limit: &'a Limit,
    limit_name: InEach<&'static str>,
    cpu_s: &'a BTreeMap<String, f64>,
    workers_use: &'a [WorkerShare],
    failure: Option<InEach<String>>,
    detail: Option<TrialDetail<'a>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct TrialDetail<'a> {
    due: Vec<u64>,
    sent: Vec<u64>,
    answered: Vec<u64>,
    errors: Vec<u64>,
    p50_s: Vec<f64>,
    p95_s: Vec<f64>,
    p99_s: Vec<f64>,
    max_s: Vec<f64>,
    in_flight: Vec<u64>,
    monitor: &'a Monitored,
    spectrum: &'a [(f64, f64)],
}

/// The trial that runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Running {
    id: u32,
    text: InEach<String>,
    duration_s: f64,
}

/// The words of the page in one language; those that have values, with their names in braces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Words {
    #[serde(flatten)]
    labels: &'static Labels,
    #[serde(flatten)]
    page: &'static PageWords,
    between: String,
    one_client: String,
    held: &'static str,
    did_not_hold: &'static str,
    front: String,
}

impl Words {
    fn of(language: Language) -> Self {
        let say = language.phrases();
        Self {
            labels: language.labels(),
            page: language.page_words(),
            between: say.between("{low}", "{high}"),
            one_client: say.count(1, Counted::Clients),
            held: say.outcome(Outcome::Held),
            did_not_hold: say.outcome(Outcome::DidNotHold),
            front: say.front(FrontHeading::CapacityAndMemory, None),
        }
    }

    /// Those of each language, by its name.
    pub fn all() -> BTreeMap<&'static str, Self> {
        Language::ALL.iter().map(|&(name, language)| (name, Self::of(language))).collect()
    }
}

impl<'a> ComparePage<'a> {
    /// Of this comparison.
    pub fn of(report: &'a CompareReport) -> Self {
        let kinds = || report.figures.iter().map(|it| it.figure);
        let names = |language: Language| kinds().map(|it| (it, language.figure(it))).collect();
        Self { report, figure_names: InEach::of(names) }
    }
}

/// The trial that this event begins; `None` for other events.
pub fn running(story: &Story, event: &EventKind) -> Option<Running> {
    let EventKind::TrialStarted { id, duration, .. } = event else { return None };
    let text = |language| knobs::trial_begins(story, event, language).unwrap_or_default();
    Some(Running { id: *id, text: InEach::of(text), duration_s: duration.as_secs_f64() })
}

/// The session as its page shows it. `predict`: what its sliders move over, where it was asked.
pub fn session<'a>(story: &'a Story, predict: Option<&'a PredictTable>) -> SessionPage<'a> {
    SessionPage {
        head: head(story, predict),
        trials: story.trials.iter().map(|one| trial(story, one)).collect(),
    }
}

/// All but the trials.
pub fn head<'a>(story: &'a Story, predict: Option<&'a PredictTable>) -> SessionHead<'a> {
    SessionHead {
        session: story.stored.as_ref().map(|stored| stored.session),
        started_at: story.stored.as_ref().map(|stored| stored.started_at.as_str()),
        state: story.state,
        error: story.error.as_ref().map(|error| InEach::of(|language| language.say(error))),
        app: &story.app,
        server: &story.server,
        has_threads: story.has_threads(),
        slo: &story.goals,
        limits: limits(&story.goals),
        machine: story.machine.as_ref().map(machine),
        text: InEach::of(|language| text(story, language)),
        current: story.current.as_ref(),
        decision: story.decision.as_ref(),
        map: cells(story, &map::draw(story)),
        memory: story.memory.as_ref(),
        front: story.objective.iter().flat_map(|it| &it.front).collect(),
        knobs: InEach::of(|language| {
            let rows = |it| knobs::rows(story, it, language);
            story.knobs.as_ref().map(rows).unwrap_or_default()
        }),
        plan: InEach::of(|language| planned::rows(&story.plan, language)),
        warnings: &story.warnings,
        notes: &story.notes,
        failures: InEach::of(|language| sentences::failures(story, language)),
        predict: predict.map(|table| predictions(story, table)),
    }
}

fn text(story: &Story, language: Language) -> SessionText {
    SessionText {
        headline: sentences::headline(story, language),
        limit: story
            .decision
            .as_ref()
            .map(|decision| names::limit_title(story, decision.limit.kind, language)),
        map_heading: language.phrases().map_heading(story.has_threads()),
        facts: sentences::facts(story, language),
        ways_out: sentences::ways_out(story, language),
        method: sentences::method(story, language),
    }
}

/// None while the SLO is not settled.
fn limits(goals: &GoalList) -> Vec<(f64, f64)> {
    let terms = goals.settled().flat_map(|slo| &slo.quantiles);
    terms.map(|it| (it.quantile.get(), it.limit.as_secs_f64())).collect()
}

fn machine(machine: &Machine) -> MachineText {
    MachineText {
        text: InEach::of(|language| language.phrases().machine(machine)),
        cores: machine.cores.get(),
        memory_bytes: machine.memory_bytes.0,
    }
}

fn cells(story: &Story, map: &Map) -> Vec<MapCell> {
    let all = map.workers.iter().flat_map(|&w| map.threads.iter().map(move |&t| (w, t)));
    let intervals = story.intervals();
    all.map(|at| cell(story, map, &intervals, at)).collect()
}

fn cell(
    story: &Story,
    map: &Map,
    intervals: &BTreeMap<Configuration, [f64; 2]>,
    (workers, threads): (u16, u16),
) -> MapCell {
    let is_here = |it: &&Prediction| (it.workers, it.threads) == (workers, threads);
    let predicted = story.predicted.iter().find(is_here);
    let at = Configuration::new(workers, threads).ok();
    let possible = predicted.filter(|it| it.ruled_out.is_none());
    let cell = map.cell(workers, threads);
    let rps_interval = match cell {
        Cell::Measured(_) => at.and_then(|at| intervals.get(&at).copied()),
        Cell::Predicted(_) => possible.map(|it| it.capacity_rps_interval),
        _ => None,
    };
    let measured_bytes = at.and_then(|at| story.memory_of(at));
    MapCell {
        workers,
        threads,
        state: cell.state(),
        mark: map.mark(workers, threads).name(),
        rps: cell.rps(),
        rps_interval,
        predicted_rps: possible.map(|it| it.capacity_rps),
        predicted_rps_interval: possible.map(|it| it.capacity_rps_interval),
        memory_bytes: measured_bytes.or(predicted.and_then(|it| it.memory_bytes)),
        is_memory_measured: measured_bytes.is_some(),
        why: document::map::why(cell, Language::DATA)
            .map(|_| InEach::of(|language| document::map::why(cell, language).unwrap_or_default())),
        limit: predicted.map(|it| limit_name(story, it.limit.kind)),
    }
}

fn limit_name(story: &Story, kind: LimitKind) -> InEach<&'static str> {
    InEach::of(|language| names::limit_title(story, kind, language))
}

/// What a page's reader moves over.
pub fn predictions<'a>(story: &Story, table: &'a PredictTable) -> Predictions<'a> {
    let kinds = || table.limit.iter().flatten();
    let name = |kind, language| (code(&kind), names::limit_title(story, kind, language));
    let doubt = |it| InEach::of(|language| language.say_warning(it));
    Predictions {
        table,
        limit_names: InEach::of(|language| kinds().map(|&kind| name(kind, language)).collect()),
        doubts: table.doubts.iter().map(doubt).collect(),
    }
}

/// A trial as its row shows it.
pub fn trial<'a>(story: &'a Story, trial: &'a TrialSummary) -> TrialRow<'a> {
    let (summary, outcome) = (&trial.summary, Outcome::of(trial));
    TrialRow {
        id: trial.id,
        workers: trial.configuration.workers.get(),
        threads: trial.configuration.threads.get(),
        changes: trial.variant.names(&story.changes),
        purpose: trial.purpose,
        purpose_name: InEach::of(|language| language.phrases().purpose(trial.purpose)),
        start: trial.start,
        offered_rps: trial.offered.rate().map(|rate| rate.as_per_second()),
        clients: trial.offered.clients(),
        outcome: InEach::of(|language| language.phrases().outcome(outcome)),
        outcome_code: outcome,
        verdict: trial.verdict,
        reason: &trial.reason,
        valid: trial.valid,
        warm_up_kind: trial.warm_up.kind,
        warm_up_s: trial.warm_up.left_out_s,
        duration_s: summary.duration_s,
        throughput_rps: summary.throughput_rps,
        due: summary.due,
        completed: summary.completed,
        errors: summary.failed(),
        status: &summary.status,
        latency_s: summary.latency_s,
        memory_bytes: trial.memory_bytes,
        limit: &trial.limit,
        limit_name: limit_name(story, trial.limit.kind),
        cpu_s: &trial.cpu_s,
        workers_use: &trial.workers,
        failure: trial.failure.as_ref().map(failure),
        detail: story.details.get(&trial.id).map(|detail| TrialDetail {
            monitor: &detail.monitor,
            spectrum: &detail.spectrum,
            ..windows(&summary.windows, &detail.monitor)
        }),
    }
}

fn failure(failure: &TrialFailure) -> InEach<String> {
    InEach::of(|language| match failure {
        TrialFailure::Boot(boot) => language.say(&boot.message),
        TrialFailure::Died { status, .. } => language.say(status),
    })
}

fn windows<'a>(windows: &[Window], monitor: &'a Monitored) -> TrialDetail<'a> {
    let counts = |of: fn(&Window) -> u64| windows.iter().map(of).collect();
    let times = |of: fn(&Window) -> f64| windows.iter().map(|it| micro(of(it))).collect();
    TrialDetail {
        due: counts(|it| it.due),
        sent: counts(|it| it.sent),
        answered: counts(|it| it.completed),
        errors: counts(|it| it.failed.max(it.errors)),
        p50_s: times(|it| it.latency_s.p50),
        p95_s: times(|it| it.latency_s.p95),
        p99_s: times(|it| it.latency_s.p99),
        max_s: times(|it| it.latency_s.max),
        in_flight: counts(|it| it.in_flight),
        monitor,
        spectrum: &[],
    }
}

/// To the microsecond that was recorded, without the digits that a binary fraction adds.
fn micro(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::SessionError;

    #[test]
    fn why_a_session_could_not_go_on_is_said_in_each_language() {
        let story = Story { error: Some(SessionError::Interrupted.into()), ..Story::default() };
        let said = head(&story, None).error.unwrap();
        assert_eq!(said, InEach::of(|it| it.say_fact(&SessionError::Interrupted)));
        assert_ne!(said.en, said.ja);
    }
}
