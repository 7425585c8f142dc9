//! May two sessions be compared at all, and what besides their figures differs?
//!
//! In: two stored sessions. Out: sentences. Computes only.

use crate::report::Story;
use crate::terms::Machine;

/// What must be the same, as the plan calls it, and the flag that sets it.
const MUST_AGREE: &[(&str, &str)] = &[
    ("targets", "--target"),
    ("headers", "--header"),
    ("arrivals", "--arrivals"),
    ("connection", "--connection"),
];

/// What is only told.
const MAY_DIFFER: &[&str] =
    &["proxy", "memory", "timeout", "environment", "variables", "probe", "runtime"];

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
    if a.slo != b.slo {
        refused.push(format!(
            "the goals differ: A's is {}, B's {}; measure both with the same --slo",
            a.slo, b.slo
        ));
    }
    if a.plan.is_empty() || b.plan.is_empty() {
        return refused;
    }
    for (what, flag) in MUST_AGREE {
        let (in_a, in_b) = (value(a, what), value(b, what));
        if in_a != in_b {
            let shown = |value: Option<&str>| value.unwrap_or("none").to_string();
            refused.push(format!(
                "{what} differ: A has {}, B {}; measure both with the same {flag}",
                shown(in_a),
                shown(in_b)
            ));
        }
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
    for what in MAY_DIFFER {
        let is_known = !a.plan.is_empty() && !b.plan.is_empty();
        if is_known {
            tell(what, value(a, what), value(b, what));
        }
    }
    if let (Some(a), Some(b)) = (&a.machine, &b.machine) {
        tell("kernel", Some(&a.kernel), Some(&b.kernel));
        let memory = [a, b].map(|machine| machine.memory_bytes.to_string());
        tell("memory of the server", Some(&memory[0]), Some(&memory[1]));
    }
    told
}

/// A line of the plan.
pub fn value<'a>(story: &'a Story, what: &str) -> Option<&'a str> {
    story.plan.iter().find(|line| line.0 == what).map(|line| line.1.as_str())
}
