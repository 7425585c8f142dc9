//! What makes predictions doubtful: too little was measured, or it contradicts itself, or what is
//! asked lies far from it.
//!
//! In: a session, the fit, and what was asked. Out: warnings.

use std::collections::BTreeMap;

use super::known::{has_several_goals, is_saturated};
use super::question::Question;
use super::runtime;
use crate::model::{Form, Measured};
use crate::report::Story;
use crate::stats::slope;
use crate::terms::{
    Configuration, MissingTrial, PredictedSetting, PredictionDoubt, QuantumOwner, ScalabilityCurve,
    TrialPurpose, TrialSummary, Warning,
};

/// Fewer saturated settings than this leave much to the priors.
const FEW: usize = 3;
/// One setting's throughput differs by more than this from one time to the next.
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
    .map(Warning::from)
    .collect()
}

fn too_few(
    story: &Story,
    known: &Measured,
    saturated: &[&TrialSummary],
) -> Option<PredictionDoubt> {
    let mut settings: Vec<Configuration> = saturated.iter().map(|it| it.configuration).collect();
    settings.sort_unstable();
    settings.dedup();
    let is_alone_missing = story.trials.iter().all(|it| it.purpose != TrialPurpose::Unloaded);
    let missing = match (settings.len(), is_alone_missing) {
        (_, true) => MissingTrial::OneClientAlone,
        (count, false) if count < FEW => {
            let ([_, workers], [_, threads]) = (known.workers, known.threads);
            match known.form {
                Form::EventLoop => MissingTrial::SaturatedWorkers(u32::from(workers) * 2),
                _ => {
                    let threads = if threads > 1 { 1 } else { 5 };
                    MissingTrial::SaturatedSetting(Configuration::new(workers, threads).ok()?)
                }
            }
        }
        _ => return None,
    };
    let saturated_settings = settings.len() as u32;
    Some(PredictionDoubt::FewTrials { saturated_settings, missing })
}

/// The formulas know one kind of request and one goal.
fn several_goals(story: &Story, known: &Measured, question: &Question) -> Option<PredictionDoubt> {
    let goal = known.goal.filter(|_| question.slo.is_none() && has_several_goals(story))?;
    Some(PredictionDoubt::SeveralGoals {
        goals: story.goals.clone(),
        quantile_ratio: goal.quantile.get(),
        limit_s: goal.limit.as_secs_f64(),
    })
}

fn contradiction(saturated: &[&TrialSummary]) -> Option<PredictionDoubt> {
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
    let (&setting, times) = widest;
    (times > CONTRADICTS).then_some(PredictionDoubt::ContradictoryTrials { setting, times })
}

/// A server, or a machine, that slows down with time.
fn drift(known: &Measured, saturated: &[&TrialSummary]) -> Option<PredictionDoubt> {
    let logs: Vec<f64> = known.fit.residuals.iter().map(|(_, ratio)| ratio.ln()).collect();
    let found = slope(&logs).filter(|_| logs.len() == saturated.len())?;
    let steps = (logs.len() - 1) as f64;
    let whole = (found.per_step * steps).exp_m1();
    let is_sure = found.high < 0.0 || found.low > 0.0;
    (is_sure && whole.abs() > DRIFTS).then_some(PredictionDoubt::NotSteady { change_ratio: whole })
}

/// A server that no adapter knows, by its own curve or by what a server with threads would do.
fn unknown_server(story: &Story, known: &Measured) -> Option<PredictionDoubt> {
    let Form::Unknown(curve) = &known.form else { return None };
    let curve = curve.map(|it| ScalabilityCurve {
        contention: it.contention,
        coherency: it.coherency,
        misfit_ratio: it.misfit,
    });
    Some(PredictionDoubt::UnknownServer { server: story.server.clone(), curve })
}

/// The runtime has no setting for what is asked.
fn no_quantum(story: &Story, known: &Measured, question: &Question) -> Option<PredictionDoubt> {
    question.quantum?;
    let runtime = story.runtime().unwrap_or_default();
    let has_setting = match runtime::named(&runtime) {
        _ if known.form == Form::EventLoop => false,
        ("ruby", version) => version >= (3, 4),
        (name, _) => name == "Python",
    };
    let of = match runtime.as_str() {
        _ if known.form == Form::EventLoop => QuantumOwner::EventLoop,
        "" => QuantumOwner::UnknownRuntime,
        known => QuantumOwner::Runtime(known.to_string()),
    };
    (!has_setting).then_some(PredictionDoubt::NoQuantum { of })
}

fn poor_fit(known: &Measured) -> Option<PredictionDoubt> {
    let misfit_ratio = known.fit.misfit;
    (misfit_ratio > POOR_FIT).then_some(PredictionDoubt::PoorFit { misfit_ratio })
}

fn far_away(known: &Measured, predicted: &[PredictedSetting]) -> Option<PredictionDoubt> {
    let farthest = predicted.iter().max_by(|a, b| a.distance.total_cmp(&b.distance))?;
    (farthest.distance > FAR).then_some(PredictionDoubt::Extrapolation {
        workers: known.workers,
        threads: known.threads,
        cores: known.cores,
        asked_workers: farthest.workers,
        asked_threads: farthest.threads,
        asked_cores: farthest.cores,
    })
}

fn generator(known: &Measured, question: &Question) -> Option<PredictionDoubt> {
    let generator_s = known.fit.demand.generator_s;
    let cores_ratio = generator_s / (generator_s + known.fit.demand.server_cpu_s());
    (cores_ratio > 0.02 && !question.without_generator)
        .then_some(PredictionDoubt::GeneratorIncluded { cores_ratio })
}
