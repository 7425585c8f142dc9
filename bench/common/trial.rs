//! One trial on a place, and what it says.

use sweetspot::report::Language;
use sweetspot::summary::trial::{Context, summarise};
use sweetspot::terms::{Goals, TrialPurpose, TrialSummary};
use sweetspot::trial::{Order, Outcome, Runner};

use super::Result;

/// What a first trial is summed up by, whose server has `cores`.
pub fn context(goals: &Goals, cores: f64) -> Context<'_> {
    Context {
        id: 1,
        purpose: TrialPurpose::Unloaded,
        goals,
        cores,
        unloaded_s: None,
        has_proxy: false,
        has_threads: true,
        ended_s: 0.0,
    }
}

/// Runs a trial whose server has `cores`, and sums it up; `goals`: by which it is judged.
pub fn run(
    runner: &mut Runner<'_>,
    order: &Order,
    purpose: TrialPurpose,
    cores: f64,
    goals: &Goals,
) -> Result<TrialSummary> {
    let record = match runner.run(order, &mut |_| {})? {
        Outcome::BootFailed(failure) => return Err(Language::DATA.say(&failure.message).into()),
        Outcome::Recorded(record) => record,
    };
    let ended_s = runner.elapsed().as_secs_f64();
    Ok(summarise(&record, &Context { purpose, ended_s, ..context(goals, cores) }))
}
