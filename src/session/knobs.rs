//! The plan's knobs as the search tries them, and what it found as it is printed.
//!
//! In: the plan, what the app's settings are, the search's answer. Out: values.

use std::collections::BTreeSet;

use crate::plan::Plan;
use crate::search::{ChangeAnswer, KnobChange, KnobsAnswer, VariantAnswer};
use crate::server::{self, Inspection};
use crate::stats::Estimate;
use crate::terms::{
    Change, ChangeNotThere, KnobCheck, KnobResult, KnobVerdict, KnobsNote, KnobsReport,
    SessionDoubt, Stated, Warning, WithAPodLess,
};

/// The plan's changes, with the reason where one cannot be tried on this app.
pub fn changes(plan: &Plan, inspection: &Inspection) -> Vec<KnobChange> {
    let change = |change: &Change| KnobChange {
        knob: change.knob.clone(),
        name: change.name.clone(),
        is_machine: server::pods::cpus_of(change).is_some(),
        pods: server::pods::pods_of(change),
        ruled_out: server::find(&plan.server)
            .and_then(|adapter| server::in_the_way(adapter, inspection, change)),
    };
    plan.changes.iter().map(change).collect()
}

/// A warning where changes cannot be tried, so that it is known before minutes are spent.
pub fn doubts(plan: &Plan, inspection: &Inspection) -> Option<Warning> {
    let not_there = |it: KnobChange| Some(ChangeNotThere { why: it.ruled_out?, change: it.name });
    let changes: Vec<_> = changes(plan, inspection).into_iter().filter_map(not_there).collect();
    (!changes.is_empty()).then(|| SessionDoubt::KnobsNotThere { changes }.into())
}

/// What was found, in the shape that is stored and printed.
pub fn report(plan: &Plan, found: &KnobsAnswer) -> KnobsReport {
    let check = |answer: &VariantAnswer| check(plan, answer);
    let results = plan.changes.iter().zip(&found.changes);
    KnobsReport {
        workers: found.at.workers.get(),
        threads: found.at.threads.get(),
        interval_level: found.level,
        results: results.map(|(change, answer)| result(plan, change, answer)).collect(),
        at_one_rate: found.at_one_rate,
        together: found.together.as_ref().map(check),
        neighbours: found.neighbours.iter().map(check).collect(),
        recommended: found.recommended.names(&plan.changes),
        gain_ratio: found.gain.map(|gain| gain.value),
        gain_ratio_interval: found.gain.as_ref().map(Estimate::interval),
        recommended_threads: found.recommended_at.threads.get(),
    }
}

/// What was seen of the recommended way to cut the app once a pod was gone, and at which rate,
/// requests/s; `None` where that, or its number of threads, is another than was measured.
pub fn a_pod_less(plan: &Plan, found: &KnobsAnswer) -> Option<(f64, WithAPodLess)> {
    let is_cut = |change: &usize| server::pods::pods_of(&plan.changes[*change]).is_some();
    let seen = match found.recommended.changes().find(is_cut) {
        Some(change) => found.changes.get(change)?.at_one_rate,
        None => found.at_one_rate,
    };
    let seen = seen.filter(|_| found.recommended_at == found.at)?;
    Some((seen.rate_rps, seen.with_a_pod_less?))
}

fn result(plan: &Plan, change: &Change, answer: &ChangeAnswer) -> KnobResult {
    let cpus = server::pods::cpus_of(change).zip(plan.cores);
    KnobResult {
        knob: change.knob.clone(),
        change: change.name.clone(),
        verdict: answer.verdict,
        capacity_ratio: answer.capacity.map(|ratio| ratio.value),
        capacity_ratio_interval: answer.capacity.as_ref().map(Estimate::interval),
        memory_ratio: answer.memory.map(|ratio| ratio.value),
        memory_ratio_interval: answer.memory.as_ref().map(Estimate::interval),
        blocks: answer.capacity.map_or(0, |ratio| ratio.count as u32),
        more_s: answer.more_s,
        at_one_rate: answer.at_one_rate,
        cpus_ratio: cpus.map(|(cpus, all)| cpus.get() / all.get()),
        reason: answer.reason.clone().map(Stated::Fact),
    }
}

fn check(plan: &Plan, answer: &VariantAnswer) -> KnobCheck {
    KnobCheck {
        changes: answer.variant.names(&plan.changes),
        workers: answer.configuration.workers.get(),
        threads: answer.configuration.threads.get(),
        capacity_ratio: answer.capacity.value,
        capacity_ratio_interval: answer.capacity.interval(),
        memory_ratio: answer.memory.map(|ratio| ratio.value),
        memory_ratio_interval: answer.memory.as_ref().map(Estimate::interval),
        blocks: answer.capacity.count as u32,
    }
}

/// What the table of changes does not say.
pub fn notes(plan: &Plan, found: &KnobsAnswer) -> Vec<KnobsNote> {
    let names = || found.recommended.names(&plan.changes);
    if names().is_empty() {
        return Vec::new();
    }
    let moved = found.neighbours.iter().find(|it| it.configuration == found.recommended_at);
    let of_threads = match moved {
        Some(moved) => Some(KnobsNote::OtherThreadsBetter {
            changes: names(),
            chosen: found.at,
            better: moved.configuration,
            capacity_ratio: moved.capacity.value,
            capacity_ratio_interval: moved.capacity.interval(),
        }),
        None if found.neighbours.is_empty() && plan.has_threads => {
            Some(KnobsNote::OtherThreadsNotTried { changes: names(), chosen: found.at })
        }
        None => None,
    };
    let changes = plan.changes.iter().zip(&found.changes);
    let helps = changes.filter(|(change, answer)| {
        answer.verdict == KnobVerdict::Helps && server::pods::cpus_of(change).is_none()
    });
    let knobs: BTreeSet<&str> = helps.map(|(change, _)| change.knob.as_str()).collect();
    let of_several = (knobs.len() > 1 && found.together.is_none())
        .then(|| KnobsNote::NotTriedTogether { changes: names() });
    of_threads.into_iter().chain(of_several).collect()
}
