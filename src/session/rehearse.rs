//! A whole search on a place, without store, reports or a user: what tests and benchmarks run by
//! the hundred on the simulated place.

use std::time::Duration;

use super::order::order;
use crate::place::{Place, PlaceError};
use crate::search::{Answer, Ask, Search, SearchPlan, Told};
use crate::summary::trial::{Context, summarise};
use crate::terms::{Goals, Slo, TrialSummary};
use crate::trial::{Outcome, Runner};

/// How a rehearsal ended.
#[derive(Debug, Clone)]
pub struct Rehearsed {
    pub answer: Answer,
    /// The goal as it was settled.
    pub slo: Option<Slo>,
    /// In the order they were run.
    pub trials: Vec<TrialSummary>,
    /// By the place's clock.
    pub elapsed: Duration,
}

/// Runs the search to its end, with one goal for all requests.
///
/// # Errors
/// The place fails us; a server that fails is a result.
pub fn run(plan: &SearchPlan, place: &mut dyn Place) -> Result<Rehearsed, PlaceError> {
    run_mix(plan, &Goals::default(), place)
}

/// The same with a mix: `goals` has those of its targets' own.
///
/// # Errors
/// As [`run`].
pub fn run_mix(
    plan: &SearchPlan,
    goals: &Goals,
    place: &mut dyn Place,
) -> Result<Rehearsed, PlaceError> {
    run_watched(plan, goals, place, &mut |_, _| {})
}

/// The same; `watch` is shown the search after each trial, with the place's clock.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    plan: &SearchPlan,
    goals: &Goals,
    place: &mut dyn Place,
    watch: &mut dyn FnMut(&Search, Duration),
) -> Result<Rehearsed, PlaceError> {
    let mut search = Search::new(plan.clone());
    let mut runner = Runner::new(place, 0);
    let mut trials: Vec<TrialSummary> = Vec::new();
    while let Ask::Trial(request) = search.ask() {
        let id = trials.len() as u32 + 1;
        let goals = goals.with_common(search.slo());
        let order = order(&request, plan.seed, id, &goals);
        let outcome = runner.run(&order, &mut |_| {})?;
        let ended_s = runner.elapsed().as_secs_f64();
        let told = match outcome {
            Outcome::BootFailed(failure) => Told::BootFailed {
                configuration: request.configuration,
                reason: failure.message,
                ended_s,
            },
            Outcome::Recorded(record) => {
                let context = Context {
                    id,
                    purpose: request.purpose,
                    goals: &goals,
                    cores: plan.cores,
                    unloaded_s: search.unloaded_s(),
                    has_proxy: false,
                    has_threads: true,
                    ended_s,
                };
                let summary =
                    TrialSummary { variant: request.variant, ..summarise(&record, &context) };
                trials.push(summary.clone());
                Told::Trial(Box::new(summary))
            }
        };
        search.tell(told);
        watch(&search, runner.elapsed());
    }
    runner.finish()?;
    let elapsed = runner.elapsed();
    let slo = search.slo().cloned();
    Ok(Rehearsed { answer: search.answer(), slo, trials, elapsed })
}
