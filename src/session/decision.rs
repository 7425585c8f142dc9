//! The search's answer as the decision that is printed: with the setting as the server spells it.

mod look;

use super::knobs;
use crate::model::server_cpu_s;
use crate::plan::Plan;
use crate::search::{Answer, CapacityEstimate, Choice, KnobsAnswer};
use crate::server::hosts::{self, Measured};
use crate::server::scaling::{self, AtWork};
use crate::server::{self, Inspection, Recommended};
use crate::stats::Estimate;
use crate::summary::goals;
use crate::terms::{
    Bytes, Configuration, CurrentSetting, Decision, GoalSummary, LimitKind, Machine, Note,
    OPERATING_SHARE, PlanNote, Prediction, Settings, Stated, TrialPurpose, TrialSummary,
    TuneResult, Variant, Verdict, Warning,
};

/// What the answer does not know.
pub struct Facts<'a> {
    pub plan: &'a Plan,
    pub machine: &'a Machine,
    pub inspection: &'a Inspection,
    pub predicted: Vec<Prediction>,
    pub elapsed_s: f64,
    pub warnings: Vec<Warning>,
    /// The session's, oldest first.
    pub trials: &'a [TrialSummary],
    /// What a request waits for a free thread with the choice at its day-to-day rate by the model,
    /// seconds; `None`: that is not known.
    pub queue_s: Option<f64>,
}

/// The whole result of a tune.
pub fn result(answer: &Answer, facts: Facts<'_>) -> TuneResult {
    let mut notes = answer.notes.clone();
    let chosen = answer.choice.as_ref().map(|choice| choice.capacity.configuration);
    let of_knobs = answer.knobs.iter().flat_map(|found| knobs::notes(facts.plan, found));
    notes.extend(of_knobs.map(|it| Stated::Fact(Note::Knobs(it))));
    let at_the_edge = chosen.map(|chosen| at_the_edge(facts.plan, chosen)).unwrap_or_default();
    let confirmed = answer.choice.as_ref().and_then(|choice| confirmed(facts.trials, choice));
    let uncertain = confirmed.map(|(trial, rate)| uncertain(trial, rate)).unwrap_or_default();
    let of_plan = at_the_edge.into_iter().chain(uncertain);
    notes.extend(of_plan.map(|it| Stated::Fact(Note::Plan(it))));
    TuneResult {
        current: Some(current(facts.inspection.current, answer.current.as_ref())),
        decision: answer.choice.as_ref().map(|choice| decision(choice, answer, &facts)),
        predicted: facts.predicted,
        memory: answer.memory.clone(),
        objective: answer.objective.clone(),
        knobs: answer.knobs.as_ref().map(|found| knobs::report(facts.plan, found)),
        elapsed_s: facts.elapsed_s,
        load_s: facts.trials.iter().fold(0.0, |sum_s, trial| sum_s + trial.load_s),
        machine: facts.machine.clone(),
        warnings: facts.warnings,
        notes,
    }
}

/// Whatever lies beyond the largest number that was tried is not known to be worse.
fn at_the_edge(plan: &Plan, chosen: Configuration) -> Vec<PlanNote> {
    let Configuration { workers, threads } = chosen;
    let of_workers = matches!(plan.workers[..], [_, .., most] if most == workers)
        .then_some(PlanNote::MostWorkersChosen { workers });
    let of_threads = (plan.has_threads
        && matches!(plan.threads[..], [_, .., most] if most == threads))
    .then_some(PlanNote::MostThreadsChosen { threads });
    of_workers.into_iter().chain(of_threads).collect()
}

/// Of several targets, the trial that shows the goals of the chosen configuration, with its rate:
/// the one that held the rate that is printed, else of those that held the one at the highest rate,
/// at the end, else when the choice was confirmed, else when it was raced.
fn confirmed<'a>(trials: &'a [TrialSummary], choice: &Choice) -> Option<(&'a TrialSummary, f64)> {
    let printed = choice.held.and_then(|held| {
        let trial = mixed(trials).find(|trial| trial.id == held.trial)?;
        Some((trial, held.rate_rps))
    });
    printed.or_else(|| at_highest_rate(trials, choice.capacity.configuration))
}

/// Those that judged several targets each by its goal.
fn mixed(trials: &[TrialSummary]) -> impl Iterator<Item = &TrialSummary> + Clone {
    trials.iter().filter(|trial| !trial.summary.goals.is_empty())
}

fn at_highest_rate(trials: &[TrialSummary], chosen: Configuration) -> Option<(&TrialSummary, f64)> {
    let held = mixed(trials).filter(|trial| {
        let may_be_believed = trial.valid && trial.failure.is_none();
        may_be_believed && trial.configuration == chosen && trial.leaning == Verdict::Yes
    });
    let of_purpose = |purpose| {
        let trials = held.clone().filter(move |trial| trial.purpose == purpose);
        let rates = trials.filter_map(|trial| Some((trial, trial.offered.rate()?.as_per_second())));
        rates.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let of_last = of_purpose(TrialPurpose::Hold).or_else(|| of_purpose(TrialPurpose::Confirm));
    of_last.or_else(|| of_purpose(TrialPurpose::Probe))
}

/// Goals that too few requests were about to be certain of their latencies.
fn uncertain(trial: &TrialSummary, rate_rps: f64) -> Vec<PlanNote> {
    let all = &trial.summary.goals;
    let trial_s = trial.summary.duration_s;
    let note = |goal: &GoalSummary| {
        let (needed, requests) = (goals::lacking(goal)?, goal.due);
        let target = match &goal.targets[..] {
            [only] => Some(only.target.clone()),
            _ => None,
        };
        Some(PlanNote::TooFewRequests {
            slo: goal.slo.clone()?,
            is_of_all: target.is_none() && all.len() == 1,
            target,
            requests,
            trial_s,
            rate_rps,
            needed,
            needed_s: (requests > 0).then(|| needed as f64 / requests as f64 * trial_s),
        })
    };
    all.iter().filter(|goal| goal.met.is_none()).filter_map(note).collect()
}

fn current(configuration: Configuration, capacity: Option<&CapacityEstimate>) -> CurrentSetting {
    CurrentSetting {
        workers: configuration.workers.get(),
        threads: configuration.threads.get(),
        capacity_rps: capacity.map(|capacity| capacity.rps.value),
        capacity_rps_interval: capacity.map(|capacity| capacity.rps.interval()),
    }
}

fn decision(choice: &Choice, answer: &Answer, facts: &Facts<'_>) -> Decision {
    let configuration = choice.capacity.configuration;
    let confirmed = confirmed(facts.trials, choice);
    let has_event_loops = facts.plan.has_event_loops();
    Decision {
        workers: configuration.workers.get(),
        threads: configuration.threads.get(),
        capacity_rps: choice.capacity.rps.value,
        capacity_rps_interval: choice.capacity.rps.interval(),
        gain_ratio: choice.gain.map(|gain| gain.value),
        gain_ratio_interval: choice.gain.as_ref().map(Estimate::interval),
        precision: choice.precision,
        held: choice.held,
        operating_rps: choice.capacity.rps.value * OPERATING_SHARE,
        soak: answer.soak.clone(),
        limit: choice.limit.clone(),
        goals: confirmed.map(|(trial, _)| trial.summary.goals.clone()).unwrap_or_default(),
        goals_rps: confirmed.map(|(_, rate)| rate),
        latency_at_rps: choice.latency_at_rps,
        latency_s_p95: choice.p95_s,
        equivalent: choice.equivalent.clone(),
        settings: settings(choice, facts, answer.knobs.as_ref()),
        memory_bytes: choice.memory_bytes,
        database_connections: if has_event_loops { 0 } else { configuration.slots() },
    }
}

/// With the changes that are recommended, and where these ask for other threads, with those; of a
/// Deployment also with an autoscaler.
fn settings(choice: &Choice, facts: &Facts<'_>, found: Option<&KnobsAnswer>) -> Settings {
    let Facts { plan, machine, inspection, .. } = facts;
    let variant = found.map_or(Variant::AS_IT_IS, |found| found.recommended);
    let configuration = found.map_or(choice.capacity.configuration, |found| found.recommended_at);
    let app = plan.app.with_changes(variant.of_list(&plan.changes));
    let (cores, memory) = (machine.cores, machine.memory_bytes);
    let seen = found.and_then(knobs::a_pod_less);
    let a_pod_less = seen.as_ref().map(|(rate_rps, said)| (*rate_rps, said.as_str()));
    let recommended =
        Recommended { app: &app, inspection, configuration, cores, memory, a_pod_less };
    let mut settings = server::find(&plan.server)
        .map(|adapter| server::settings(adapter, recommended))
        .unwrap_or_default();
    // What a way to cut the app that was not held at the end uses then is not known.
    let is_held_so = server::pods::count(&app) == server::pods::count(&plan.app);
    let run = (configuration, variant);
    if let Some(at_work) = at_work(choice, facts, run).filter(|_| is_held_so) {
        settings.config_snippet.push('\n');
        settings.config_snippet.push_str(&scaling::lines(&app, at_work));
    }
    let held = held(choice, facts).filter(|trial| trial.configuration == configuration);
    let of_hosts = held.map(|trial| {
        let measured = Measured {
            in_flight: trial.summary.throughput_rps * trial.summary.latency_s.mean,
            slots: configuration.slots(),
            cores,
            memory,
            used: choice.memory_bytes.map(Bytes),
        };
        hosts::advice(&app.hosts, &settings.env, &measured)
    });
    settings.advice.extend(of_hosts.into_iter().flatten().map(|it| Stated::Fact(it.into())));
    settings
}

/// The trial in which the rate that is printed was held; of one that was missed the work in flight
/// is a queue's.
fn held<'a>(choice: &Choice, facts: &Facts<'a>) -> Option<&'a TrialSummary> {
    let number = choice.held?.trial;
    facts.trials.iter().find(|trial| trial.valid && trial.id == number)
}

/// What a Deployment's pods were seen to use. `None`: that is not known, or these are no pods.
/// `run`: what is recommended.
fn at_work(choice: &Choice, facts: &Facts<'_>, run: (Configuration, Variant)) -> Option<AtWork> {
    facts.plan.cluster.as_ref()?;
    let of_choice = |trial: &&TrialSummary| trial.configuration == choice.capacity.configuration;
    let trial = held(choice, facts).filter(of_choice)?;
    let rate_rps = choice.capacity.rps.value * OPERATING_SHARE;
    let cpu_s = server_cpu_s(trial);
    let replies = trial.summary.completed as f64;
    let is_known = replies > 0.0 && cpu_s > 0.0;
    let as_chosen = (choice.capacity.configuration, Variant::AS_IT_IS);
    is_known.then(|| AtWork {
        rate_rps,
        cores: rate_rps * cpu_s / replies,
        cores_most: facts.machine.cores.get(),
        is_limited_by_cpu: matches!(
            choice.limit.kind,
            LimitKind::Cores | LimitKind::Quota | LimitKind::Gvl
        ),
        seen: look::nearest(facts.trials, run, rate_rps),
        queue_s: facts.queue_s.filter(|_| run == as_chosen),
    })
}
