//! One trial on a place, and what it says.

use std::time::Duration;

use sweetspot::place::Offer;
use sweetspot::report::Language;
use sweetspot::summary::trial::{Context, summarise};
use sweetspot::terms::{Configuration, Goals, Offered, TrialPurpose, TrialSummary, Variant};
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

/// A load on the app as it is, on a start that may be there, which warms up and lasts so long, and
/// is offered to its end.
pub fn order(
    configuration: Configuration,
    offered: Offered,
    [warm_up, duration]: [Duration; 2],
    seed: u64,
) -> Order {
    let offer = Offer { offered, warm_up, duration, seed, connection: None, pods_away: 0 };
    let (variant, fresh_start, latency_limit) = (Variant::AS_IT_IS, false, None);
    Order { configuration, variant, fresh_start, offer, latency_limit }
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
