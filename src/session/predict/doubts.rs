//! What makes predictions doubtful: too little was measured, or it contradicts itself, or what is
//! asked lies far from it.
//!
//! In: a session, the fit, and what was asked. Out: warnings.

use std::collections::BTreeMap;

use super::known::{has_several_goals, is_saturated};
use super::question::Question;
use super::runtime;
use crate::model::{Form, Measured, WhatIf};
use crate::report::Story;
use crate::stats::slope;
use crate::terms::{
    Configuration, FleetNeed, FleetReport, MissingTrial, PredictedSetting, PredictionDoubt,
    QuantumOwner, ScalabilityCurve, TrialPurpose, TrialSummary, Warning,
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

/// `asked`: the question on the machine that was measured.
pub(super) fn warnings(
    story: &Story,
    known: &Measured,
    question: &Question,
    asked: &WhatIf,
    predicted: &[PredictedSetting],
    fleets: &[FleetReport],
) -> Vec<Warning> {
    let saturated: Vec<&TrialSummary> =
        story.trials.iter().filter(|trial| is_saturated(trial)).collect();
    let drift = drift(known, &saturated);
    [
        too_few(story, known, &saturated),
        // What changed in the course of the session explains trials that contradict each other.
        drift.or_else(|| contradiction(&saturated)),
        poor_fit(known),
        unknown_server(story, known, asked),
        several_goals(story, known, question),
        no_quantum(story, known, question),
        far_away(known, predicted, fleets),
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
    let has_threads = story.has_threads() && known.form != Form::EventLoop;
    let missing = match (settings.len(), is_alone_missing) {
        (_, true) => MissingTrial::OneClientAlone,
        (FEW.., false) => return None,
        _ if has_threads => MissingTrial::SaturatedSetting(untried(known, &settings)?),
        _ => MissingTrial::SaturatedWorkers(u32::from(known.workers[1]) * 2),
    };
    let saturated_settings = settings.len() as u32;
    Some(PredictionDoubt::FewTrials { saturated_settings, missing })
}

/// Of the settings that would tell most the first that is not among those `made`.
fn untried(known: &Measured, made: &[Configuration]) -> Option<Configuration> {
    let ([_, workers], [_, threads]) = (known.workers, known.threads);
    let other = if threads > 1 { 1 } else { 5 };
    let telling = [
        (workers, other),
        (workers, threads),
        (1, threads),
        // More workers than in any trial: the last resort of a session with one worker.
        (workers.saturating_mul(2), threads),
    ];
    let settings = telling.map(|(workers, threads)| Configuration::new(workers, threads).ok());
    settings.into_iter().flatten().find(|setting| !made.contains(setting))
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
    let whole = (found.value * steps).exp_m1();
    let is_sure = found.high < 0.0 || found.low > 0.0;
    (is_sure && whole.abs() > DRIFTS).then_some(PredictionDoubt::NotSteady { change_ratio: whole })
}

/// A server that no adapter knows, by its own curve or by what a server with threads would do.
fn unknown_server(story: &Story, known: &Measured, asked: &WhatIf) -> Option<PredictionDoubt> {
    let Form::Unknown(curve) = &known.form else { return None };
    let curve = curve.filter(|_| known.follows_curve(asked)).map(|it| ScalabilityCurve {
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

/// The farthest of all settings that were asked about, those of fleets among them.
fn far_away(
    known: &Measured,
    predicted: &[PredictedSetting],
    fleets: &[FleetReport],
) -> Option<PredictionDoubt> {
    let settings = predicted.iter().map(|it| (it.distance, it.workers, it.threads, it.cores));
    let of_fleet = |fleet: &FleetReport| {
        let &FleetNeed { workers, threads, .. } = fleet.fleet.as_ref()?;
        let setting = Configuration::new(workers, threads).ok()?;
        Some((known.distance(setting, fleet.cores), workers, threads, fleet.cores))
    };
    let all = settings.chain(fleets.iter().filter_map(of_fleet));
    let (distance, asked_workers, asked_threads, asked_cores) =
        all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (distance > FAR).then_some(PredictionDoubt::Extrapolation {
        workers: known.workers,
        threads: known.threads,
        cores: known.cores,
        asked_workers,
        asked_threads,
        asked_cores,
    })
}

fn generator(known: &Measured, question: &Question) -> Option<PredictionDoubt> {
    let generator_s = known.fit.demand.generator_s;
    let cores_ratio = generator_s / (generator_s + known.fit.demand.server_cpu_s());
    (cores_ratio > 0.02 && !question.without_generator)
        .then_some(PredictionDoubt::GeneratorIncluded { cores_ratio })
}

#[cfg(test)]
mod tests {
    use super::super::known::tests::{story, trial};
    use super::super::known::{goal_of, measured};
    use super::*;
    use crate::terms::{Goals, SimulatedMachine};

    /// One client alone, and these settings under all they can take; with a goal.
    fn session(server: &str, saturated: &[(u16, u16)]) -> Story {
        let alone = trial(TrialPurpose::Unloaded, saturated[0], 0.012);
        let bursts = saturated.iter().map(|&at| trial(TrialPurpose::Saturate, at, 0.012));
        let trials = std::iter::once(alone).chain(bursts).collect();
        let goals = Goals::one("p95<1s".parse().unwrap()).list();
        Story { goals, ..story(server, trials) }
    }

    fn known(story: &Story) -> Measured {
        measured(story, story.machine.as_ref().unwrap(), goal_of(story).unwrap()).unwrap()
    }

    fn missing(story: &Story) -> MissingTrial {
        let saturated: Vec<&TrialSummary> =
            story.trials.iter().filter(|trial| is_saturated(trial)).collect();
        match too_few(story, &known(story), &saturated) {
            Some(PredictionDoubt::FewTrials { missing, .. }) => missing,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_trial_that_was_made_is_not_what_would_tell_most() {
        for (made, workers, threads) in [
            (&[(4, 5)][..], 4, 1),
            (&[(4, 5), (4, 1)], 1, 5),
            (&[(2, 1), (4, 1)], 4, 5),
            (&[(1, 5), (1, 1)], 2, 5),
        ] {
            let expected = Configuration::new(workers, threads).unwrap();
            let story = session("puma 7.1.0", made);
            assert_eq!(missing(&story), MissingTrial::SaturatedSetting(expected), "{made:?}");
        }
    }

    #[test]
    fn a_server_without_threads_to_choose_is_asked_for_workers() {
        let story = Story { has_no_threads: true, ..session("unicorn 6.1.0", &[(2, 1)]) };
        assert_eq!(missing(&story), MissingTrial::SaturatedWorkers(4));
    }

    #[test]
    fn a_machine_of_a_fleet_is_as_far_away_as_a_setting() {
        let known = known(&session("puma 7.1.0", &[(2, 5), (4, 5)]));
        let one = SimulatedMachine {
            rate_rps: 500.0,
            requests: 1000,
            failed: 0.0,
            p50: 0.03,
            p95: 0.1,
            p99: 0.2,
        };
        let fleet = |cores: f64, workers: u16| FleetReport {
            machine: "one".to_string(),
            cores,
            memory_bytes: 8 << 30,
            fleet: Some(FleetNeed {
                machines: 10,
                machines_interval: [8, 12],
                workers,
                threads: 5,
                capacity_rps: 700.0,
                capacity_rps_interval: [600.0, 800.0],
                ordinary: one,
                zone_lost: None,
                cost_per_hour: None,
                cost_per_hour_interval: None,
                days: None,
            }),
        };
        assert_eq!(far_away(&known, &[], &[fleet(2.0, 4)]), None);
        let none_fits = FleetReport { fleet: None, ..fleet(2.0, 4) };
        let found = far_away(&known, &[], &[fleet(64.0, 64), fleet(2.0, 4), none_fits]);
        let Some(PredictionDoubt::Extrapolation { asked_workers, asked_cores, .. }) = found else {
            panic!("{found:?}");
        };
        assert_eq!((asked_workers, asked_cores), (64, 64.0));
    }

    #[test]
    fn a_curve_is_said_to_be_followed_only_where_it_is() {
        let story = session("command bin/serve", &[(1, 1), (2, 1), (4, 1)]);
        let known = known(&story);
        let measured = WhatIf::as_measured(2.0, goal_of(&story).unwrap());
        let played = WhatIf { is_played: true, ..measured.clone() };
        let has_curve = |asked: &WhatIf| match unknown_server(&story, &known, asked) {
            Some(PredictionDoubt::UnknownServer { curve, .. }) => curve.is_some(),
            other => panic!("{other:?}"),
        };
        assert_eq!((has_curve(&measured), has_curve(&played)), (true, false));
    }
}
