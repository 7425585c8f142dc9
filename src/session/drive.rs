//! Drives a session: what a search asks for is measured on a place, stored, shown and told back,
//! until it is decided, the user stops it, or we cannot go on.
//!
//! In: [`Questions`] and a place. Out: events, in the store and for the reporters, the last of
//! them `SessionEnded`. Whatever happens the server is stopped and the answer so far is shown.

use std::fmt::Display;
use std::time::Duration;

use thiserror::Error;

use super::crew::Crew;
use super::decision;
use super::order::{Measured, is_told_by};
use super::resume::Resumed;
use crate::load::LoadError;
use crate::place::{Place, PlaceError};
use crate::plan::Plan;
use crate::report::{Language, Reporter, Stored};
use crate::search::{Answer, Choice, Search, Told, TrialRequest};
use crate::server::{Inspection, Proxy};
use crate::store::{SessionHead, SessionId, Store, StoreError};
use crate::summary::trial::Context;
use crate::terms::{
    BootFailure, Configuration, Event, EventKind, Machine, PlanLine, PlanRecord, PlanSource,
    PlannedGoal, PlannedValue, Prediction, Reason, SessionError, SessionState, Slo, Stated,
    StopSignal, Task, TrialSummary, TuneResult, Verdict, Warning,
};
use crate::trial::Progress;

/// Why a tune ended without an answer; what was measured before is in the store.
#[derive(Debug, Error)]
pub enum TuneError {
    #[error("{}", Language::DATA.say(&of_place(.0)))]
    Place(PlaceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("could not write the report: {0}")]
    Report(#[source] std::io::Error),
    /// The app does not start with its own settings, so there is nothing to tune.
    #[error("{}", Language::DATA.say_fact(&does_not_start(.0)))]
    DoesNotStart(Box<BootFailure>),
}

impl TuneError {
    /// What the session ends with.
    pub fn stated(&self) -> Stated<SessionError> {
        match self {
            Self::DoesNotStart(failure) => does_not_start(failure).into(),
            Self::Report(source) => could_not(Task::WriteReport.into(), source),
            Self::Store(StoreError { what, path, message, .. }) => {
                could_not(Stated::Verbatim(format!("{what} {path}")), message)
            }
            Self::Place(error) => of_place(error),
        }
    }
}

impl From<PlaceError> for TuneError {
    fn from(error: PlaceError) -> Self {
        Self::Place(error)
    }
}

/// Why a place could not be measured on.
pub(super) fn of_place(error: &PlaceError) -> Stated<SessionError> {
    match error {
        PlaceError::Environment { what, source } => could_not(what.clone().into(), source),
        PlaceError::Load(LoadError::Environment { part, source }) => {
            SessionError::NoLoadGenerator { part: *part, why: source.to_string() }.into()
        }
        PlaceError::Load(LoadError::Plan(text)) => Stated::Verbatim(text.clone()),
        PlaceError::Inspection(it) | PlaceError::Service(it) => it.why.clone().into(),
        PlaceError::Elsewhere(why) => Stated::Verbatim(why.clone()),
        PlaceError::Stopped => SessionError::Interrupted.into(),
    }
}

fn could_not(what: Stated<Task>, why: &dyn Display) -> Stated<SessionError> {
    SessionError::CouldNot { what, why: why.to_string() }.into()
}

fn does_not_start(failure: &BootFailure) -> SessionError {
    let (cause, advice) = (failure.message.clone(), failure.advice.clone());
    SessionError::AppDoesNotStart { cause, advice }
}

/// What asks for trials and takes their results.
pub(super) trait Questions {
    /// What is wanted at once, each on a place of its own; it is told in this order. Empty: it is
    /// done.
    fn ask(&mut self) -> Vec<TrialRequest>;

    fn tell(&mut self, told: Told);

    /// What is known when a trial begins.
    fn known(&self) -> Known<'_>;

    /// The answer so far.
    fn answer(&self) -> Answer;

    /// What is expected of settings by now; empty: nothing is.
    fn predictions(&self) -> Vec<Prediction>;

    /// What a request waits for a free thread by the model, with this choice at its day-to-day
    /// rate: seconds, on average; `None`: nothing is expected.
    fn queue_s(&self, _choice: &Choice) -> Option<f64> {
        None
    }

    /// What the session says besides its result, once it has come to an end of its own.
    fn conclusion(&mut self, _elapsed_s: f64) -> Option<EventKind> {
        None
    }
}

impl Questions for Search {
    fn ask(&mut self) -> Vec<TrialRequest> {
        self.ask()
    }

    fn tell(&mut self, told: Told) {
        self.tell(told);
    }

    fn known(&self) -> Known<'_> {
        Known {
            slo: self.slo(),
            unloaded_s: self.unloaded_s(),
            left: self.session_time_left(),
            needs_first_boot: true,
        }
    }

    fn answer(&self) -> Answer {
        self.answer()
    }

    fn predictions(&self) -> Vec<Prediction> {
        self.predictions()
    }

    fn queue_s(&self, choice: &Choice) -> Option<f64> {
        self.queue_s(choice)
    }
}

/// Where events go: the store first, then the reporters.
pub(super) struct Log<'a> {
    store: &'a mut Store,
    pub session: SessionId,
    reporters: Vec<Box<dyn Reporter>>,
    /// What an earlier run of this session had used, seconds.
    clock_offset_s: f64,
    /// Every doubt once.
    warned: Vec<Warning>,
}

impl Log<'_> {
    fn at_s(&self, elapsed: Duration) -> f64 {
        self.clock_offset_s + elapsed.as_secs_f64()
    }

    pub(super) fn emit(&mut self, elapsed: Duration, kind: EventKind) -> Result<(), TuneError> {
        let event = Event { at_s: self.at_s(elapsed), kind };
        match &event.kind {
            // Whoever watches from elsewhere may miss one; the trial has them all.
            EventKind::Second(second) => drop(self.store.show(self.session, second)),
            _ => self.store.append(self.session, &event)?,
        }
        self.show(&event)
    }

    /// The last word of a session that failed. The store may be what failed: those who watch are
    /// told all the same.
    fn emit_at_any_rate(&mut self, elapsed: Duration, kind: EventKind) -> Result<(), TuneError> {
        let event = Event { at_s: self.at_s(elapsed), kind };
        drop(self.store.append(self.session, &event));
        self.show(&event)
    }

    /// Takes up a session that had raised these.
    pub(super) fn take_up(
        &mut self,
        warned: Vec<Warning>,
        events: &[Event],
    ) -> Result<(), TuneError> {
        self.warned = warned;
        // Shown, so that whoever watches knows the plan again; stored it is already.
        events.iter().filter(|event| is_result(event)).try_for_each(|event| self.show(event))
    }

    /// All events of the session, stored ones only.
    fn events(&self) -> Result<Vec<Event>, TuneError> {
        Ok(self.store.events(self.session)?)
    }

    fn show(&mut self, event: &Event) -> Result<(), TuneError> {
        self.reporters
            .iter_mut()
            .try_for_each(|reporter| reporter.take(event))
            .map_err(TuneError::Report)
    }

    fn warn(&mut self, elapsed: Duration, warning: Warning) -> Result<(), TuneError> {
        match warning.raise_in(&mut self.warned) {
            true => self.emit(elapsed, EventKind::Warned(warning)),
            false => Ok(()),
        }
    }
}

/// What a session works with.
pub struct Session<'a> {
    pub plan: &'a Plan,
    pub place: &'a mut dyn Place,
    pub store: &'a mut Store,
    /// Makes the receivers of events, once it is known where the session is stored.
    pub reporters: &'a mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
    pub stop: StopSignal,
    /// When this run began: RFC 3339, UTC. A session that goes on keeps the time of its first run.
    pub started_at: String,
    /// What doctor found.
    pub doubts: Vec<Warning>,
}

impl<'a> Session<'a> {
    /// One that begins now. `doubts`: what is known beforehand.
    pub fn new(
        plan: &'a Plan,
        (place, store): (&'a mut dyn Place, &'a mut Store),
        reporters: &'a mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
        stop: StopSignal,
        doubts: Vec<Warning>,
    ) -> Self {
        let started_at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self { plan, place, store, reporters, stop, started_at, doubts }
    }

    /// Begins it in the store, or goes on with one that was cut off. No event is emitted yet.
    pub(super) fn begin(
        self,
        fingerprint: String,
        inspection: Inspection,
        resumed: Option<&Resumed>,
    ) -> Result<(Work<'a>, &'a mut dyn Place), TuneError> {
        let Session { plan, place, store, reporters, stop, started_at, doubts } = self;
        let server = format!("{} {}", plan.server, inspection.server_version);
        let app = plan.app.folder.display().to_string();
        let head = SessionHead { fingerprint, app, server: server.clone() };
        let (session, started_at) = match resumed {
            Some(Resumed { session, .. }) => {
                store.take_up(*session)?;
                (*session, store.started_at(*session)?)
            }
            None => (store.begin(&head, &started_at)?, started_at),
        };
        let stored = Stored { session: session.0, store: store_as_typed(plan, store), started_at };
        let reporters = reporters(stored);
        let clock_offset_s = resumed.map_or(0.0, |resumed| resumed.at_s);
        let work = Work {
            plan,
            server,
            inspection,
            machine: place.machine().clone(),
            stop,
            log: Log { store, session, reporters, clock_offset_s, warned: Vec::new() },
            doubts,
            finished: resumed.map(|resumed| resumed.finished.clone()).unwrap_or_default(),
        };
        Ok((work, place))
    }
}

/// The store's path as people would type it where they are, as far as the plan says.
fn store_as_typed(plan: &Plan, store: &Store) -> String {
    let typed = plan.records.iter().find_map(|record| match &record.value {
        PlannedValue::Store(path) => Some(path.clone()),
        _ => None,
    });
    typed.unwrap_or_else(|| store.path().display().to_string())
}

/// A tune, or a verification, at work.
pub(super) struct Work<'a> {
    plan: &'a Plan,
    server: String,
    inspection: Inspection,
    pub machine: Machine,
    stop: StopSignal,
    pub log: Log<'a>,
    /// Known beforehand.
    doubts: Vec<Warning>,
    /// All trials that were measured, oldest first.
    finished: Vec<TrialSummary>,
}

/// What is known when a trial begins.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub slo: Option<&'a Slo>,
    /// Mean latency of one client alone, seconds.
    pub unloaded_s: Option<f64>,
    /// Of the budget.
    pub left: Duration,
    /// A server that doesn't start in the first trial ends the session: there is nothing to compare
    /// with, and most likely nothing else starts either.
    pub needs_first_boot: bool,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub session: SessionId,
    pub state: SessionState,
    pub result: TuneResult,
    /// All events of the session, stored ones only.
    pub events: Vec<Event>,
}

impl Ended {
    /// True when trials were run and the server ended by itself in every one of them.
    pub fn is_server_always_gone(&self) -> bool {
        let mut failures = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::TrialFinished { summary, .. } => Some(summary.failure.is_some()),
            _ => None,
        });
        failures.next() == Some(true) && failures.all(|has_failed| has_failed)
    }
}

impl Work<'_> {
    pub(super) fn started(&self) -> EventKind {
        let goals = self.plan.goals();
        let mut slo = goals.list();
        if self.plan.goal == PlannedGoal::FromUnloaded && goals.has_common() {
            slo.common = Some(PlannedGoal::FromUnloaded);
        }
        let Configuration { workers, threads } = self.inspection.current;
        let threads = self.plan.has_threads.then_some(threads);
        let runtime = Some(self.inspection.runtime_version.clone()).filter(|it| !it.is_empty());
        let remarks = self.inspection.remarks.iter().cloned();
        let remarks = remarks.map(|it| PlannedValue::Remark(it.into()));
        let found = [PlannedValue::CurrentSetting { workers, threads }]
            .into_iter()
            .chain(runtime.map(PlannedValue::Runtime))
            .chain(remarks)
            .map(|value| PlanRecord { value, source: PlanSource::Inspection });
        let plan = self.plan.records.iter().cloned().chain(found).map(PlanLine::Record).collect();
        EventKind::SessionStarted {
            app: self.plan.app.folder.display().to_string(),
            server: self.server.clone(),
            has_threads: self.plan.has_threads,
            slo,
            machine: self.machine.clone(),
            plan,
            budget: Some(self.plan.budget),
            changes: self.plan.changes.clone(),
        }
    }

    /// Runs trials until it is decided, the user stops it, or we cannot go on.
    pub(super) fn drive(
        mut self,
        questions: &mut dyn Questions,
        places: Vec<&mut dyn Place>,
    ) -> Result<Ended, TuneError> {
        let starts = self.finished.iter().map(|trial| trial.start).max().unwrap_or(0);
        let mut crew = Crew::new(places, starts);
        for doubt in std::mem::take(&mut self.doubts) {
            self.log.warn(crew.elapsed(), doubt)?;
        }
        let end = self.trials(questions, &mut crew);
        let stopped = crew.finish();
        let elapsed = crew.elapsed();
        let elapsed_s = self.log.at_s(elapsed);
        let answer = questions.answer();
        let result = decision::result(
            &answer,
            decision::Facts {
                plan: self.plan,
                machine: &self.machine,
                inspection: &self.inspection,
                predicted: questions.predictions(),
                elapsed_s,
                warnings: self.log.warned.clone(),
                trials: &self.finished,
                queue_s: answer.choice.as_ref().and_then(|choice| questions.queue_s(choice)),
            },
        );
        let (state, error) = match &end {
            Ok(state) => (*state, None),
            Err(error) => (SessionState::Failed, Some(error.stated())),
        };
        let ended = |result| EventKind::SessionEnded { state, result: Some(result), error };
        if let Err(error) = end {
            let said = self.log.emit_at_any_rate(elapsed, ended(Box::new(result)));
            // What could not be ended, put back or written is not to be left unsaid.
            let also = [stopped.err().map(TuneError::from), said.err()];
            return Err(also.into_iter().flatten().fold(error, |error, also| {
                PlaceError::Elsewhere(format!("{error}; {also}")).into()
            }));
        }
        let conclusion = questions.conclusion(elapsed_s).into_iter();
        let mut last = conclusion.chain([ended(Box::new(result.clone()))]);
        let said = last.try_for_each(|kind| self.log.emit(elapsed, kind));
        // An app that is not as it was matters more than what could not be written.
        stopped?;
        said?;
        let events = self.log.events()?;
        Ok(Ended { session: self.log.session, state, result, events })
    }

    fn trials(
        &mut self,
        questions: &mut dyn Questions,
        crew: &mut Crew<'_>,
    ) -> Result<SessionState, TuneError> {
        loop {
            if self.stop.is_raised() {
                return Ok(SessionState::Stopped);
            }
            let requests = questions.ask();
            if requests.is_empty() {
                return Ok(SessionState::Done);
            }
            let Some(told) = self.measure(questions.known(), crew, &requests)? else {
                return Ok(SessionState::Stopped);
            };
            let is_measured = told.iter().any(|it| matches!(it, Told::Trial(_)));
            told.into_iter().for_each(|it| questions.tell(it));
            let predictions = questions.predictions();
            if is_measured && !predictions.is_empty() {
                self.log.emit(crew.elapsed(), EventKind::Predicted(predictions))?;
            }
        }
    }

    /// Trials at once; `None` when the user stopped them.
    fn measure(
        &mut self,
        known: Known<'_>,
        crew: &mut Crew<'_>,
        requests: &[TrialRequest],
    ) -> Result<Option<Vec<Told>>, TuneError> {
        let goals = self.plan.goals().with_common(known.slo);
        let of = |(request, id): (&TrialRequest, u32)| {
            let context = Context {
                id,
                purpose: request.purpose,
                goals: &goals,
                cores: self.machine.cores.get(),
                unloaded_s: known.unloaded_s,
                has_proxy: self.plan.app.proxy != Proxy::None,
                has_threads: self.plan.has_threads,
                ended_s: self.log.clock_offset_s,
            };
            (*request, context)
        };
        let last = self.finished.last().map_or(0, |trial| trial.id);
        let trials: Vec<_> = requests.iter().zip(last + 1..).map(of).collect();
        let (left, began, log) = (known.left, crew.elapsed(), &mut self.log);
        let mut failed = None;
        let measured = crew.run(&trials, self.plan.seed, &mut |index, progress| {
            let (request, Context { id, .. }) = &trials[index];
            // Of several there is no one second to be shown.
            if trials.len() == 1 || !matches!(progress, Progress::Second(_)) {
                let shown = show_progress(log, began, *id, request, left, progress);
                failed = failed.take().or(shown.err());
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let (elapsed, mut told) = (crew.elapsed(), Vec::new());
        for doubt in crew.noticed() {
            self.log.warn(elapsed, doubt)?;
        }
        for ((request, _), measured) in trials.iter().zip(measured) {
            told.push(self.take(request, measured, known.needs_first_boot, elapsed)?);
        }
        Ok(told.into_iter().collect())
    }

    /// What one trial came to; `None` when the user stopped it.
    fn take(
        &mut self,
        request: &TrialRequest,
        measured: Result<Measured, PlaceError>,
        needs_first_boot: bool,
        elapsed: Duration,
    ) -> Result<Option<Told>, TuneError> {
        match measured {
            Err(PlaceError::Stopped) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(Measured::BootFailed(failure)) => {
                self.boot_failed(request, failure, needs_first_boot, elapsed).map(Some)
            }
            Ok(Measured::Trial(mut summary, record)) => {
                let is_stopped = self.stop.is_raised();
                if is_stopped {
                    mark_stopped(&mut summary);
                }
                self.finished.push(*summary.clone());
                let doubts = summary.summary.warnings.iter();
                for warning in doubts.filter(|it| !is_told_by(summary.purpose, it)) {
                    self.log.warn(elapsed, warning.clone())?;
                }
                let kind = EventKind::TrialFinished {
                    summary: summary.clone(),
                    load: Box::new(record.load),
                    monitor: Box::new(record.monitor),
                };
                self.log.emit(elapsed, kind)?;
                Ok((!is_stopped).then_some(Told::Trial(summary)))
            }
        }
    }

    fn boot_failed(
        &mut self,
        request: &TrialRequest,
        failure: BootFailure,
        ends_first: bool,
        elapsed: Duration,
    ) -> Result<Told, TuneError> {
        let configuration = request.configuration;
        let (variant, failure_too) = (request.variant, failure.clone());
        let kind = EventKind::BootFailed { configuration, variant, failure: failure_too };
        self.log.emit(elapsed, kind)?;
        if ends_first && self.finished.is_empty() {
            return Err(TuneError::DoesNotStart(failure.into()));
        }
        let ended_s = self.log.at_s(elapsed);
        Ok(Told::BootFailed { configuration, reason: failure.message, ended_s })
    }
}

/// False for what only says that something began, in a run that has ended since.
fn is_result(event: &Event) -> bool {
    !matches!(
        event.kind,
        EventKind::Resumed { .. }
            | EventKind::ServerStarting { .. }
            | EventKind::TrialStarted { .. }
    )
}

/// A trial that the user ended says nothing about the rate.
fn mark_stopped(summary: &mut TrialSummary) {
    summary.valid = false;
    summary.verdict = Verdict::Undecided;
    summary.reason = Reason::StoppedByUser.into();
}

fn show_progress(
    log: &mut Log<'_>,
    began: Duration,
    id: u32,
    request: &TrialRequest,
    left: Duration,
    progress: Progress,
) -> Result<(), TuneError> {
    match progress {
        Progress::Starting { configuration, variant, start } => {
            log.emit(began, EventKind::ServerStarting { configuration, variant, start })
        }
        Progress::Loading => log.emit(
            began,
            EventKind::TrialStarted {
                id,
                purpose: request.purpose,
                configuration: request.configuration,
                variant: request.variant,
                offered: request.offered,
                duration: request.warm_up + request.duration,
                left: Some(left),
            },
        ),
        Progress::Second(second) => log.emit(began + second.at, EventKind::Second(second)),
    }
}
