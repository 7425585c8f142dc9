//! What makes predictions doubtful, in English.

use crate::report::figures;
use crate::terms::{MissingTrial, PredictionDoubt, QuantumOwner};

pub(super) fn message(doubt: &PredictionDoubt) -> String {
    match doubt {
        PredictionDoubt::FewTrials { saturated_settings, .. } => format!(
            "the model is fitted to {}",
            figures::count(
                u64::from(*saturated_settings),
                "saturated setting",
                "saturated settings"
            )
        ),
        PredictionDoubt::SeveralGoals { goals, quantile_ratio, limit_s } => format!(
            "the session has several goals ({goals}); predictions are for all its requests \
             together, within p{} < {}: what they take alone, and as long a wait as the goal \
             that is missed first leaves",
            figures::percentile(*quantile_ratio),
            figures::latency(*limit_s)
        ),
        PredictionDoubt::ContradictoryTrials { setting, times } => {
            format!("{setting} gave {times:.1} times as much in one trial as in another")
        }
        PredictionDoubt::NotSteady { change_ratio } => format!(
            "the server got through {:.0} % {} at the session's end than at its beginning, in \
             relation to its settings",
            change_ratio.abs() * 100.0,
            if *change_ratio < 0.0 { "less" } else { "more" }
        ),
        PredictionDoubt::UnknownServer { server, curve } => {
            let how = match curve {
                Some(curve) => format!(
                    "throughput follows a universal scalability curve through what was measured \
                     (contention {:.3}, coherency {:.4}, misfit {:.0} %)",
                    curve.contention,
                    curve.coherency,
                    curve.misfit_ratio * 100.0
                ),
                None => "it is taken for one whose threads take a request each".into(),
            };
            format!("how {server} works is not known: {how}")
        }
        PredictionDoubt::NoQuantum { of } => {
            let whose = match of {
                QuantumOwner::EventLoop => "a worker that is an event loop",
                QuantumOwner::UnknownRuntime => "a runtime that is not known",
                QuantumOwner::Runtime(runtime) => runtime,
            };
            format!("{whose} has no setting for how long a thread keeps the lock")
        }
        PredictionDoubt::PoorFit { misfit_ratio } => {
            format!("the model misses what was measured by {:.0} %", misfit_ratio * 100.0)
        }
        PredictionDoubt::Extrapolation {
            workers,
            threads,
            cores,
            asked_workers,
            asked_threads,
            asked_cores,
        } => format!(
            "measured was {} with {} on {cores} cores; {asked_workers} x {asked_threads} on \
             {asked_cores} cores lies far outside",
            range(*workers, "worker", "workers"),
            range(*threads, "thread", "threads"),
        ),
        PredictionDoubt::GeneratorIncluded { cores_ratio } => format!(
            "the load generator took {:.0} % of the cores when this was measured, and does so in \
             the predictions",
            cores_ratio * 100.0
        ),
    }
}

/// `1 worker`, `1 to 4 workers`.
fn range([least, most]: [u16; 2], one: &str, many: &str) -> String {
    let most_of_them = figures::count(u64::from(most), one, many);
    if least == most { most_of_them } else { format!("{least} to {most_of_them}") }
}

pub(super) fn advice(doubt: &PredictionDoubt) -> String {
    let advice = match doubt {
        PredictionDoubt::FewTrials { missing, .. } => {
            let missing = match missing {
                MissingTrial::OneClientAlone => "one client alone".into(),
                MissingTrial::SaturatedWorkers(workers) => {
                    let workers = figures::count(u64::from(*workers), "worker", "workers");
                    format!("{workers} under all it can take")
                }
                MissingTrial::SaturatedSetting(setting) => {
                    format!("{setting} under all it can take")
                }
            };
            return format!(
                "a trial of {missing} would tell most: let 'tune' run longer, or over more"
            );
        }
        PredictionDoubt::SeveralGoals { .. } => {
            "other cores and settings change how long requests wait, which all goals have in \
             common; where one target needs other resources than the rest, measure it there"
        }
        PredictionDoubt::ContradictoryTrials { .. } => {
            "something else changed between them; the fit lies in between"
        }
        PredictionDoubt::NotSteady { .. } => {
            "a cache that fills, a leak, or a machine that slows down: the predictions are for \
             neither end"
        }
        PredictionDoubt::UnknownServer { curve: Some(_), .. } => {
            "it says nothing about latency or why; beyond what was measured it is a guess"
        }
        PredictionDoubt::UnknownServer { curve: None, .. } => {
            "a curve of its own needs three or more numbers of workers in a session, and is \
             followed where nothing but cores, workers and threads is asked about"
        }
        PredictionDoubt::NoQuantum { .. } => {
            "RUBY_THREAD_TIMESLICE is there from Ruby 3.4 on, sys.setswitchinterval in Python"
        }
        PredictionDoubt::PoorFit { .. } => {
            "waits that grow with concurrency (a database at its limit), a lock of the app's own, \
             a connection pool smaller than the threads: believe the measured settings"
        }
        PredictionDoubt::Extrapolation { .. } => {
            "the intervals are wide for that, and the model was never checked there: measure \
             before you rely on it"
        }
        PredictionDoubt::GeneratorIncluded { .. } => {
            "--without-generator leaves it out, as where the load comes from elsewhere"
        }
    };
    advice.into()
}
