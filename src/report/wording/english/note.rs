//! What is to be said of an answer, in English.

use super::super::labels::ENGLISH;
use super::{English, Phrases, obstacle, reason};
use crate::report::Language;
use crate::report::figures::{
    fine_percent, half_width, latency, rate, ratio, ratio_interval, size_of_change,
};
use crate::report::wording::Counted;
use crate::terms::{
    ConnectionMode, KnobsNote, MissingFigure, ObjectiveNote, OtherConnections, PlanNote,
    PrecisionNote, RecheckNote, SearchNote, SteadinessNote,
};

pub fn of_search(note: &SearchNote) -> String {
    match note {
        SearchNote::AloneNotMeasured { why } => {
            format!("one client alone could not be measured: {}", Language::English.say(why))
        }
        SearchNote::GoalsOutOfReach { goals, latency_s_p95, why } => format!(
            "nothing can meet {goals}: one client alone sees p95 {:.0} ms ({})",
            latency_s_p95 * 1e3,
            Language::English.say(why)
        ),
        SearchNote::UntriedMayAnswerBetter { configuration } => format!(
            "the budget ended the race before {configuration} was tried, which may answer better; \
             more minutes would try more"
        ),
        SearchNote::UntriedMayHoldMore { configuration, expected_ratio } => {
            let hope = expected_ratio.map_or(String::new(), |ratio| {
                format!(", of which {} more is expected", size_of_change(ratio))
            });
            format!(
                "the budget ended the race before {configuration} was tried{hope}: what is chosen \
                 may not be the best; more minutes would try more"
            )
        }
        SearchNote::NoTimeToConfirm => {
            "no time was left to measure the choice again; the figures are the race's own".into()
        }
        SearchNote::NotHeldAtEnd => {
            "the printed rate was not tried for long: it is the lower end of what shorter trials \
             point to; a longer --budget has a fresh start hold it for half a minute or more"
                .into()
        }
        SearchNote::OtherConnections(seen) => over_others(seen),
        SearchNote::NothingHeldAtEnd { rate_rps } => format!(
            "no rate was held to the end: fresh starts missed each that was tried, last {}; the \
             printed one is what all trials together point to",
            rate(*rate_rps)
        ),
        SearchNote::ColdAtFirst { requests, warm_rps } => cold_at_first(*requests, *warm_rps),
        SearchNote::ErrorsAtAnyRate { failed, requests, allowed_ratio } => format!(
            "{}, {}, and {} may: the load is not the reason, and no rate meets that part of the \
             goal; look into these errors, or allow for them with --slo",
            failed_within_latency(*failed, *requests),
            fine_percent(*failed as f64 / *requests as f64),
            fine_percent(*allowed_ratio)
        ),
        SearchNote::ErrorsUntold { failed, requests, allowed_ratio } => format!(
            "{}, {}, and {} may: whether fewer fail at a lower rate was not found out; give it \
             more minutes, or look into these errors",
            failed_within_latency(*failed, *requests),
            fine_percent(*failed as f64 / *requests as f64),
            fine_percent(*allowed_ratio)
        ),
        SearchNote::ErrorsNotCertified { failed, requests, allowed_ratio, requests_needed } => {
            errors_not_certified(*failed, *requests, *allowed_ratio, *requests_needed)
        }
        SearchNote::ChoiceNotMeasuredAgain { configuration, why } => {
            let one = configuration.map_or("the choice".to_string(), |it| it.to_string());
            let why = Language::English.say(why);
            format!("{one} could not be measured again, its figures are those from before: {why}")
        }
        SearchNote::NoRateHeld { configuration } => format!(
            "{configuration} held none of the rates that were tried: its capacity is what its \
             misses point to, and may be less; more minutes would try lower rates"
        ),
        SearchNote::CurrentNotTriedAtRate { configuration } => format!(
            "what {configuration} holds, which runs today, is worked out from what it got through \
             when saturated; it was not tried at a rate"
        ),
    }
}

fn over_others(of: &OtherConnections) -> String {
    let (connection, rate) = (of.connection, rate(of.rate_rps));
    let seen = format!("p95 {}, {:.0} s", latency(of.latency_s_p95), of.duration_s);
    let way = match connection {
        ConnectionMode::KeepAlive => "over connections that are kept, as most proxies keep theirs",
        ConnectionMode::Fresh => "over a connection for each request",
    };
    match of.is_held {
        true => format!("{way}, the same setting holds {rate} as well ({seen})"),
        false => format!(
            "{way}, the same setting missed {rate} ({seen}): if requests reach the app that way, \
             tune with --connection {connection}"
        ),
    }
}

fn cold_at_first(requests: u64, warm_rps: Option<f64>) -> String {
    match warm_rps {
        None => format!(
            "a fresh start is slower until each worker has answered about {requests} requests: \
             what is printed holds once servers are warm, so let a new one warm up before it gets \
             its whole load"
        ),
        Some(warm_rps) => format!(
            "a fresh start is slower until each worker has answered about {requests} requests: \
             what is printed was held by a cold one, and a warm one holds about {}; the other \
             figures are of warm ones",
            rate(warm_rps)
        ),
    }
}

fn failed_within_latency(failed: u64, requests: u64) -> String {
    format!("{failed} of {requests} requests failed while latencies were within the goal")
}

fn errors_not_certified(failed: u64, requests: u64, allowed: f64, requests_needed: u64) -> String {
    let allowed = fine_percent(allowed);
    if failed == 0 {
        return format!(
            "none of {requests} requests failed, which is too few to be sure that under {allowed} \
             do ({requests_needed} are enough): that part of the goal is left out"
        );
    }
    format!(
        "{}, {}, which shows neither that under {allowed} do nor that more do: that part of the \
         goal is left out",
        failed_within_latency(failed, requests),
        fine_percent(failed as f64 / requests as f64)
    )
}

pub fn of_precision(note: &PrecisionNote) -> String {
    match *note {
        PrecisionNote::OneStart { budget_s } => format!(
            "the capacity rests on one start; a budget of {} measures the choice again on fresh \
             ones",
            minutes(budget_s)
        ),
        PrecisionNote::Improvable { reached_ratio, asked_ratio, more_s } => {
            improvable(reached_ratio, asked_ratio, more_s)
        }
        PrecisionNote::TooVague { reached_ratio, asked_ratio, more_s } => format!(
            "{}; settings this close are not told apart, so this may not be the best",
            improvable(reached_ratio, asked_ratio, more_s)
        ),
    }
}

fn improvable(reached_ratio: f64, asked_ratio: f64, more_s: f64) -> String {
    format!(
        "fresh starts of this session tell the capacity to {}; {} takes about {} more",
        half_width(reached_ratio),
        half_width(asked_ratio),
        minutes(more_s)
    )
}

/// Whole minutes, as people plan them.
fn minutes(seconds: f64) -> String {
    match (seconds / 60.0).ceil() {
        ..=1.0 => "a minute".to_string(),
        minutes if minutes < 120.0 => format!("{minutes:.0} minutes"),
        minutes => format!("{} hours", (minutes / 6.0).round() / 10.0),
    }
}

pub fn of_steadiness(note: &SteadinessNote) -> String {
    match *note {
        SteadinessNote::SlowsDown { cpu_ratio_per_minute } => format!(
            "the server is not steady, it gets slower the longer it runs: with every minute of a \
             start a request takes {} more CPU; capacities are those of servers that have just \
             started, and will not last",
            size_of_change(cpu_ratio_per_minute)
        ),
        SteadinessNote::StillWarmsUp { cpu_ratio_per_minute } => format!(
            "the server is not steady, it still warms up while it is measured: with every minute \
             of a start a request takes {} less CPU; once it is warm it may hold more",
            size_of_change(cpu_ratio_per_minute)
        ),
        SteadinessNote::ChangedOverSession { cpu_ratio } => format!(
            "the machine or the app was not steady: a request of one setting took {} {} CPU at \
             the end of the session than at its beginning, whatever start it was; capacities are \
             those of these minutes",
            size_of_change(cpu_ratio),
            if cpu_ratio > 1.0 { "more" } else { "less" }
        ),
    }
}

pub fn of_objective(note: &ObjectiveNote) -> String {
    match note {
        ObjectiveNote::NothingHoldsRate {
            rate,
            configuration,
            capacity_rps: most,
            capacity_rps_interval: [low, high],
        } => format!(
            "no setting that was measured holds {rate}: the most is {most:.1}/s ({low:.1} to \
             {high:.1}) with {configuration}; 'sweetspot predict last --cpus 4,8,16' tells which \
             machine would, with --fleet {rate} how many of them"
        ),
        ObjectiveNote::RateNotCertain {
            rate,
            configuration,
            capacity_rps_interval: [low, high],
        } => format!(
            "no setting is certain to hold {rate}; {configuration} is the likeliest to ({low:.1} \
             to {high:.1}/s); a larger --budget tells more"
        ),
        ObjectiveNote::RateHeldInRaceOnly { rate, configuration } => format!(
            "that {configuration} holds {rate} is what the search saw of it; it was not measured \
             again on fresh starts"
        ),
        ObjectiveNote::HighestCapacityInstead { missing } => {
            let why = match missing {
                MissingFigure::Memory => "no memory could be read",
                MissingFigure::LatencyAtRate => "there was no time to measure latency at the rate",
                MissingFigure::MemoryOrCpu => "memory or CPU could not be read",
            };
            format!("{why}, so that the highest capacity was chosen")
        }
    }
}

pub fn of_plan(note: &PlanNote) -> String {
    let edge = |chosen: u16, what: &str| {
        format!(
            "{chosen} {what} are the most that were tried; more may hold more: try --{what} \
             {chosen}..{}",
            u32::from(chosen) * 2
        )
    };
    match note {
        PlanNote::MostWorkersChosen { workers } => edge(workers.get(), "workers"),
        PlanNote::MostThreadsChosen { threads } => edge(threads.get(), "threads"),
        PlanNote::TooFewRequests {
            slo,
            target,
            is_of_all,
            requests,
            trial_s,
            rate_rps,
            needed,
            needed_s,
        } => {
            let others = if *is_of_all { ENGLISH.all_targets } else { ENGLISH.other_targets };
            let target = target.as_deref().unwrap_or(others);
            let requests = English.count(*requests, Counted::Requests);
            let longer = needed_s.map_or(String::new(), |needed_s| {
                format!(", which takes {needed_s:.0} s at this rate")
            });
            format!(
                "{slo} of {target} is not certain: {requests} came to it in {trial_s:.0} s at \
                 {rate_rps:.1}/s, and {needed} are needed even if none misses it{longer}; a larger \
                 --budget makes longer trials, a larger weight more requests"
            )
        }
    }
}

pub fn of_knobs(note: &KnobsNote) -> String {
    match note {
        KnobsNote::KnobsNotCompared { why } => {
            format!("the knobs could not be compared to their end: {}", obstacle::sentence(why))
        }
        KnobsNote::OtherThreadsBetter {
            changes,
            chosen,
            better,
            capacity_ratio,
            capacity_ratio_interval,
        } => format!(
            "with {} another number of threads is better: {better} holds {} times ({}) what \
             {chosen} does with it, and the settings are for {better}",
            English.all_of(changes),
            ratio(*capacity_ratio),
            ratio_interval(*capacity_ratio_interval)
        ),
        KnobsNote::OtherThreadsNotTried { changes, chosen } => format!(
            "{} was tried at {chosen} alone: no time was left to see whether other threads are \
             better with it",
            English.all_of(changes)
        ),
        KnobsNote::NotTriedTogether { changes } => format!(
            "several changes help, and what they do together was not measured: {} alone is \
             recommended, a longer --budget tries them together",
            English.all_of(changes)
        ),
    }
}

pub fn of_recheck(note: &RecheckNote) -> String {
    match note {
        RecheckNote::SettingLeftOut { setting, why } => {
            format!("{setting}: {}", reason::of_setting(why))
        }
        RecheckNote::BudgetTooSmall => {
            "more time is needed to measure anything: try --budget 5m".into()
        }
        RecheckNote::BudgetNeeded { budget_s } => {
            let minutes = budget_s / 60.0;
            format!("about {minutes:.0} minutes would decide: --budget {minutes:.0}m")
        }
        RecheckNote::TooNearToDecide => {
            "it lies so near the limit that no time spent on verifying would decide; tune again"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_as_people_plan_it() {
        let said = [20.0, 61.0, 1500.0, 9000.0].map(minutes);
        assert_eq!(said, ["a minute", "2 minutes", "25 minutes", "2.5 hours"]);
    }

    #[test]
    fn a_change_over_the_session_is_more_or_less() {
        for (cpu_ratio, said) in [(1.22, "took 22 % more CPU"), (0.82, "took 18 % less CPU")] {
            let note = of_steadiness(&SteadinessNote::ChangedOverSession { cpu_ratio });
            assert!(note.contains(said), "{note}");
        }
    }
}
