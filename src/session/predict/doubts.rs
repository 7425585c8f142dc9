//! What makes predictions doubtful: too little was measured, or it contradicts itself, or what is
//! asked lies far from it.
//!
//! In: a session, the fit, and what was asked. Out: warnings.

use std::collections::BTreeMap;

use super::{Question, has_several_goals, is_saturated, runtime};
use crate::model::{Form, Measured};
use crate::report::{Story, figures};
use crate::stats::slope;
use crate::terms::{Configuration, PredictedSetting, TrialPurpose, TrialSummary, Warning};

/// Fewer saturated settings than this leave much to the priors.
const FEW: usize = 3;
/// The same setting's throughput differs by more than this from one time to the next.
const CONTRADICTS: f64 = 1.3;
/// The formulas miss what was measured by more than this.
const POOR_FIT: f64 = 0.25;
/// Throughput, in relation to what was fitted, changed by more than this over the session.
const DRIFTS: f64 = 0.10;
/// Twice as much as was measured, or half.
const FAR: f64 = 0.7;

pub(super) fn warnings(
    story: &Story,
    known: &Measured,
    question: &Question,
    predicted: &[PredictedSetting],
) -> Vec<Warning> {
    let saturated: Vec<&TrialSummary> =
        story.trials.iter().filter(|trial| is_saturated(trial)).collect();
    let drift = drift(known, &saturated);
    [
        too_few(story, known, &saturated),
        // What changed in the course of the session explains trials that contradict each other.
        drift.or_else(|| contradiction(&saturated)),
        poor_fit(known),
        unknown_server(story, known),
        several_goals(story, known, question),
        no_quantum(story, known, question),
        far_away(known, predicted),
        generator(known, question),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn too_few(story: &Story, known: &Measured, saturated: &[&TrialSummary]) -> Option<Warning> {
    let mut settings: Vec<Configuration> = saturated.iter().map(|it| it.configuration).collect();
    settings.sort_unstable();
    settings.dedup();
    let is_alone_missing = story.trials.iter().all(|it| it.purpose != TrialPurpose::Unloaded);
    let missing = match (settings.len(), is_alone_missing) {
        (_, true) => "one client alone".to_string(),
        (count, false) if count < FEW => {
            let [_, workers] = known.workers;
            let other = match known.form {
                Form::EventLoop => figures::count(u64::from(workers) * 2, "worker", "workers"),
                _ if known.threads[1] > 1 => format!("{workers} x 1"),
                _ => format!("{workers} x 5"),
            };
            format!("{other} under all it can take")
        }
        _ => return None,
    };
    Some(Warning::new(
        "few_trials",
        format!(
            "the model is fitted to {}",
            figures::count(settings.len() as u64, "saturated setting", "saturated settings")
        ),
        format!("a trial of {missing} would tell most: let 'tune' run longer, or over more"),
    ))
}

/// The formulas know one kind of request and one goal.
fn several_goals(story: &Story, known: &Measured, question: &Question) -> Option<Warning> {
    let goal = known.goal.filter(|_| question.slo.is_none() && has_several_goals(story))?;
    let (percent, limit) = (goal.quantile.get() * 100.0, goal.limit.as_secs_f64());
    Some(Warning::new(
        "several_goals",
        format!(
            "the session has several goals ({}); predictions are for all its requests together, \
             within p{percent:.0} < {}: what they take alone, and as long a wait as the goal that \
             is missed first leaves",
            story.slo,
            figures::latency(limit)
        ),
        "other cores and settings change how long requests wait, which all goals have in common; \
         where one target needs other resources than the rest, measure it there",
    ))
}

fn contradiction(saturated: &[&TrialSummary]) -> Option<Warning> {
    let mut by_setting: BTreeMap<Configuration, Vec<f64>> = BTreeMap::new();
    for trial in saturated {
        by_setting.entry(trial.configuration).or_default().push(trial.summary.got_through_rps());
    }
    let spread = |rates: &Vec<f64>| {
        let most = rates.iter().copied().fold(0.0, f64::max);
        most / rates.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let widest = by_setting
        .iter()
        .map(|(at, rates)| (at, spread(rates)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    (widest.1 > CONTRADICTS).then(|| {
        Warning::new(
            "contradictory_trials",
            format!("{} gave {:.1} times as much in one trial as in another", widest.0, widest.1),
            "something else changed between them; the fit lies in between",
        )
    })
}

/// A server, or a machine, that slows down with time.
fn drift(known: &Measured, saturated: &[&TrialSummary]) -> Option<Warning> {
    let logs: Vec<f64> = known.fit.residuals.iter().map(|(_, ratio)| ratio.ln()).collect();
    let found = slope(&logs).filter(|_| logs.len() == saturated.len())?;
    let steps = (logs.len() - 1) as f64;
    let whole = (found.per_step * steps).exp_m1();
    let is_sure = found.high < 0.0 || found.low > 0.0;
    (is_sure && whole.abs() > DRIFTS).then(|| {
        let direction = if whole < 0.0 { "less" } else { "more" };
        Warning::new(
            "not_steady",
            format!(
                "the server got through {:.0} % {direction} at the session's end than at its \
                 beginning, in relation to its settings",
                whole.abs() * 100.0
            ),
            "a cache that fills, a leak, or a machine that slows down: the predictions are for \
             neither end",
        )
    })
}

/// A server that no adapter knows, by its own curve or by what a server with threads would do.
fn unknown_server(story: &Story, known: &Measured) -> Option<Warning> {
    let Form::Unknown(curve) = &known.form else { return None };
    let (how, advice) = match curve {
        Some(curve) => (
            format!(
                "throughput follows a universal scalability curve through what was measured \
                 (contention {:.3}, coherency {:.4}, misfit {:.0} %)",
                curve.contention,
                curve.coherency,
                curve.misfit * 100.0
            ),
            "it says nothing about latency or why; beyond what was measured it is a guess",
        ),
        None => (
            "it is taken for one whose threads take a request each".to_string(),
            "with three or more numbers of workers in a session a curve of its own is fitted",
        ),
    };
    let server = story.server.as_str();
    Some(Warning::new("unknown_server", format!("how {server} works is not known: {how}"), advice))
}

/// The runtime has no setting for what is asked.
fn no_quantum(story: &Story, known: &Measured, question: &Question) -> Option<Warning> {
    question.quantum?;
    let runtime = runtime::words(story);
    let has_setting = match runtime::named(runtime) {
        _ if known.form == Form::EventLoop => false,
        ("ruby", version) => version >= (3, 4),
        (name, _) => name == "Python",
    };
    let whose = match runtime {
        _ if known.form == Form::EventLoop => "a worker that is an event loop",
        "" => "a runtime that is not known",
        known => known,
    };
    (!has_setting).then(|| {
        Warning::new(
            "no_quantum",
            format!("{whose} has no setting for how long a thread keeps the lock"),
            "RUBY_THREAD_TIMESLICE is there from Ruby 3.4 on, sys.setswitchinterval in Python",
        )
    })
}

fn poor_fit(known: &Measured) -> Option<Warning> {
    (known.fit.misfit > POOR_FIT).then(|| {
        Warning::new(
            "poor_fit",
            format!("the model misses what was measured by {:.0} %", known.fit.misfit * 100.0),
            "waits that grow with concurrency (a database at its limit), a lock of the app's own, \
             a connection pool smaller than the threads: believe the measured settings",
        )
    })
}

fn far_away(known: &Measured, predicted: &[PredictedSetting]) -> Option<Warning> {
    let farthest = predicted.iter().max_by(|a, b| a.distance.total_cmp(&b.distance))?;
    (farthest.distance > FAR).then(|| {
        Warning::new(
            "extrapolation",
            format!(
                "measured was {} with {} on {} cores; {} x {} on {} cores lies far outside",
                range(known.workers, "worker", "workers"),
                range(known.threads, "thread", "threads"),
                known.cores,
                farthest.workers,
                farthest.threads,
                farthest.cores
            ),
            "the intervals are wide for that, and the model was never checked there: measure \
             before you rely on it",
        )
    })
}

/// `1 worker`, `1 to 4 workers`.
fn range([least, most]: [u16; 2], one: &str, many: &str) -> String {
    let most_of_them = figures::count(u64::from(most), one, many);
    if least == most { most_of_them } else { format!("{least} to {most_of_them}") }
}

fn generator(known: &Measured, question: &Question) -> Option<Warning> {
    let generator_s = known.fit.demand.generator_s;
    let share = generator_s / (generator_s + known.fit.demand.server_cpu_s());
    (share > 0.02 && !question.without_generator).then(|| {
        Warning::new(
            "generator_included",
            format!(
                "the load generator took {:.0} % of the cores when this was measured, and does \
                 so in the predictions",
                share * 100.0
            ),
            "--without-generator leaves it out, as where the load comes from elsewhere",
        )
    })
}
