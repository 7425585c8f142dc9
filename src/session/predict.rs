//! What `sweetspot predict` does: the model fitted to a stored session, asked about other settings,
//! other cores, or longer waits.
//!
//! In: a store, a session, and what is asked. Out: a [`PredictReport`]. Must not measure.

mod doubts;
mod fleet;
mod runtime;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;

pub use fleet::{FleetQuestion, MachineWish, MachineWishError};
pub use table::{Places, table, usual as usual_table};

use super::report::{ReportError, Which, replay, tuned};
use crate::model::{
    self, Correction, Expected, Fit, Form, Measured, Observation, OpenLatency, Scalability, Sizes,
    WhatIf,
};
use crate::report::Story;
use crate::server;
use crate::stats::Estimate;
use crate::store::Store;
use crate::terms::{
    Bytes, Configuration, Cores, FitReport, FitResidual, Goals, Machine, MemoryParts, ModelForm,
    Obstacle, OtherRequests, PredictReport, PredictedLatency, PredictedLimit, PredictedSetting,
    QuantileLimit, Rate, Slo, TrialPurpose, TrialSummary, Wait, Warning,
};

/// What is asked; what is `None` or empty is as it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Each is predicted for.
    pub cores: Vec<Cores>,
    pub memory: Option<Bytes>,
    pub workers: Option<Vec<u16>>,
    pub threads: Option<Vec<u16>>,
    pub wait: Wait,
    /// Kinds of requests besides those that were measured; asks for a simulation.
    pub others: Vec<OtherRequests>,
    /// The rate at which latency is told.
    pub rate: Option<Rate>,
    pub slo: Option<Slo>,
    /// Play requests one by one instead of computing.
    pub is_simulated: bool,
    /// How long a thread may keep the interpreter's lock; asks for a simulation.
    pub quantum: Option<Duration>,
    /// Leave out what the load generator took of the server's cores.
    pub without_generator: bool,
    /// How many machines would be needed.
    pub fleet: Option<FleetQuestion>,
}

impl Question {
    /// What the session says as it was measured.
    pub fn as_measured() -> Self {
        Self {
            cores: Vec::new(),
            memory: None,
            workers: None,
            threads: None,
            wait: Wait::Times(1.0),
            others: Vec::new(),
            rate: None,
            slo: None,
            is_simulated: false,
            quantum: None,
            without_generator: false,
            fleet: None,
        }
    }

    /// The formulas know of no quantum and of no requests that differ.
    fn is_played(&self) -> bool {
        self.is_simulated || self.quantum.is_some() || !self.others.is_empty()
    }
}

/// Why nothing can be predicted.
#[derive(Debug, Error)]
pub enum PredictError {
    #[error(transparent)]
    Session(#[from] ReportError),
    #[error(
        "session {session} has no valid trial to fit the model to (one client alone, or a server \
         under all it can take); 'sweetspot tune' makes them first, before anything else"
    )]
    NothingToFit { session: i64 },
    #[error("session {session} ended before its goal was settled; give one with --slo")]
    NoGoal { session: i64 },
    #[error("session {session} ended before it looked at its machine, so nothing can be fitted")]
    NoMachine { session: i64 },
    #[error("{places} combinations are more than {most} to compute; ask for fewer")]
    TooMany { places: usize, most: usize },
    #[error("the kinds of requests given with --mix are more than all requests together")]
    MoreThanAll,
    #[error("--quantum {quantum:?} is shorter than any timer's; give at least 1ms")]
    QuantumTooShort { quantum: Duration },
}

/// Interpreters' timers tick in milliseconds.
const QUANTUM_LEAST: Duration = Duration::from_millis(1);

/// More takes minutes, when it is computed and when it is simulated.
const MOST: usize = 4000;
const MOST_SIMULATED: usize = 100;

/// Answers from one session.
///
/// # Errors
/// No such session, or one that nothing can be fitted to.
pub fn predict(
    store: &Store,
    which: Which,
    question: &Question,
) -> Result<PredictReport, PredictError> {
    answer(&replay(store, tuned(store, which)?)?, question)
}

/// The same from a session that was put together already.
///
/// # Errors
/// Nothing can be fitted to it.
pub fn answer(story: &Story, question: &Question) -> Result<PredictReport, PredictError> {
    let session = story.stored.as_ref().map_or(0, |stored| stored.session);
    if let Some(quantum) = question.quantum.filter(|quantum| *quantum < QUANTUM_LEAST) {
        return Err(PredictError::QuantumTooShort { quantum });
    }
    if question.others.iter().map(|other| other.share.get()).sum::<f64>() > 1.0 + 1e-9 {
        return Err(PredictError::MoreThanAll);
    }
    let machine = story.machine.clone().ok_or(PredictError::NoMachine { session })?;
    let (slo, goal) = match &question.slo {
        Some(slo) => (Goals::one(slo.clone()).list(), slo.tightest()),
        None => (story.goals.clone(), goal_of(story).ok_or(PredictError::NoGoal { session })?),
    };
    let known = measured(story, &machine, goal).ok_or(PredictError::NothingToFit { session })?;
    let cores = match question.cores[..] {
        [] => vec![machine.cores],
        _ => question.cores.clone(),
    };
    let memory = question.memory.unwrap_or(machine.memory_bytes);
    let grids: Vec<(Cores, Vec<Configuration>)> =
        cores.iter().map(|&cores| (cores, grid(story, &known, question, cores))).collect();
    let places = grids.iter().map(|(_, grid)| grid.len()).sum();
    let most = if question.is_played() { MOST_SIMULATED } else { MOST };
    if places > most {
        return Err(PredictError::TooMany { places, most });
    }
    let mut predicted = Vec::new();
    for (cores, grid) in grids {
        let what_if = what_if(question, goal, cores);
        let mut settings: Vec<PredictedSetting> = grid
            .into_iter()
            .map(|at| setting(at, cores, memory, known.expect(at, &what_if)))
            .collect();
        settings.sort_by(|a, b| b.capacity_rps.total_cmp(&a.capacity_rps));
        predicted.extend(settings);
    }
    let fleets = question.fleet.as_ref().map_or_else(Vec::new, |fleet| {
        let at = |cores| (grid(story, &known, question, cores), what_if(question, goal, cores));
        fleet::fleets(&known, fleet, at)
    });
    let warnings = doubts::warnings(story, &known, question, &predicted);
    Ok(PredictReport {
        session,
        app: story.app.clone(),
        server: story.server.clone(),
        slo,
        machine,
        fit: fit_report(&known, story),
        predicted,
        fleets,
        warnings,
    })
}

/// The limit that the session's trials were judged by; of several goals the one that stands for all
/// of them. `None`: the session ended before there was one.
fn goal_of(story: &Story) -> Option<QuantileLimit> {
    // Where no target is left for a common goal, any will do in its place.
    let common = story.goals.settled().next().filter(|_| story.goals.are_settled())?;
    let alone = story.trials.iter().find(|it| it.valid && it.purpose == TrialPurpose::Unloaded);
    Some(alone.map_or(common.tightest(), |it| model::limit_that_binds(&it.summary, common)))
}

/// Some target was judged by a goal of its own.
fn has_several_goals(story: &Story) -> bool {
    story.trials.iter().any(|trial| trial.summary.goals.iter().any(|goal| goal.own))
}

fn what_if(question: &Question, goal: QuantileLimit, cores: Cores) -> WhatIf {
    WhatIf {
        cores: cores.get(),
        wait: question.wait,
        has_generator: !question.without_generator,
        goal,
        others: question.others.clone(),
        is_played: question.is_played(),
        quantum_s: question.quantum.map(|quantum| quantum.as_secs_f64()),
        rate: question.rate.map(Rate::as_per_second),
    }
}

/// The trials that say what a request costs.
fn observations(story: &Story, form: Form) -> Vec<Observation> {
    let is_shared = story.warnings.iter().any(Warning::says_generator_shares_cores);
    let observed = |trial: &TrialSummary| {
        let observation = Observation::from_trial(trial)?;
        let configuration = form.occupied(trial.configuration, trial.offered.clients());
        let generator_s = observation.generator_s.filter(|_| is_shared);
        Some(Observation { configuration, generator_s, ..observation })
    };
    story.trials.iter().filter_map(observed).collect()
}

/// `None` when nothing can be fitted.
fn measured(story: &Story, machine: &Machine, goal: QuantileLimit) -> Option<Measured> {
    let program = story.server.split(' ').next().unwrap_or_default();
    let form = match server::find(program) {
        Some(adapter) if adapter.is_event_loop() => Form::EventLoop,
        Some(adapter) if adapter.is_known() => Form::Threads,
        _ => Form::Unknown(curve(story)),
    };
    let cores = machine.cores.get();
    let measured_goal = goal_of(story);
    let fit = Fit::to(&observations(story, form), cores)?;
    let tried = || story.trials.iter().filter(|trial| trial.valid).map(|it| it.configuration);
    let range = |of: fn(Configuration) -> u16| {
        let counts = || tried().map(of);
        Some([counts().min()?, counts().max()?])
    };
    let mut known = Measured {
        throughput_correction: Correction::default(),
        capacity_correction: Correction::default(),
        memory: model::memory(&memory_points(story)),
        lock: runtime::lock(story, form),
        admission: runtime::admission(story),
        goal: measured_goal,
        held_share: 1.0,
        sizes: sizes(story),
        form,
        cores,
        workers: range(|it| it.workers.get())?,
        threads: range(|it| it.threads.get())?,
        fit,
    };
    let saturated = story.trials.iter().filter(|trial| is_saturated(trial));
    let ratios = known.fit.residuals.iter().map(|(_, ratio)| *ratio);
    known.throughput_correction =
        Correction::new(saturated.map(|trial| trial.configuration).zip(ratios));
    if let Form::Unknown(Some(curve)) = form {
        known.held_share = curve.held_share(&story.capacities());
        // What the mechanism is off by is asked of the mechanism.
        known.form = Form::Unknown(None);
    }
    let as_measured = WhatIf::as_measured(cores, measured_goal.unwrap_or(goal));
    let capacities = story.capacities();
    let ratios: Vec<(Configuration, f64)> = capacities
        .into_iter()
        .filter_map(|(at, held)| {
            Some((at, held / known.expect(at, &as_measured).capacity_rps?.value))
        })
        .collect();
    known.capacity_correction = Correction::new(ratios);
    known.form = form;
    Some(known)
}

/// How requests of one client alone differed.
fn sizes(story: &Story) -> Option<Sizes> {
    let is_alone = |trial: &&TrialSummary| {
        trial.valid && trial.failure.is_none() && trial.purpose == TrialPurpose::Unloaded
    };
    Sizes::of(&story.trials.iter().find(is_alone)?.summary.latency_s)
}

/// Of a server that is not known: how its throughput grows with its threads.
fn curve(story: &Story) -> Option<Scalability> {
    let saturated = story.trials.iter().filter(|trial| is_saturated(trial));
    let point = |trial: &TrialSummary| {
        (f64::from(trial.configuration.slots()), trial.summary.got_through_rps())
    };
    Scalability::fit(&saturated.map(point).collect::<Vec<_>>())
}

/// The most that each configuration took.
fn memory_points(story: &Story) -> Vec<(Configuration, u64)> {
    let mut most: BTreeMap<Configuration, u64> = BTreeMap::new();
    for trial in story.trials.iter().filter(|trial| trial.variant.is_as_it_is()) {
        if let Some(bytes) = trial.memory_bytes {
            let known = most.entry(trial.configuration).or_default();
            *known = bytes.max(*known);
        }
    }
    most.into_iter().collect()
}

fn grid(story: &Story, known: &Measured, question: &Question, cores: Cores) -> Vec<Configuration> {
    let workers = question.workers.clone().unwrap_or_else(|| usual_workers(cores.get()));
    let threads = match (&question.threads, known.form) {
        (_, Form::EventLoop) => vec![1],
        (Some(threads), _) => threads.clone(),
        (None, _) => threads_of(story),
    };
    let all = workers.iter().flat_map(|&w| threads.iter().map(move |&t| (w, t)));
    all.filter_map(|(workers, threads)| Configuration::new(workers, threads).ok()).collect()
}

/// 1 to twice the cores; of many those that lie close together are left out.
fn usual_workers(cores: f64) -> Vec<u16> {
    let most = (2.0 * cores).ceil().clamp(1.0, 1024.0) as u16;
    let mut workers: Vec<u16> = (1..=most.min(8)).collect();
    let mut next = 8.0_f64;
    while next < f64::from(most) {
        next *= 1.25;
        workers.push((next.round() as u16).min(most));
    }
    // The number of cores is what people ask about.
    workers.push(cores.round().clamp(1.0, 1024.0) as u16);
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// Those that the session chose among.
fn threads_of(story: &Story) -> Vec<u16> {
    let predicted = story.predicted.iter().map(|one| one.threads);
    let tried = story.trials.iter().map(|trial| trial.configuration.threads.get());
    let mut threads: Vec<u16> = predicted.chain(tried).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn setting(at: Configuration, cores: Cores, memory: Bytes, expected: Expected) -> PredictedSetting {
    let (throughput, throughput_interval) = figure(expected.throughput_rps.as_ref());
    let (capacity, capacity_interval) = figure(expected.capacity_rps.as_ref());
    let too_much = expected.memory_bytes.filter(|&needs| !model::fits(needs, memory));
    PredictedSetting {
        workers: at.workers.get(),
        threads: at.threads.get(),
        cores: cores.get(),
        throughput_rps_max: throughput,
        throughput_rps_max_interval: throughput_interval,
        capacity_rps: capacity,
        capacity_rps_interval: capacity_interval,
        latency_s: expected.latency.map(|(at_rps, all)| latency(at_rps, &all)),
        latency_of_measured_s: expected
            .latency
            .zip(expected.latency_of_measured)
            .map(|((at_rps, _), measured)| latency(at_rps, &measured)),
        memory_bytes: expected.memory_bytes,
        limit: PredictedLimit { kind: expected.limit },
        ruled_out: too_much.map(|needed_bytes| {
            Obstacle::NeedsMemory { needed_bytes, limit_bytes: memory.0 }.into()
        }),
        distance: expected.distance,
    }
}

fn latency(at_rps: f64, latency: &OpenLatency) -> PredictedLatency {
    PredictedLatency {
        at_rps,
        mean: latency.mean_s,
        p50: latency.p50_s,
        p95: latency.p95_s,
        p99: latency.p99_s,
    }
}

fn figure(estimate: Option<&Estimate>) -> (f64, [f64; 2]) {
    estimate.map_or((0.0, [0.0, 0.0]), |it| (it.value, [it.low, it.high]))
}

fn fit_report(known: &Measured, story: &Story) -> FitReport {
    let fitted = known.fit.residuals.iter();
    let residuals = story.trials.iter().filter(|trial| is_saturated(trial)).zip(fitted);
    FitReport {
        form: match known.form {
            Form::Threads | Form::Unknown(None) => ModelForm::Threads,
            Form::Unknown(Some(_)) => ModelForm::Scalability,
            Form::EventLoop => ModelForm::EventLoop,
        },
        demand: known.fit.parts(0.95),
        misfit: known.fit.misfit,
        residuals: residuals
            .map(|(trial, &(_, ratio))| FitResidual {
                workers: trial.configuration.workers.get(),
                threads: trial.configuration.threads.get(),
                measured_rps: trial.summary.got_through_rps(),
                fitted_rps: trial.summary.got_through_rps() / ratio,
            })
            .collect(),
        memory: memory_parts(story),
    }
}

fn is_saturated(trial: &TrialSummary) -> bool {
    let is_fitted = Observation::from_trial(trial).and_then(|it| it.saturated_rps);
    is_fitted.is_some_and(|rate| rate.is_finite() && rate > 0.0)
}

fn memory_parts(story: &Story) -> Option<MemoryParts> {
    story.memory.clone().or_else(|| model::memory_parts(&memory_points(story)))
}
