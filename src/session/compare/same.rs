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
            | PlannedValue::Memory(_)
            | PlannedValue::Timeout { .. }
            | PlannedValue::Environment(_)
            | PlannedValue::Variables(_)
            | PlannedValue::Probe(_)
            | PlannedValue::Runtime(_)
    )
}

/// Why the machines of two sessions keep their figures from being compared; `None` when they don't.
pub fn machines(a: Option<&Machine>, b: Option<&Machine>) -> Option<MachineDifference> {
    let (Some(a), Some(b)) = (a, b) else {
        return Some(MachineDifference::MachineNotKnown);
    };
    let is_same = a.cpu_model == b.cpu_model && a.cores == b.cores;
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
    let planned = planned.filter(|both| !reads_alike(both));
    told.extend(planned.map(|[a, b]| Difference::PlannedOtherwise { a, b }));
    if let (Some(a), Some(b)) = (&a.machine, &b.machine) {
        told.extend(named(NamedPart::Kernel, &a.kernel, &b.kernel));
        let (a, b) = (a.memory_bytes, b.memory_bytes);
        if a.to_string() != b.to_string() {
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
    let is_known = !a.plan.is_empty() && !b.plan.is_empty();
    let [a, b] = [a, b].map(|story| plan_records(&story.plan));
    let found = if is_known { differing_values(&a, &b, matters) } else { Vec::new() };
    found.into_iter().map(|both| both.map(|value| value.cloned())).collect()
}

/// Amounts of memory that differ by less than is shown, as a machine's do under two kernels.
fn reads_alike(values: &[Option<PlannedValue>; 2]) -> bool {
    let [Some(PlannedValue::Memory(a)), Some(PlannedValue::Memory(b))] = values else {
        return false;
    };
    let shown = |allowed: &Allowance<Bytes>| match allowed {
        Allowance::Limit(limit) => (true, limit.to_string()),
        Allowance::All(all) => (false, all.to_string()),
    };
    shown(a) == shown(b)
}

/// A setting of the session's server.
pub fn named(story: &Story, workers: u16, threads: u16) -> NamedSetting {
    NamedSetting { workers, threads: story.has_threads.then_some(threads) }
}
