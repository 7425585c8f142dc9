//! What `sweetspot tune` does: look at the app's own settings, then let the search ask for trials,
//! run them on a place, store each, and print the decision.

use std::time::Duration;

use thiserror::Error;

use super::decision;
use super::fingerprint;
use super::grid;
use super::knobs;
use super::order::order;
use super::resume::{self, Resumed};
use crate::load::LoadError;
use crate::model::Form;
use crate::place::{Place, PlaceError};
use crate::plan::Plan;
use crate::report::{Language, Reporter, Stored};
use crate::search::{self, Ask, Search, SearchPlan, Told, TrialRequest};
use crate::server::{self, Inspection, Proxy};
use crate::store::{SessionHead, SessionId, Store, StoreError};
use crate::summary::trial::{self as trial_summary, Context};
use crate::terms::{
    BootFailure, Configuration, Doubt, Event, EventKind, LoadDoubt, PlanLine, PlanRecord,
    PlanSource, PlannedGoal, PlannedValue, Ratio, Reason, SessionError, SessionState, Slo, Stated,
    StopSignal, TrialSummary, TuneResult, Warning,
};
use crate::trial::{Outcome, Progress, Runner};

/// Why a tune ended without an answer; what was measured before is in the store.
#[derive(Debug, Error)]
pub enum TuneError {
    #[error(transparent)]
    Place(#[from] PlaceError),
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
        let could_not = |what: String, why: &dyn std::fmt::Display| {
            SessionError::CouldNot { what, why: why.to_string() }.into()
        };
        match self {
            Self::DoesNotStart(failure) => does_not_start(failure).into(),
            Self::Report(source) => could_not("write the report".into(), source),
            Self::Store(StoreError { what, path, message, .. }) => {
                could_not(format!("{what} {path}"), message)
            }
            Self::Place(PlaceError::Environment { what, source }) => {
                could_not(what.clone(), source)
            }
            Self::Place(PlaceError::Load(LoadError::Environment { what, .. })) => {
                could_not("set up the load generator".into(), what)
            }
            Self::Place(
                PlaceError::Load(LoadError::Plan(_))
                | PlaceError::Inspection(_)
                | PlaceError::Service(_)
                | PlaceError::Stopped,
            ) => Stated::Verbatim(self.to_string()),
        }
    }
}

fn does_not_start(failure: &BootFailure) -> SessionError {
    let (cause, advice) = (failure.message.clone(), failure.advice.clone());
    SessionError::AppDoesNotStart { cause, advice }
}

/// Everything that a tune works with.
pub struct Tune<'a> {
    pub plan: &'a Plan,
    pub place: &'a mut dyn Place,
    pub store: &'a mut Store,
    /// Makes those who are told what happens, once it is known where the session is stored.
    pub reporters: &'a mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
    pub stop: StopSignal,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What doctor found.
    pub doubts: Vec<Warning>,
    /// Asked before threads are tried on an app that runs one today.
    pub consent: &'a mut dyn FnMut(&str) -> bool,
    /// Take up an unfinished session of the same plan.
    pub may_resume: bool,
}

/// How a tune ended.
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

/// Runs a whole tune.
///
/// # Errors
/// The app's settings cannot be read, the app does not start as it is, or our own environment fails
/// us. Whatever was measured until then is in the store.
pub fn run(tune: Tune<'_>) -> Result<Ended, TuneError> {
    let Tune { plan, place, store, reporters, stop, started_at, mut doubts, consent, may_resume } =
        tune;
    let inspection = place.inspect()?;
    doubts.extend(place.warnings());
    doubts.extend(knobs::doubts(plan, &inspection));
    let (configurations, doubt) = grid::grid(plan, inspection.current, consent);
    doubts.extend(doubt);
    let machine = place.machine().clone();
    let search_plan = search_plan(plan, &machine, configurations, &inspection, &doubts);
    let head = SessionHead {
        fingerprint: fingerprint::of_question(
            plan,
            &fingerprint::fingerprint(plan, &machine, &inspection),
        ),
        app: plan.app.folder.display().to_string(),
        server: format!("{} {}", plan.server, inspection.server_version),
    };
    let resumed = match may_resume {
        true => resume::find(store, &head, &search_plan)?,
        false => None,
    };
    let session = match &resumed {
        Some(resumed) => {
            store.take_up(resumed.session)?;
            resumed.session
        }
        None => store.begin(&head, &started_at)?,
    };
    let mut reporters = reporters(Stored {
        session: session.0,
        store: store.path().display().to_string(),
        started_at: started_at.clone(),
    });
    let clock_offset_s = resumed.as_ref().map_or(0.0, |resumed| resumed.at_s);
    let log = Log { store, session, reporters: &mut reporters, clock_offset_s, warned: Vec::new() };
    let mut work = Work {
        plan,
        server: head.server.clone(),
        inspection,
        machine,
        stop,
        log,
        starts: resumed.as_ref().map_or(0, |resumed| resumed.starts),
        trials: resumed.as_ref().map_or(0, |resumed| resumed.trials),
        load_s: resumed.as_ref().map_or(0.0, |resumed| resumed.load_s),
        mixed: resumed.iter().flat_map(Resumed::mixed).cloned().collect(),
    };
    let search = work.begin(resumed, search_plan, doubts, place.elapsed())?;
    work.drive(search, place)
}

fn search_plan(
    plan: &Plan,
    machine: &crate::terms::Machine,
    grid: Vec<crate::terms::Configuration>,
    inspection: &Inspection,
    doubts: &[Warning],
) -> SearchPlan {
    SearchPlan {
        grid,
        current: inspection.current,
        slo: match &plan.goal {
            PlannedGoal::Given(slo) => Some(slo.clone()),
            PlannedGoal::FromUnloaded => None,
        },
        cores: machine.cores.get(),
        // How an unknown server grows is not needed while it is measured.
        form: match server::find(&plan.server) {
            Some(adapter) if adapter.is_event_loop() => Form::EventLoop,
            _ => Form::Threads,
        },
        generator_shares_cores: doubts.iter().any(Warning::says_generator_shares_cores),
        memory: Some(machine.memory_bytes),
        db_connections: plan.db_connections,
        arrivals: plan.arrivals,
        objective: plan.objective,
        changes: knobs::changes(plan, inspection),
        budget: plan.budget,
        precision: plan.precision.map_or(search::PRECISION, Ratio::get),
        seed: plan.seed,
    }
}

/// Where events go: the store first, then whoever shows them.
pub(super) struct Log<'a> {
    store: &'a mut Store,
    session: SessionId,
    reporters: &'a mut Vec<Box<dyn Reporter>>,
    /// What an earlier run of this session had used, seconds.
    clock_offset_s: f64,
    /// Every doubt once.
    warned: Vec<Warning>,
}

impl<'a> Log<'a> {
    /// Of a session that begins now.
    pub(super) fn new(
        store: &'a mut Store,
        session: SessionId,
        reporters: &'a mut Vec<Box<dyn Reporter>>,
    ) -> Self {
        Self { store, session, reporters, clock_offset_s: 0.0, warned: Vec::new() }
    }

    pub(super) fn at_s(&self, elapsed: Duration) -> f64 {
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
    pub(super) fn emit_at_any_rate(
        &mut self,
        elapsed: Duration,
        kind: EventKind,
    ) -> Result<(), TuneError> {
        let event = Event { at_s: self.at_s(elapsed), kind };
        drop(self.store.append(self.session, &event));
        self.show(&event)
    }

    /// All events of the session, stored ones only.
    pub(super) fn events(&self) -> Result<Vec<Event>, TuneError> {
        Ok(self.store.events(self.session)?)
    }

    /// Doubts that were raised so far.
    pub(super) fn warned(&self) -> &[Warning] {
        &self.warned
    }

    fn show(&mut self, event: &Event) -> Result<(), TuneError> {
        self.reporters
            .iter_mut()
            .try_for_each(|reporter| reporter.take(event))
            .map_err(TuneError::Report)
    }

    /// A doubt is raised once, whatever its figures.
    pub(super) fn warn(&mut self, elapsed: Duration, warning: Warning) -> Result<(), TuneError> {
        if self.warned.iter().any(|known| known.is_like(&warning)) {
            return Ok(());
        }
        self.warned.push(warning.clone());
        self.emit(elapsed, EventKind::Warned(warning))
    }
}

/// A tune, or a verification, at work.
pub(super) struct Work<'a> {
    pub plan: &'a Plan,
    pub server: String,
    pub inspection: Inspection,
    pub machine: crate::terms::Machine,
    pub stop: StopSignal,
    pub log: Log<'a>,
    pub starts: u32,
    pub trials: u32,
    pub load_s: f64,
    /// Trials that told several targets apart.
    pub mixed: Vec<TrialSummary>,
}

/// What is known when a trial begins.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub slo: Option<&'a Slo>,
    /// Mean latency of one client alone, seconds.
    pub unloaded_s: Option<f64>,
    /// Of the budget.
    pub left: Duration,
}

/// Why the loop ended.
enum End {
    Decided,
    Stopped,
}

impl Work<'_> {
    fn begin(
        &mut self,
        resumed: Option<Resumed>,
        search_plan: SearchPlan,
        doubts: Vec<Warning>,
        elapsed: Duration,
    ) -> Result<Search, TuneError> {
        let search = match resumed {
            Some(resumed) => {
                self.log.warned = resumed.warned;
                let kind =
                    EventKind::Resumed { session: resumed.session.0, trials: resumed.trials };
                // Shown, so that whoever watches knows the plan again; stored it is already.
                let mut known = resumed.events.iter().filter(|event| is_result(event));
                known.try_for_each(|event| self.log.show(event))?;
                self.log.emit(elapsed, kind)?;
                resumed.search
            }
            None => {
                self.log.emit(elapsed, self.started())?;
                Search::new(search_plan)
            }
        };
        for doubt in doubts {
            self.log.warn(elapsed, doubt)?;
        }
        Ok(search)
    }

    pub(super) fn started(&self) -> EventKind {
        let goals = self.plan.goals();
        let mut slo = goals.list();
        if self.plan.goal == PlannedGoal::FromUnloaded && goals.has_common() {
            slo.common = Some(PlannedGoal::FromUnloaded);
        }
        let Configuration { workers, threads } = self.inspection.current;
        let threads = self.plan.has_threads.then_some(threads);
        let runtime = Some(self.inspection.runtime_version.clone()).filter(|it| !it.is_empty());
        let remarks = self.inspection.remarks.iter().cloned().map(PlannedValue::Remark);
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

    /// Runs trials until the search is done, the user stops it, or we cannot go on. In every case
    /// the server is stopped and the answer so far is shown.
    fn drive(mut self, mut search: Search, place: &mut dyn Place) -> Result<Ended, TuneError> {
        let mut runner = Runner::new(place, self.starts);
        let end = self.trials(&mut search, &mut runner);
        let stopped = runner.finish();
        let elapsed = runner.elapsed();
        let result = decision::result(
            &search.answer(),
            decision::Facts {
                plan: self.plan,
                machine: &self.machine,
                inspection: &self.inspection,
                predicted: search.predictions(),
                elapsed_s: self.log.at_s(elapsed),
                load_s: self.load_s,
                warnings: self.log.warned.clone(),
                mixed: &self.mixed,
            },
        );
        let state = match &end {
            Ok(End::Decided) => SessionState::Done,
            Ok(End::Stopped) => SessionState::Stopped,
            Err(_) => SessionState::Failed,
        };
        let kind = EventKind::SessionEnded {
            state,
            result: Some(Box::new(result.clone())),
            error: end.as_ref().err().map(TuneError::stated),
        };
        match end {
            Ok(_) => self.log.emit(elapsed, kind)?,
            Err(error) => {
                self.log.emit_at_any_rate(elapsed, kind)?;
                return Err(error);
            }
        }
        stopped?;
        let events = self.log.events()?;
        Ok(Ended { session: self.log.session, state, result, events })
    }

    fn trials(&mut self, search: &mut Search, runner: &mut Runner<'_>) -> Result<End, TuneError> {
        loop {
            if self.stop.is_raised() {
                return Ok(End::Stopped);
            }
            let request = match search.ask() {
                Ask::Done => return Ok(End::Decided),
                Ask::Trial(request) => request,
            };
            let known = Known {
                slo: search.slo(),
                unloaded_s: search.unloaded_s(),
                left: search.session_time_left(),
            };
            let Some(told) = self.trial(known, runner, &request)? else {
                return Ok(End::Stopped);
            };
            let is_measured = matches!(&told, Told::Trial(_));
            search.tell(told);
            if is_measured {
                let predictions = search.predictions();
                if !predictions.is_empty() {
                    self.log.emit(runner.elapsed(), EventKind::Predicted(predictions))?;
                }
            }
        }
    }

    /// One trial; `None` when the user stopped it.
    pub(super) fn trial(
        &mut self,
        known: Known<'_>,
        runner: &mut Runner<'_>,
        request: &TrialRequest,
    ) -> Result<Option<Told>, TuneError> {
        let id = self.trials + 1;
        let goals = self.plan.goals().with_common(known.slo);
        let order = order(request, self.plan.seed, id, &goals);
        let left = known.left;
        let outcome = {
            let began = runner.elapsed();
            let log = &mut self.log;
            let mut failed = None;
            let outcome = runner.run(&order, &mut |progress| {
                let shown = show_progress(log, began, id, request, left, progress);
                failed = failed.take().or(shown.err());
            });
            if let Some(error) = failed {
                return Err(error);
            }
            outcome
        };
        let elapsed = runner.elapsed();
        match outcome {
            Err(PlaceError::Stopped) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(Outcome::BootFailed(failure)) => {
                self.boot_failed(request, failure, elapsed).map(Some)
            }
            Ok(Outcome::Recorded(record)) => {
                let context = Context {
                    id,
                    purpose: request.purpose,
                    goals: &goals,
                    cores: self.machine.cores.get(),
                    unloaded_s: known.unloaded_s,
                    has_proxy: self.plan.app.proxy != Proxy::None,
                    has_threads: self.plan.has_threads,
                    ended_s: self.log.at_s(elapsed),
                };
                let mut summary = trial_summary::summarise(&record, &context);
                summary.variant = request.variant;
                let is_stopped = self.stop.is_raised();
                if is_stopped {
                    mark_stopped(&mut summary);
                }
                self.trials = id;
                self.starts = record.start;
                self.load_s += summary.load_s;
                if !summary.summary.goals.is_empty() {
                    self.mixed.push(summary.clone());
                }
                // That a load was ended early is the verdict's to say.
                let doubts = summary.summary.warnings.iter().filter(|it| !is_cut_short(it));
                for warning in doubts {
                    self.log.warn(elapsed, warning.clone())?;
                }
                let kind = EventKind::TrialFinished {
                    summary: Box::new(summary.clone()),
                    load: Box::new(record.load),
                    monitor: Box::new(record.monitor),
                };
                self.log.emit(elapsed, kind)?;
                Ok((!is_stopped).then(|| Told::Trial(Box::new(summary))))
            }
        }
    }

    /// With the current settings it ends the session: there is nothing to compare with, and most
    /// likely nothing else starts either.
    fn boot_failed(
        &mut self,
        request: &TrialRequest,
        failure: BootFailure,
        elapsed: Duration,
    ) -> Result<Told, TuneError> {
        let configuration = request.configuration;
        let (variant, failure_too) = (request.variant, failure.clone());
        let kind = EventKind::BootFailed { configuration, variant, failure: failure_too };
        self.log.emit(elapsed, kind)?;
        if self.trials == 0 {
            return Err(TuneError::DoesNotStart(failure.into()));
        }
        let ended_s = self.log.at_s(elapsed);
        Ok(Told::BootFailed { configuration, reason: failure.message, ended_s })
    }
}

fn is_cut_short(warning: &Warning) -> bool {
    matches!(warning.doubt(), Some(Doubt::Load(LoadDoubt::LoadCutShort { .. })))
}

/// False for what only told that something began, in a run that has ended since.
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
    summary.verdict = crate::terms::Verdict::Undecided;
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
