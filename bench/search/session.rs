//! One whole search on the simulated place, and what became of it beside the truth.

use std::time::Duration;

use sweetspot::model::Form;
use sweetspot::place::simulated::Simulated;
use sweetspot::report::Language;
use sweetspot::search::{Answer, Ask, PRECISION, Search, SearchPlan, Told};
use sweetspot::session::order::{Measured, measure};
use sweetspot::stats::Estimate;
use sweetspot::summary::trial::Context;
use sweetspot::terms::{
    Arrivals, Bytes, Configuration, Goals, Objective, Prediction, Slo, TrialSummary,
};
use sweetspot::trial::Runner;

use super::apps::Case;
use crate::common::Result;
use crate::common::trial::context;

/// A search that has ended.
pub struct Ended {
    pub answer: Answer,
    /// The goal, given or settled.
    pub slo: Slo,
    pub trials: usize,
    pub load_s: f64,
    pub elapsed_s: f64,
    /// What it would have answered after each trial: seconds, and the setting.
    pub course: Vec<(f64, Configuration)>,
    /// The last setting's capacity by the current one's, at the end.
    pub last_by_current: Option<Estimate>,
}

/// `slo`: the goal, where it is given.
pub fn plan(case: &Case, slo: Option<Slo>, budget: Duration, seed: u64) -> SearchPlan {
    SearchPlan {
        grid: case.grid.clone(),
        current: case.app.current,
        slo,
        cores: case.app.cores,
        form: Form::Threads,
        generator_shares_cores: false,
        memory: Some(Bytes(case.app.memory.limit_bytes)),
        db_connections: None,
        arrivals: Arrivals::Poisson,
        objective: Objective::default(),
        changes: Vec::new(),
        budget,
        precision: PRECISION,
        seed,
    }
}

/// `None` when no goal was settled: the server died at once, say.
pub fn run(case: &Case, budget: Duration, seed: u64) -> Result<Option<Ended>> {
    run_for(case, None, budget, seed)
}

/// A search for a goal that is given; `None`: it settles one.
pub fn run_for(
    case: &Case,
    slo: Option<Slo>,
    budget: Duration,
    seed: u64,
) -> Result<Option<Ended>> {
    let mut place = Simulated::new(case.app.clone(), seed);
    let mut runner = Runner::new(&mut place, 0);
    let mut search = Search::new(plan(case, slo.clone(), budget, seed));
    let goals = slo.map(Goals::one).unwrap_or_default();
    let (mut trials, mut course): (Vec<TrialSummary>, _) = (Vec::new(), Vec::new());
    while let Ask::Trial(request) = search.ask() {
        let id = trials.len() as u32 + 1;
        let goals = goals.with_common(search.slo());
        let (purpose, unloaded_s) = (request.purpose, search.unloaded_s());
        let context = Context { id, purpose, unloaded_s, ..context(&goals, case.app.cores) };
        let measured = measure(&mut runner, &request, seed, context, &mut |_| {})?;
        let ended_s = runner.elapsed().as_secs_f64();
        search.tell(match measured {
            Measured::BootFailed(failure) => Told::BootFailed {
                configuration: request.configuration,
                reason: failure.message,
                ended_s,
            },
            Measured::Trial(summary, _) => {
                trials.push(*summary.clone());
                Told::Trial(summary)
            }
        });
        course.extend(search.answer().choice.map(|it| (ended_s, it.capacity.configuration)));
    }
    runner.finish()?;
    if std::env::var_os("TRACE").is_some() {
        trials.iter().for_each(trace);
        search.predictions().iter().for_each(expected);
    }
    let last = case.grid.last();
    let Some(slo) = search.slo().cloned() else { return Ok(None) };
    Ok(Some(Ended {
        answer: search.answer(),
        slo,
        trials: trials.len(),
        load_s: trials.iter().map(|trial| trial.load_s).sum(),
        elapsed_s: runner.elapsed().as_secs_f64(),
        course,
        last_by_current: last.and_then(|last| search.compared(*last, case.app.current)),
    }))
}

/// A line for one trial: to see what a session did, with `TRACE=1 SESSIONS=1 SEED=...`.
pub fn trace(trial: &TrialSummary) {
    println!(
        "{:6.1} s start {:2} {:7} {:9} {:28} {:9} {:6.1} rps resolution {:.3} {}",
        trial.ended_s,
        trial.start,
        trial.configuration.to_string(),
        format!("{:?}", trial.purpose),
        trial.offered.rate().map_or(String::new(), |rate| format!("{:.1}/s", rate.as_per_second())),
        format!("{:?}", trial.verdict),
        trial.summary.throughput_rps,
        trial.resolution,
        Language::DATA.say(&trial.reason)
    );
}

/// What the search expected of one setting at its end.
fn expected(prediction: &Prediction) {
    println!(
        "expected {} x {}: {:.1} rps, {:?} {}",
        prediction.workers,
        prediction.threads,
        prediction.capacity_rps,
        prediction.limit.kind,
        Language::DATA.say_or_empty(prediction.ruled_out.as_ref())
    );
}
