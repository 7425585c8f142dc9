//! The plan's knobs as the search tries them, and what it found as it is printed.
//!
//! In: the plan, what the app's settings are, the search's answer. Out: values.

use std::collections::BTreeSet;

use crate::plan::Plan;
use crate::report::Language;
use crate::search::{ChangeAnswer, KnobChange, KnobsAnswer, VariantAnswer};
use crate::server::{self, Inspection};
use crate::stats::Estimate;
use crate::terms::{
    Change, ChangeNotThere, KnobCheck, KnobResult, KnobVerdict, KnobsNote, KnobsReport,
    SessionDoubt, Stated, Warning,
};

/// The plan's changes, with the reason where one cannot be tried on this app.
pub fn changes(plan: &Plan, inspection: &Inspection) -> Vec<KnobChange> {
    let change = |change: &Change| KnobChange {
        knob: change.knob.clone(),
        name: change.name.clone(),
        is_machine: server::pods::cpus_in(&change.settings).is_some(),
        pods: server::pods::pods_in(&change.settings),
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

/// What was seen of what is recommended once a pod was gone: at which rate, requests/s, and in
/// words; `None` where just that was not looked at: several changes together, or other threads.
pub fn a_pod_less(found: &KnobsAnswer) -> Option<(f64, String)> {
    let mut changes = found.recommended.changes();
    let seen = match (changes.next(), changes.next()) {
        (None, _) => found.at_one_rate,
        (Some(change), None) => found.changes.get(change)?.at_one_rate,
        (Some(_), Some(_)) => None,
    };
    let seen = seen.filter(|_| found.recommended_at == found.at)?;
    Some((seen.rate_rps, Language::DATA.say_a_pod_less(&seen)?))
}

fn result(plan: &Plan, change: &Change, answer: &ChangeAnswer) -> KnobResult {
    let cpus = server::pods::cpus_in(&change.settings).zip(plan.cores);
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
        answer.verdict == KnobVerdict::Helps && server::pods::cpus_in(&change.settings).is_none()
    });
    let knobs: BTreeSet<&str> = helps.map(|(change, _)| change.knob.as_str()).collect();
    let of_several = (knobs.len() > 1 && found.together.is_none())
        .then(|| KnobsNote::NotTriedTogether { changes: names() });
    of_threads.into_iter().chain(of_several).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{AtOneRate, Configuration, Variant, WithAPodLess};

    #[test]
    fn what_a_lost_pod_does_is_known_of_what_was_looked_at_alone() {
        let at = Configuration::new(4, 5).unwrap();
        let seen = |pods_left: u16| AtOneRate {
            rate_rps: 70.0,
            starts: 2,
            latency_s_p95: 0.1,
            latency_s_p95_range: [0.1, 0.1],
            latency_s_p99: 0.2,
            memory_bytes: None,
            pods: pods_left + 1,
            with_a_pod_less: Some(WithAPodLess {
                pods_left,
                latency_s_p95: 0.3,
                latency_s_p99: 0.4,
                failed_share: 0.0,
                keeps_up: Some(true),
                another_ended: false,
            }),
        };
        let change = |pods_left| ChangeAnswer {
            capacity: None,
            memory: None,
            verdict: KnobVerdict::Helps,
            more_s: None,
            at_one_rate: Some(seen(pods_left)),
            reason: None,
        };
        let found = |changes: &[usize], threads: u16| KnobsAnswer {
            at,
            level: 0.95,
            changes: vec![change(2), change(3)],
            at_one_rate: Some(seen(1)),
            together: None,
            neighbours: Vec::new(),
            recommended: Variant::of_all(changes.iter().copied()),
            gain: None,
            recommended_at: Configuration::new(4, threads).unwrap(),
        };
        let cases: [(&[usize], u16, Option<u16>); 4] =
            [(&[], 5, Some(1)), (&[1], 5, Some(3)), (&[0, 1], 5, None), (&[1], 8, None)];
        for (changes, threads, expected) in cases {
            let said = a_pod_less(&found(changes, threads)).map(|(_, said)| said);
            let expected = expected.map(|left| {
                format!("with {left} of {} pods left p95 300 ms, p99 400 ms, 0 % failed", left + 1)
            });
            assert_eq!(said, expected, "{changes:?} with {threads} threads");
        }
    }
}
