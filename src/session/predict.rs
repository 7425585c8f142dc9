//! What `sweetspot predict` does: the model fitted to a stored session, asked about other settings,
//! other cores, or longer waits.
//!
//! In: a store, a session, and what is asked. Out: a [`PredictReport`]. Must not measure.

mod doubts;
mod fleet;
mod known;
mod question;
mod runtime;
mod table;

use std::time::Duration;

use thiserror::Error;

pub use fleet::{FleetQuestion, MachineKind};
pub use question::Question;
pub use table::{Places, table, usual as usual_table};

use self::known::{goal_of, is_saturated, measured, memory_points, threads_of, usual_workers};
use super::report::{ReportError, Which, replay, tuned};
use crate::model::{self, Form, Measured};
use crate::report::Story;
use crate::store::Store;
use crate::terms::{
    Configuration, Cores, FitReport, FitResidual, Goals, MemoryParts, ModelForm, PredictReport,
    PredictedSetting,
};

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
    #[error("with {option} 0/s no request comes that could be simulated; give a rate above zero")]
    NothingComes { option: &'static str },
    #[error(
        "the workers of {server} are event loops, which have no threads to choose; leave out \
         --threads"
    )]
    NoThreads { server: String },
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

/// Answers from a session that was put together already.
///
/// # Errors
/// Nothing can be fitted to it.
pub fn answer(story: &Story, question: &Question) -> Result<PredictReport, PredictError> {
    let session = story.stored.as_ref().map_or(0, |stored| stored.session);
    check(question)?;
    let machine = story.machine.clone().ok_or(PredictError::NoMachine { session })?;
    let (slo, goal) = match &question.slo {
        Some(slo) => (Goals::one(slo.clone()).list(), slo.tightest()),
        None => (story.goals.clone(), goal_of(story).ok_or(PredictError::NoGoal { session })?),
    };
    let known = measured(story, &machine, goal).ok_or(PredictError::NothingToFit { session })?;
    let asks_for_threads = question.threads.as_ref().is_some_and(|threads| threads[..] != [1]);
    if known.form == Form::EventLoop && asks_for_threads {
        return Err(PredictError::NoThreads { server: story.server.clone() });
    }
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
        let what_if = question.what_if(goal, cores);
        let mut settings: Vec<PredictedSetting> = grid
            .into_iter()
            .map(|at| known.expect(at, &what_if).as_setting(at, cores, memory))
            .collect();
        settings.sort_by(|a, b| b.capacity_rps.total_cmp(&a.capacity_rps));
        predicted.extend(settings);
    }
    let fleets = question.fleet.as_ref().map_or_else(Vec::new, |fleet| {
        let at = |cores| (grid(story, &known, question, cores), question.what_if(goal, cores));
        fleet::fleets(&known, fleet, at)
    });
    let asked = question.what_if(goal, machine.cores);
    let warnings = doubts::warnings(story, &known, question, &asked, &predicted, &fleets);
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

/// Refuses what no session has an answer to.
fn check(question: &Question) -> Result<(), PredictError> {
    if let Some(quantum) = question.quantum.filter(|quantum| *quantum < QUANTUM_LEAST) {
        return Err(PredictError::QuantumTooShort { quantum });
    }
    if question.others.iter().map(|other| other.share.get()).sum::<f64>() > 1.0 + 1e-9 {
        return Err(PredictError::MoreThanAll);
    }
    // The formulas know what a request takes at no rate at all.
    let played = question.rate.filter(|_| question.is_played()).map(|rate| ("--rate", rate));
    let fleet = question.fleet.as_ref().map(|fleet| ("--fleet", fleet.rate));
    let mut simulated = played.into_iter().chain(fleet);
    match simulated.find(|(_, rate)| rate.as_per_second() <= 0.0) {
        Some((option, _)) => Err(PredictError::NothingComes { option }),
        None => Ok(()),
    }
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

fn memory_parts(story: &Story) -> Option<MemoryParts> {
    story.memory.clone().or_else(|| model::memory_parts(&memory_points(story)))
}

#[cfg(test)]
mod tests {
    use super::known::tests::{story, trial};
    use super::*;
    use crate::report::document;
    use crate::terms::{Rate, TrialPurpose, TrialSummary};

    fn question() -> Question {
        Question { slo: Some("p95<1s".parse().unwrap()), ..Question::default() }
    }

    #[test]
    fn a_load_without_a_request_is_refused_where_it_would_be_simulated() {
        let nothing = Rate::per_second(0.0).unwrap();
        let machines = vec!["small=2,4GiB".parse().unwrap()];
        let fleet = FleetQuestion { rate: nothing, zones: 1, trough: None, machines };
        let fleet = Question { fleet: Some(fleet), ..question() };
        let played = Question { rate: Some(nothing), is_simulated: true, ..question() };
        for (question, expected) in [(fleet, "--fleet"), (played, "--rate")] {
            match answer(&Story::default(), &question) {
                Err(PredictError::NothingComes { option }) => assert_eq!(option, expected),
                other => panic!("{other:?}"),
            }
        }
        let computed = Question { rate: Some(nothing), ..question() };
        let error = answer(&Story::default(), &computed).unwrap_err();
        assert!(matches!(error, PredictError::NoMachine { .. }), "{error}");
    }

    #[test]
    fn a_fleet_of_settings_whose_memory_nobody_saw_is_not_said_to_fit() {
        let doubt = "whether its memory suffices is not known";
        for (memory_bytes, is_said) in [(None, true), (Some(300 << 20), false)] {
            let alone = trial(TrialPurpose::Unloaded, (2, 5), 0.012);
            let burst = trial(TrialPurpose::Saturate, (2, 5), 0.012);
            let session = story("puma 7.1.0", vec![alone, TrialSummary { memory_bytes, ..burst }]);
            let fleet = FleetQuestion {
                rate: Rate::per_second(20.0).unwrap(),
                zones: 1,
                trough: None,
                machines: vec!["small=2,4GiB".parse().unwrap()],
            };
            let (workers, threads) = (Some(vec![2]), Some(vec![5]));
            let asked = Question { workers, threads, fleet: Some(fleet), ..question() };
            let report = answer(&session, &asked).unwrap();
            assert!(report.fleets[0].fleet.is_some(), "{report:?}");
            let said = format!("{:?}", document::predict::document(&report));
            assert_eq!(said.contains(doubt), is_said, "{said}");
        }
    }

    #[test]
    fn threads_of_event_loops_are_refused_and_not_ignored() {
        let burst = trial(TrialPurpose::Saturate, (2, 1), 0.012);
        let session = story("uvicorn 0.30.0", vec![burst]);
        let with = |threads: &[u16]| {
            let (workers, threads) = (Some(vec![2]), Some(threads.to_vec()));
            answer(&session, &Question { workers, threads, ..question() })
        };
        let error = with(&[1, 5]).unwrap_err();
        assert!(matches!(error, PredictError::NoThreads { .. }), "{error}");
        assert_eq!(with(&[1]).unwrap().predicted.len(), 1);
    }
}
