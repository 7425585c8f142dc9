//! The search's answer as the decision that is printed: with the setting as the server spells it.

use super::knobs;
use crate::plan::Plan;
use crate::search::{Answer, CapacityEstimate, Choice, KnobsAnswer};
use crate::server::{self, Inspection};
use crate::stats::Estimate;
use crate::terms::{
    Configuration, CurrentSetting, Decision, Equivalent, Machine, OPERATING_SHARE, Prediction,
    Settings, TuneResult, Variant, Warning,
};

/// What the answer does not know.
pub struct Facts<'a> {
    pub plan: &'a Plan,
    pub machine: &'a Machine,
    pub inspection: &'a Inspection,
    pub predicted: Vec<Prediction>,
    pub elapsed_s: f64,
    pub load_s: f64,
    pub warnings: Vec<Warning>,
}

/// The whole result of a tune.
pub fn result(answer: &Answer, facts: Facts<'_>) -> TuneResult {
    let mut notes = answer.notes.clone();
    let chosen = answer.choice.as_ref().map(|choice| choice.capacity.configuration);
    notes.extend(answer.knobs.iter().flat_map(|found| knobs::notes(facts.plan, found)));
    notes.extend(chosen.into_iter().flat_map(|chosen| at_the_edge(facts.plan, chosen)));
    TuneResult {
        current: Some(current(facts.inspection.current, answer.current.as_ref())),
        decision: answer
            .choice
            .as_ref()
            .map(|choice| decision(choice, answer.knobs.as_ref(), &facts)),
        predicted: facts.predicted,
        memory: answer.memory.clone(),
        knobs: answer.knobs.as_ref().map(|found| knobs::report(facts.plan, found)),
        elapsed_s: facts.elapsed_s,
        load_s: facts.load_s,
        machine: facts.machine.clone(),
        warnings: facts.warnings,
        notes,
    }
}

/// Whatever lies beyond the largest number that was tried is not known to be worse.
fn at_the_edge(plan: &Plan, chosen: Configuration) -> Vec<String> {
    let note = |chosen: u16, tried: &[u16], what: &str| match tried {
        [_, .., most] if *most == chosen => Some(format!(
            "{chosen} {what} are the most that were tried; more may hold more: try --{what} \
             {chosen}..{}",
            u32::from(chosen) * 2
        )),
        _ => None,
    };
    let workers: Vec<u16> = plan.workers.iter().map(|count| count.get()).collect();
    let threads: Vec<u16> = plan.threads.iter().map(|count| count.get()).collect();
    let of_threads = || note(chosen.threads.get(), &threads, "threads");
    let of_workers = note(chosen.workers.get(), &workers, "workers");
    of_workers.into_iter().chain(plan.has_threads.then(of_threads).flatten()).collect()
}

fn current(configuration: Configuration, capacity: Option<&CapacityEstimate>) -> CurrentSetting {
    CurrentSetting {
        workers: configuration.workers.get(),
        threads: configuration.threads.get(),
        capacity_rps: capacity.map(|capacity| capacity.rps.value),
        capacity_rps_interval: capacity.map(|capacity| interval(&capacity.rps)),
    }
}

fn decision(choice: &Choice, found: Option<&KnobsAnswer>, facts: &Facts<'_>) -> Decision {
    let configuration = choice.capacity.configuration;
    Decision {
        workers: configuration.workers.get(),
        threads: configuration.threads.get(),
        capacity_rps: choice.capacity.rps.value,
        capacity_rps_interval: interval(&choice.capacity.rps),
        gain_ratio: choice.gain.map(|gain| gain.value),
        gain_ratio_interval: choice.gain.as_ref().map(interval),
        operating_rps: choice.capacity.rps.value * OPERATING_SHARE,
        limit: choice.limit.clone(),
        equivalent: choice.equivalent.iter().map(equivalent).collect(),
        settings: settings(facts, configuration, found),
        memory_bytes: choice.memory_bytes,
        database_connections: configuration.slots(),
    }
}

/// With the changes that are recommended, and where these ask for other threads, with those.
fn settings(
    facts: &Facts<'_>,
    configuration: Configuration,
    found: Option<&KnobsAnswer>,
) -> Settings {
    let Facts { plan, machine, inspection, .. } = facts;
    let variant = found.map_or(Variant::AS_IT_IS, |found| found.recommended);
    let configuration = found.map_or(configuration, |found| found.recommended_at);
    let app = plan.app.with_changes(variant.of_list(&plan.changes));
    server::find(&plan.server)
        .map(|it| server::settings(&app, it, inspection, configuration, machine.cores))
        .unwrap_or_default()
}

fn equivalent(choice: &crate::search::EquivalentChoice) -> Equivalent {
    Equivalent {
        workers: choice.configuration.workers.get(),
        threads: choice.configuration.threads.get(),
        ratio: choice.ratio.value,
        ratio_interval: interval(&choice.ratio),
        memory_bytes: choice.memory_bytes,
    }
}

pub(super) fn interval(estimate: &Estimate) -> [f64; 2] {
    [estimate.low, estimate.high]
}
