//! One trial on a place, and what it says.

use sweetspot::report::Language;
use sweetspot::summary::trial::{Context, summarise};
use sweetspot::terms::{Goals, TrialPurpose, TrialSummary};
use sweetspot::trial::{Order, Outcome, Runner};

/// Runs a trial whose server has `cores`, and sums it up; `goals`: by which it is judged.
pub fn run(
    runner: &mut Runner<'_>,
    order: &Order,
    purpose: TrialPurpose,
    cores: f64,
    goals: &Goals,
) -> crate::Result<TrialSummary> {
    let record = match runner.run(order, &mut |_| {})? {
        Outcome::BootFailed(failure) => return Err(Language::DATA.say(&failure.message).into()),
        Outcome::Recorded(record) => record,
    };
    let context = Context {
        id: 1,
        purpose,
        goals,
        cores,
        unloaded_s: None,
        has_proxy: false,
        has_threads: true,
        ended_s: runner.elapsed().as_secs_f64(),
    };
    Ok(summarise(&record, &context))
}
