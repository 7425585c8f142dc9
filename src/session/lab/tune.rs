//! What `sweetspot lab tune` does: lets `tune` find a setting for an experiment's app, and measures
//! it again beside the one that the article ended with, in turn, after fresh starts.
//!
//! In: a lab. Out: a [`LabTune`]. `tune` itself is the ordinary one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::error::{LabError, without_server};
use super::site::{Site, limits};
use crate::lab::{self, Lab};
use crate::place::{PlaceError, Started};
use crate::plan::{self, Key, Plan, Typed};
use crate::report::{Language, Reporter, Stored};
use crate::session::load::capacity;
use crate::session::load::{Asked, LoadVerbError, Shape};
use crate::session::local;
use crate::session::tune::TuneError;
use crate::terms::{
    Arrivals, BootFailure, Configuration, LabPair, LabTune, LabTuneEvent, Rate, SessionState,
    StopSignal,
};

/// Time for one search of a capacity.
const SEARCH: Duration = Duration::from_secs(30);

/// How an experiment's app is to be tuned.
pub struct TuneOptions<'a> {
    /// Pairs of measurements afterwards.
    pub pairs: u32,
    pub store: PathBuf,
    pub stop: StopSignal,
    pub reporters: &'a mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
}

/// Tunes, and measures again.
///
/// # Errors
/// Only what is not the app server's doing.
pub fn run(
    lab: &Lab,
    options: TuneOptions<'_>,
    tell: &mut dyn FnMut(LabTuneEvent<'_>),
) -> Result<LabTune, LabError> {
    let mut site = Site::prepare(lab, lab.definition.full, options.stop.clone(), &mut |what| {
        tell(LabTuneEvent::Preparing { what });
    })?;
    let machine = site.machine()?;
    let cores = machine.cores.get().ceil() as u16;
    let plan = plan(lab, &site, &options.store)?;
    tell(LabTuneEvent::Tunes);
    let began = Instant::now();
    let ended = local::tune(
        &plan,
        local::RunOptions {
            stop: options.stop.clone(),
            reporters: options.reporters,
            consent: &mut |_| true,
            may_resume: false,
        },
    )
    .map_err(not_tuned)?;
    check_whole(ended.state)?;
    let tune_s = began.elapsed().as_secs_f64();
    let article = lab::article(&lab.definition.tune, cores).ok_or_else(|| {
        LabError::Definition { message: "lab.toml: the article's setting has no workers".into() }
    })?;
    let decision = ended.result.decision.as_ref();
    let chosen = decision.and_then(|it| Configuration::new(it.workers, it.threads).ok());
    let mut pairs = Vec::new();
    if let Some(chosen) = chosen {
        tell(LabTuneEvent::Chose { chosen, article });
        if chosen != article {
            pairs = measure_again(lab, &mut site, &plan, &options, (chosen, article), tell)?;
        }
    }
    site.finish()?;
    let (ratio, ratio_interval, holds) = lab::compare(chosen, article, &pairs);
    Ok(LabTune {
        lab: lab.name.clone(),
        machine,
        slo: lab.definition.tune.slo.clone(),
        chosen,
        equivalent: decision
            .iter()
            .flat_map(|it| &it.equivalent)
            .filter_map(|it| Configuration::new(it.workers, it.threads).ok())
            .collect(),
        article,
        tune_s,
        tune_load_s: ended.result.load_s,
        matrix_s: lab::by_hand_s(&lab.definition, cores),
        pairs,
        ratio,
        ratio_interval,
        holds,
        warnings: ended.result.warnings,
    })
}

/// What a tune that was stopped has found so far is not what it would have chosen.
fn check_whole(state: SessionState) -> Result<(), LabError> {
    match state {
        SessionState::Stopped => Err(PlaceError::Stopped.into()),
        _ => Ok(()),
    }
}

fn not_tuned(error: TuneError) -> LabError {
    match error {
        TuneError::Place(error) => error.into(),
        TuneError::DoesNotStart(failure) => not_up(*failure),
        error => LabError::Definition { message: error.to_string() },
    }
}

/// In the words of an experiment: the advice for `tune` names options that `lab` has not.
fn not_up(failure: BootFailure) -> LabError {
    LabError::Definition { message: Language::DATA.say_fact(&without_server(failure)) }
}

/// What would be typed for `tune` in the app's folder.
fn plan(lab: &Lab, site: &Site, store: &std::path::Path) -> Result<Plan, LabError> {
    let definition = &lab.definition;
    let tuning = &definition.tune;
    let (cores, memory) = limits(definition);
    let env = site.env().into_iter().map(|(name, value)| format!("{name}={value}"));
    let typed = Typed::default()
        .with_path(Key::App, site.folder())
        .with_path(Key::Store, store)
        .with(Key::Server, &definition.server)
        .with_all(Key::Proxy, definition.behind_nginx.then_some("nginx"))
        .with_all(Key::Env, env)
        .with(Key::Workers, &tuning.workers)
        .with_all(Key::Threads, tuning.threads.clone())
        .with_all(Key::Target, &tuning.targets)
        .with(Key::Slo, tuning.slo.to_string())
        .with(Key::Budget, &tuning.budget)
        .with(Key::Ready, &definition.ready)
        .with(Key::Connection, definition.connection.to_string())
        .with_all(Key::Cpus, cores.map(|cores| cores.get().to_string()))
        .with_all(Key::Memory, memory.map(|memory| memory.0.to_string()))
        .with(Key::Yes, "true");
    let surroundings = local::surroundings()
        .map_err(|source| LabError::Io { what: "find the current folder".into(), source })?;
    plan::resolve(&typed, &surroundings)
        .map_err(|error| LabError::Definition { message: format!("lab.toml, [tune]: {error}") })
}

/// Both settings in turn, each pair in the other order than the one before.
fn measure_again(
    lab: &Lab,
    site: &mut Site,
    plan: &Plan,
    options: &TuneOptions<'_>,
    (chosen, article): (Configuration, Configuration),
    tell: &mut dyn FnMut(LabTuneEvent<'_>),
) -> Result<Vec<LabPair>, LabError> {
    let mut pairs = Vec::new();
    for index in 0..options.pairs {
        let mut of = |setting: Configuration| {
            capacity_of(lab, site, plan, setting, u64::from(index), &options.stop)
        };
        let pair = match index % 2 {
            0 => {
                let chosen_rps = of(chosen)?;
                LabPair { chosen_rps, article_rps: of(article)? }
            }
            _ => {
                let article_rps = of(article)?;
                LabPair { chosen_rps: of(chosen)?, article_rps }
            }
        };
        tell(LabTuneEvent::Pair { index: index + 1, of: options.pairs, pair });
        pairs.push(pair);
    }
    Ok(pairs)
}

/// The highest rate that this setting holds, after a fresh start; `None` when none was found.
fn capacity_of(
    lab: &Lab,
    site: &mut Site,
    plan: &Plan,
    setting: Configuration,
    seed: u64,
    stop: &StopSignal,
) -> Result<Option<f64>, LabError> {
    let place = site.place(&BTreeMap::new(), plan.targets.clone())?;
    match place.start(setting)? {
        Started::Ready { .. } => {}
        Started::Failed(failure) => return Err(not_up(failure)),
    }
    let missing = || LabError::Definition { message: "the server has no address".to_string() };
    let address = place.local.address().ok_or_else(missing)?;
    // As `tune` itself measures: beside a busy server on its own cores, a generator that waits for
    // its turn measures its own waiting, the more so the more workers there are.
    let rate = Rate::per_second(1.0).expect("one request a second is a rate");
    let shape = Shape::Constant { rate, arrivals: Arrivals::Poisson };
    let asked = Asked {
        targets: plan.targets.clone(),
        warm_up: Duration::from_secs(2),
        connection: lab.definition.connection,
        timeout: plan.timeout,
        loops: Some(1),
        seed,
        slo: Some(lab.definition.tune.slo.clone()),
        placement: place.local.placement(),
        ..Asked::new(format!("http://{address}"), shape, SEARCH)
    };
    let failed = |error| not_loaded(error, stop);
    let prepared = capacity::prepare(asked, None).map_err(failed)?;
    let summary = capacity::run(&prepared, stop, &mut |_| {}).map_err(failed)?;
    if stop.is_raised() {
        return Err(PlaceError::Stopped.into());
    }
    Ok(summary.capacity_rps.or(summary.bound_rps))
}

/// A search that was stopped in its first load fails because it was stopped.
fn not_loaded(error: LoadVerbError, stop: &StopSignal) -> LabError {
    match stop.is_raised() {
        true => PlaceError::Stopped.into(),
        false => LabError::Definition { message: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tune_that_was_stopped_has_no_result() {
        let stopped = check_whole(SessionState::Stopped);
        assert!(matches!(stopped, Err(LabError::Place(PlaceError::Stopped))), "{stopped:?}");
        assert!(check_whole(SessionState::Done).is_ok());
    }

    #[test]
    fn a_search_that_was_stopped_before_anything_was_measured_was_stopped() {
        let stop = StopSignal::default();
        let error = || LoadVerbError::NothingAnswered("nothing was measured".to_string());
        let said = not_loaded(error(), &stop).to_string();
        assert!(said.contains("nothing was measured"), "{said}");
        stop.raise();
        let said = not_loaded(error(), &stop);
        assert!(matches!(said, LabError::Place(PlaceError::Stopped)), "{said}");
    }
}
