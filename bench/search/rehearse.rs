//! A whole search on a place, without store, reports or a user: what runs by the hundred on the
//! simulated place.

use std::time::Duration;

use sweetspot::place::{Place, PlaceError};
use sweetspot::search::{Answer, Ask, Search, SearchPlan, Told};
use sweetspot::session::order::order;
use sweetspot::summary::trial::{Context, summarise};
use sweetspot::terms::{Goals, Slo, TrialSummary};
use sweetspot::trial::{Outcome, Runner};

use crate::common::trial::context;

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

/// Runs the search to its end; `goals` has those that targets of a mix have of their own. `watch`
/// is shown the search after each trial, with the place's clock.
///
/// # Errors
/// The place fails us; a server that fails is a result.
pub fn run(
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
                    unloaded_s: search.unloaded_s(),
                    ended_s,
                    ..context(&goals, plan.cores)
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
