//! May two sessions be compared at all, and what besides their figures differs?
//!
//! In: two stored sessions. Out: facts. Computes only.

use crate::report::Story;
use crate::terms::{
    Allowance, Bytes, CompareRefusal, Difference, Machine, MachineDifference, NamedPart,
    NamedSetting, PlannedValue, Stated, differing_values, plan_records,
};

/// What must be the same: the flag that sets it.
fn flag_of(value: &PlannedValue) -> Option<&'static str> {
    Some(match value {
        PlannedValue::Targets(_) => "--target",
        PlannedValue::Headers(_) => "--header",
        PlannedValue::Arrivals(_) => "--arrivals",
        PlannedValue::Connection(_) => "--connection",
        _ => return None,
    })
}

/// What is only told.
fn may_differ(value: &PlannedValue) -> bool {
    matches!(
        value,
        PlannedValue::Proxy(_)
            | PlannedValue::PodsOf { .. }
            | PlannedValue::PodsLike { .. }
            | PlannedValue::Remote { .. }
            | PlannedValue::Memory(_)
            | PlannedValue::Timeout { .. }
            | PlannedValue::Environment(_)
            | PlannedValue::Variables(_)
            | PlannedValue::DeployedVariables(_)
            | PlannedValue::KeptFlags(_)
            | PlannedValue::Probe(_)
            | PlannedValue::Runtime(_)
    )
}

/// Why the machines of two sessions keep their figures from being compared; `None` when they don't.
pub fn machines(a: Option<&Machine>, b: Option<&Machine>) -> Option<MachineDifference> {
    let (Some(a), Some(b)) = (a, b) else {
        return Some(MachineDifference::MachineNotKnown);
    };
    // Of what nobody could look at it cannot be said that it differs.
    let models = a.known_cpu_model().zip(b.known_cpu_model());
    let is_same = models.is_none_or(|(a, b)| a == b) && a.cores == b.cores;
    (!is_same).then(|| MachineDifference::MeasuredElsewhere { a: a.clone(), b: b.clone() })
}

/// Why the loads or goals of two sessions make their figures incomparable; empty when they don't.
pub fn loads(a: &Story, b: &Story) -> Vec<CompareRefusal> {
    let mut refused = Vec::new();
    if a.goals != b.goals {
        let (a, b) = (a.goals.clone(), b.goals.clone());
        refused.push(CompareRefusal::GoalsDiffer { a, b, is_of_sessions: true });
    }
    let planned = planned_otherwise(a, b, |value| flag_of(value).is_some());
    refused.extend(planned.into_iter().map(|[a, b]| {
        let flag = a.as_ref().or(b.as_ref()).and_then(flag_of).unwrap_or_default().to_string();
        CompareRefusal::PlansDiffer { a, b, flag }
    }));
    refused
}

/// What else differs; it is told, and the figures are compared.
pub fn differences(a: &Story, b: &Story) -> Vec<Stated<Difference>> {
    let named = |what, a: &str, b: &str| {
        (a != b).then(|| Difference::NameDiffers { what, a: a.to_string(), b: b.to_string() })
    };
    let mut told = Vec::new();
    told.extend(named(NamedPart::App, &a.app, &b.app));
    told.extend(named(NamedPart::Server, &a.server, &b.server));
    let planned = planned_otherwise(a, b, may_differ).into_iter();
    let planned = planned.filter(|both| !is_same_memory(both));
    told.extend(planned.map(|[a, b]| Difference::PlannedOtherwise { a, b }));
    if let (Some(a), Some(b)) = (&a.machine, &b.machine) {
        let kernels = a.known_kernel().zip(b.known_kernel());
        told.extend(kernels.and_then(|(a, b)| named(NamedPart::Kernel, a, b)));
        let (a, b) = (a.memory_bytes, b.memory_bytes);
        if !are_alike(a, b) {
            told.push(Difference::ServerMemoryDiffers { a, b });
        }
    }
    told.into_iter().map(Stated::from).collect()
}

/// Where the plans differ, of the values that `matters` chooses; nowhere where one is not known.
fn planned_otherwise(
    a: &Story,
    b: &Story,
    matters: fn(&PlannedValue) -> bool,
) -> Vec<[Option<PlannedValue>; 2]> {
    let [a, b] = [a, b].map(|story| plan_records(&story.plan));
    let is_known = !a.is_empty() && !b.is_empty();
    let found = if is_known { differing_values(&a, &b, matters) } else { Vec::new() };
    found.into_iter().map(|both| both.map(|value| value.cloned())).collect()
}

/// Limits of memory that are alike, or machines that have about as much.
fn is_same_memory(values: &[Option<PlannedValue>; 2]) -> bool {
    match values {
        [
            Some(PlannedValue::Memory(Allowance::Limit(a))),
            Some(PlannedValue::Memory(Allowance::Limit(b))),
        ]
        | [
            Some(PlannedValue::Memory(Allowance::All(a))),
            Some(PlannedValue::Memory(Allowance::All(b))),
        ] => are_alike(*a, *b),
        _ => false,
    }
}

/// Within 1 %, as one machine's memory is under two kernels.
fn are_alike(a: Bytes, b: Bytes) -> bool {
    a.0.abs_diff(b.0) <= a.0.max(b.0) / 100
}

/// A setting of the session's server.
pub fn named(story: &Story, workers: u16, threads: u16) -> NamedSetting {
    NamedSetting { workers, threads: story.has_threads().then_some(threads) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Cores;

    #[test]
    fn a_mix_is_comparable_where_each_targets_goal_is_the_same() {
        let story = |goals: &str| Story { goals: goals.parse().unwrap(), ..Story::default() };
        let one = "p95<200ms; GET /report: p95<2s";
        for (other, is_same) in [
            (one, true),
            ("p95<200ms; GET /report: p95<3s", false),
            ("p95<200ms", false),
            ("GET /report: p95<2s", false),
        ] {
            let refused = loads(&story(one), &story(other));
            let differ = matches!(refused[..], [CompareRefusal::GoalsDiffer { .. }]);
            assert_eq!((refused.is_empty(), differ), (is_same, !is_same), "{other}");
        }
    }

    #[test]
    fn a_processor_that_nobody_could_look_at_is_not_another() {
        let machine = |cpu_model: &str, cores: f64| Machine {
            cpu_model: cpu_model.to_string(),
            cores: Cores::new(cores).unwrap(),
            memory_bytes: Bytes(1 << 30),
            kernel: Machine::UNKNOWN.to_string(),
        };
        for (a, b, is_same) in [
            (("EPYC", 2.0), ("EPYC", 2.0), true),
            (("EPYC", 2.0), ("Xeon", 2.0), false),
            (("EPYC", 2.0), (Machine::UNKNOWN, 2.0), true),
            (("EPYC", 2.0), (Machine::UNKNOWN, 4.0), false),
        ] {
            let [one, other] = [a, b].map(|(model, cores)| machine(model, cores));
            assert_eq!(machines(Some(&one), Some(&other)).is_none(), is_same, "{a:?} {b:?}");
        }
    }

    #[test]
    fn memory_that_differs_by_less_than_a_hundredth_is_the_same() {
        use PlannedValue::Memory;
        let gib = |gib: f64| Bytes((gib * f64::from(1 << 30)) as u64);
        for (a, b, is_same) in [
            (Allowance::All(gib(7.78)), Allowance::All(gib(7.80)), true),
            (Allowance::All(gib(7.6)), Allowance::All(gib(7.8)), false),
            (Allowance::Limit(gib(7.8)), Allowance::All(gib(7.8)), false),
        ] {
            assert_eq!(is_same_memory(&[Some(Memory(a)), Some(Memory(b))]), is_same);
        }
    }
}
