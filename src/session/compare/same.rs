//! May two sessions be compared at all, and what besides their figures differs?
//!
//! In: two stored sessions. Out: sentences. Computes only.

use crate::report::{Language, Story, plan_words};
use crate::terms::{Machine, PlannedValue, differing_values, plan_records};

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
pub fn machines(a: Option<&Machine>, b: Option<&Machine>) -> Option<String> {
    let (Some(a), Some(b)) = (a, b) else {
        return Some("of one of them the machine is not known".to_string());
    };
    let is_same = a.cpu_model == b.cpu_model && a.cores == b.cores;
    let one = |machine: &Machine| format!("{} with {} cores", machine.cpu_model, machine.cores);
    (!is_same).then(|| format!("A was measured on {}, B on {}", one(a), one(b)))
}

/// Why the loads or goals of two sessions make their figures incomparable; empty when they don't.
pub fn loads(a: &Story, b: &Story) -> Vec<String> {
    let mut refused = Vec::new();
    if a.goals != b.goals {
        refused.push(format!(
            "the goals differ: A's is {}, B's {}; measure both with the same --slo",
            a.goals, b.goals
        ));
    }
    if a.plan.is_empty() || b.plan.is_empty() {
        return refused;
    }
    let [in_a, in_b] = [a, b].map(|story| plan_records(&story.plan));
    for values in differing_values(&in_a, &in_b, |value| flag_of(value).is_some()) {
        let flag = values.into_iter().flatten().find_map(flag_of).unwrap_or_default();
        let (what, [in_a, in_b]) = shown(values);
        refused.push(format!(
            "{what} differ: A has {in_a}, B {in_b}; measure both with the same {flag}"
        ));
    }
    refused
}

/// What else differs; it is told, and the figures are compared.
pub fn differences(a: &Story, b: &Story) -> Vec<String> {
    let mut told = Vec::new();
    let mut tell = |what: &str, in_a: Option<&str>, in_b: Option<&str>| {
        if in_a != in_b {
            let shown = |value: Option<&str>| value.unwrap_or("none").to_string();
            told.push(format!("{what}: A {}, B {}", shown(in_a), shown(in_b)));
        }
    };
    tell("app", Some(&a.app), Some(&b.app));
    tell("server", Some(&a.server), Some(&b.server));
    if !a.plan.is_empty() && !b.plan.is_empty() {
        let [in_a, in_b] = [a, b].map(|story| plan_records(&story.plan));
        for values in differing_values(&in_a, &in_b, may_differ) {
            let (what, [in_a, in_b]) = shown(values);
            tell(what, Some(&in_a), Some(&in_b));
        }
    }
    if let (Some(a), Some(b)) = (&a.machine, &b.machine) {
        tell("kernel", Some(&a.kernel), Some(&b.kernel));
        let memory = [a, b].map(|machine| machine.memory_bytes.to_string());
        tell("memory of the server", Some(&memory[0]), Some(&memory[1]));
    }
    told
}

/// Two values of one kind, and what they are of.
fn shown(values: [Option<&PlannedValue>; 2]) -> (&'static str, [String; 2]) {
    let [a, b] = values;
    let what = a.or(b).map_or("", |value| plan_words::label(value, Language::DATA));
    let value = |it: Option<&PlannedValue>| match it {
        Some(value) => plan_words::value(value, Language::DATA),
        None => "none".to_string(),
    };
    (what, [value(a), value(b)])
}
