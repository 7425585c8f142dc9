//! One whole search on the simulated place, and what became of it beside the truth.

use std::time::Duration;

use sweetspot::place::simulated::Simulated;
use sweetspot::report::Language;
use sweetspot::search::{Answer, SearchPlan};
use sweetspot::stats::Estimate;
use sweetspot::terms::{Bytes, Configuration, Prediction, Slo};

use super::apps::Case;
use crate::common::Result;
use crate::common::played::{self, play};

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
        slo,
        cores: case.app.cores,
        memory: Some(Bytes(case.app.memory.limit_bytes)),
        ..played::plan(case.grid.clone(), case.app.current, budget, seed)
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
    let mut course = Vec::new();
    let played = play(vec![&mut place], plan(case, slo, budget, seed), &mut |search, ended_s| {
        course.extend(search.answer().choice.map(|it| (ended_s, it.capacity.configuration)));
    })?;
    let search = &played.search;
    if std::env::var_os("TRACE").is_some() {
        search.predictions().iter().for_each(expected);
    }
    let last = case.grid.last();
    let Some(slo) = search.slo().cloned() else { return Ok(None) };
    Ok(Some(Ended {
        answer: search.answer(),
        slo,
        trials: played.trials.len(),
        load_s: played.load_s(),
        elapsed_s: played.elapsed_s,
        course,
        last_by_current: last.and_then(|last| search.compared(*last, case.app.current)),
    }))
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
