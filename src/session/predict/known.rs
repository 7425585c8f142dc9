//! What a stored session knows: the model fitted to its trials, and the settings it tried.
//!
//! In: a session. Out: what can be asked about other settings.

use std::collections::BTreeMap;

use super::runtime;
use crate::model::{
    self, Correction, Fit, Form, Measured, Observation, Scalability, Sizes, WhatIf,
};
use crate::report::Story;
use crate::search::Warmth;
use crate::server;
use crate::terms::{Configuration, Machine, QuantileLimit, TrialPurpose, TrialSummary, Warning};

/// The limit that the session's trials were judged by; of several goals the one that stands for all
/// of them. `None`: the session ended before there was one.
pub(super) fn goal_of(story: &Story) -> Option<QuantileLimit> {
    // Where no target is left for a common goal, any will do in its place.
    let common = story.goals.settled().next().filter(|_| story.goals.are_settled())?;
    Some(story.alone().map_or(common.tightest(), |it| model::limit_that_binds(&it.summary, common)))
}

/// Some target was judged by a goal of its own.
pub(super) fn has_several_goals(story: &Story) -> bool {
    story.trials.iter().any(|trial| trial.summary.goals.iter().any(|goal| goal.own))
}

/// The trials that say what a request costs.
fn observations(story: &Story, form: Form) -> Vec<Observation> {
    let is_shared = story.warnings.iter().any(Warning::says_generator_shares_cores);
    let observed = |trial: &TrialSummary| {
        let observation = match trial.purpose {
            TrialPurpose::Unloaded => as_if_warm(story, Observation::from_trial(trial)?),
            _ => Observation::from_trial(trial)?,
        };
        let configuration = form.occupied(trial.configuration, trial.offered.clients());
        let generator_s = observation.generator_s.filter(|_| is_shared);
        Some(Observation { configuration, generator_s, ..observation })
    };
    let alone = story.alone().map(|it| it.id);
    let is_used = |it: &&TrialSummary| it.purpose != TrialPurpose::Unloaded || Some(it.id) == alone;
    story.trials.iter().filter(is_used).filter_map(observed).collect()
}

/// One client alone, as the search has it: a server that was cold then computed for longer, and no
/// longer does.
fn as_if_warm(story: &Story, alone: Observation) -> Observation {
    if !Warmth::of_session(&story.trials).is_cold_at_first() {
        return alone;
    }
    let later = story.trials.iter().rev().filter(|trial| {
        trial.configuration == alone.configuration && trial.is_as_it_is() && is_saturated(trial)
    });
    let warm_s = later.map(Observation::from_trial).find_map(|it| it?.cpu_per_request_s);
    let longer_s = alone.cpu_per_request_s.zip(warm_s).map_or(0.0, |(cold, warm)| cold - warm);
    Observation {
        cpu_per_request_s: None,
        unloaded_latency_s: alone.unloaded_latency_s.map(|it| it - longer_s.max(0.0)),
        ..alone
    }
}

/// `None` when nothing can be fitted.
pub(super) fn measured(story: &Story, machine: &Machine, goal: QuantileLimit) -> Option<Measured> {
    let program = story.server.split(' ').next().unwrap_or_default();
    let form = match server::find(program) {
        Some(adapter) if adapter.is_event_loop(story.has_threads()) => Form::EventLoop,
        Some(adapter) if adapter.is_known() => Form::Threads,
        _ => Form::Unknown(curve(story)),
    };
    let cores = machine.cores.get();
    let measured_goal = goal_of(story);
    let fit = Fit::to(&observations(story, form), cores)?;
    let tried = || story.trials.iter().filter(|trial| trial.valid).map(|it| it.configuration);
    let range = |of: fn(Configuration) -> u16| {
        let counts = || tried().map(of);
        Some([counts().min()?, counts().max()?])
    };
    let mut known = Measured {
        throughput_correction: Correction::default(),
        capacity_correction: Correction::default(),
        memory: model::memory(&memory_points(story)),
        lock: runtime::lock(story, form),
        admission: runtime::admission(story),
        goal: measured_goal,
        held_share: 1.0,
        sizes: sizes(story),
        form,
        cores,
        workers: range(|it| it.workers.get())?,
        threads: range(|it| it.threads.get())?,
        fit,
    };
    let saturated = story.trials.iter().filter(|trial| is_saturated(trial));
    let ratios = known.fit.residuals.iter().map(|(_, ratio)| *ratio);
    known.throughput_correction =
        Correction::new(saturated.map(|trial| trial.configuration).zip(ratios));
    if let Form::Unknown(Some(curve)) = form {
        known.held_share = curve.held_share(&story.capacities());
        // What the mechanism is off by is asked of the mechanism.
        known.form = Form::Unknown(None);
    }
    let as_measured = WhatIf::as_measured(cores, measured_goal.unwrap_or(goal));
    let capacities = story.capacities();
    let ratios: Vec<(Configuration, f64)> = capacities
        .into_iter()
        .filter_map(|(at, held)| {
            Some((at, held / known.expect(at, &as_measured).capacity_rps?.value))
        })
        .collect();
    known.capacity_correction = Correction::new(ratios);
    known.form = form;
    Some(known)
}

/// How requests of one client alone differed.
fn sizes(story: &Story) -> Option<Sizes> {
    let alone = story.alone().filter(|trial| trial.failure.is_none())?;
    Sizes::of(&alone.summary.latency_s)
}

/// Of a server that is not known: how its throughput grows with its threads.
fn curve(story: &Story) -> Option<Scalability> {
    let saturated = story.trials.iter().filter(|trial| is_saturated(trial));
    let point = |trial: &TrialSummary| {
        (f64::from(trial.configuration.slots()), trial.summary.got_through_rps())
    };
    Scalability::fit(&saturated.map(point).collect::<Vec<_>>())
}

/// The most that the server's processes took with each configuration.
pub(super) fn memory_points(story: &Story) -> Vec<(Configuration, u64)> {
    let mut most: BTreeMap<Configuration, u64> = BTreeMap::new();
    let is_told = |trial: &&TrialSummary| trial.is_as_it_is() && !trial.is_seen_by_platform();
    for trial in story.trials.iter().filter(is_told) {
        if let Some(bytes) = trial.memory_bytes {
            let known = most.entry(trial.configuration).or_default();
            *known = bytes.max(*known);
        }
    }
    most.into_iter().collect()
}

/// 1 to twice the cores; of many those that lie close together are left out.
pub(super) fn usual_workers(cores: f64) -> Vec<u16> {
    let most = (2.0 * cores).ceil().clamp(1.0, 1024.0) as u16;
    let mut workers: Vec<u16> = (1..=most.min(8)).collect();
    let mut next = 8.0_f64;
    while next < f64::from(most) {
        next *= 1.25;
        workers.push((next.round() as u16).min(most));
    }
    // The number of cores is what people ask about.
    workers.push(cores.round().clamp(1.0, 1024.0) as u16);
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// Those that the session chose among.
pub(super) fn threads_of(story: &Story) -> Vec<u16> {
    let predicted = story.predicted.iter().map(|one| one.threads);
    let tried = story.trials.iter().map(|trial| trial.configuration.threads.get());
    let mut threads: Vec<u16> = predicted.chain(tried).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

pub(super) fn is_saturated(trial: &TrialSummary) -> bool {
    let is_fitted = Observation::from_trial(trial).and_then(|it| it.saturated_rps);
    is_fitted.is_some_and(|rate| rate.is_finite() && rate > 0.0)
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::search::tests_trial;
    use crate::terms::{
        Bytes, Cores, LatencySummary, LoadSummary, Offered, Verdict, WarmUp, WarmUpKind,
    };

    /// Fifty requests a second for ten seconds, each with 30 ms of latency and `cpu_s` of CPU.
    pub fn trial(
        purpose: TrialPurpose,
        (workers, threads): (u16, u16),
        cpu_s: f64,
    ) -> TrialSummary {
        let configuration = Configuration::new(workers, threads).unwrap();
        let clients = match purpose {
            TrialPurpose::Unloaded => 1,
            _ => 2 * configuration.slots(),
        };
        let time = 0.03;
        let latency_s = LatencySummary {
            min: time,
            mean: time,
            p50: time,
            p75: time,
            p90: time,
            p95: time,
            p99: time,
            p999: time,
            max: time,
        };
        let replies = 500;
        TrialSummary {
            configuration,
            offered: Offered::Closed { clients, think: Duration::ZERO },
            verdict: Verdict::Undecided,
            leaning: Verdict::Undecided,
            summary: LoadSummary {
                duration_s: 10.0,
                due: replies,
                completed: replies,
                latency_s,
                status: [("200".to_string(), replies)].into(),
                ..LoadSummary::default()
            },
            cpu_s: [("worker".to_string(), cpu_s * replies as f64)].into(),
            ..tests_trial(purpose, 50.0, (replies, 0))
        }
    }

    /// A session on two cores.
    pub fn story(server: &str, trials: Vec<TrialSummary>) -> Story {
        let machine = Machine {
            cpu_model: Machine::UNKNOWN.to_string(),
            cores: Cores::new(2.0).unwrap(),
            memory_bytes: Bytes(8 << 30),
            kernel: Machine::UNKNOWN.to_string(),
        };
        Story { server: server.to_string(), machine: Some(machine), trials, ..Story::default() }
    }

    #[test]
    fn one_client_alone_on_a_cold_server_is_taken_for_one_on_a_warm_server() {
        let alone = |kind: WarmUpKind| {
            let alone = trial(TrialPurpose::Unloaded, (2, 5), 0.02);
            let bursts = [0.013, 0.012, 0.012].map(|cpu_s| TrialSummary {
                warm_up: WarmUp { kind, left_out_s: 2.0 },
                ..trial(TrialPurpose::Saturate, (2, 5), cpu_s)
            });
            let trials = std::iter::once(alone).chain(bursts).collect();
            observations(&story("puma 7.1.0", trials), Form::Threads)[0]
        };
        let (cold, warm) = (alone(WarmUpKind::Warmed), alone(WarmUpKind::Flat));
        assert_eq!(cold.cpu_per_request_s, None);
        assert!((cold.unloaded_latency_s.unwrap() - 0.022).abs() < 1e-9, "{cold:?}");
        assert!((warm.cpu_per_request_s.unwrap() - 0.02).abs() < 1e-9, "{warm:?}");
        assert_eq!(warm.unloaded_latency_s, Some(0.03));
    }
}
