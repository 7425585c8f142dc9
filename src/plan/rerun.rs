//! A stored session's plan, to be run once more: what it was given is given again, and what the
//! store does not keep has to be given by the user.
//!
//! In: the records of the session's plan, and what was typed. Out: what to resolve, and afterwards
//! where the plan that came of it is another one. Computes only.

use std::path::PathBuf;
use std::time::Duration;

use super::{Plan, Typed};
use crate::terms::{
    Allowance, Arrivals, Bytes, Cores, PlanRecord, PlanSource, PlannedTarget, PlannedValue, Slo,
    differing_values, format_duration,
};

/// Two values of one kind, and the flag that gives the first.
pub type Difference<'a> = ([Option<&'a PlannedValue>; 2], &'static str);

/// What was typed, with everything added that the session was given and the store has kept. `app`
/// is the session's folder, `slo` the goal of the targets without one of their own, as it was
/// settled.
pub fn with_earlier(
    mut typed: Typed,
    earlier: &[PlanRecord],
    app: &str,
    slo: Option<&Slo>,
) -> Typed {
    typed.app.get_or_insert_with(|| PathBuf::from(app));
    typed.slo = slo.map(Slo::to_string);
    let has_targets = !typed.target.is_empty() || typed.targets.is_some();
    for PlanRecord { value, source } in earlier {
        // What was found or is a default is found again; the default timeout grows with the goal.
        let is_given = matches!(source, PlanSource::Flag | PlanSource::PlanFile { .. });
        match value {
            PlannedValue::Timeout { seconds } => {
                let timeout = Duration::from_secs_f64(*seconds);
                typed.timeout.get_or_insert_with(|| format_duration(timeout));
            }
            // Targets of a plan file may have bodies, which are not stored.
            PlannedValue::Targets(targets) if !has_targets && *source == PlanSource::Flag => {
                let targets: Option<Vec<_>> = targets.iter().map(PlannedTarget::typed).collect();
                typed.target = targets.unwrap_or_default();
            }
            value if is_given => give(&mut typed, value),
            _ => {}
        }
    }
    typed
}

/// Gives a value, unless another was typed.
fn give(typed: &mut Typed, value: &PlannedValue) {
    let (place, text) = match value {
        // The command of --start is not stored.
        PlannedValue::Server { name, program: None } => (&mut typed.server, name.clone()),
        PlannedValue::Proxy(name) => (&mut typed.proxy, name.clone()),
        PlannedValue::Cores(Allowance::Limit(cores)) => (&mut typed.cpus, Cores::to_string(cores)),
        PlannedValue::Memory(Allowance::Limit(Bytes(bytes))) => {
            (&mut typed.memory, bytes.to_string())
        }
        PlannedValue::Arrivals(Arrivals::Poisson) => (&mut typed.arrivals, "poisson".to_string()),
        PlannedValue::Arrivals(Arrivals::Uniform) => (&mut typed.arrivals, "uniform".to_string()),
        PlannedValue::Connection(mode) => (&mut typed.connection, mode.to_string()),
        PlannedValue::Probe(is_on) => (&mut typed.probe, is_on.to_string()),
        PlannedValue::ReadyPath(path) if !path.has_query => (&mut typed.ready, path.path.clone()),
        _ => return,
    };
    place.get_or_insert(text);
}

/// What must be as it was, and what to say to make it so; `None` for all else.
fn flag_of(value: &PlannedValue) -> Option<&'static str> {
    Some(match value {
        PlannedValue::Server { .. } => "--server, or --start with the command",
        PlannedValue::Proxy(_) => "--proxy",
        PlannedValue::Targets(_) => "--target or --targets, or --plan with the plan file",
        PlannedValue::Headers(_) => "-H, since values of headers are not stored",
        PlannedValue::Environment(_) | PlannedValue::Variables(_) => {
            "--env, since values of variables are not stored"
        }
        PlannedValue::ReadyPath(_) => "--ready",
        PlannedValue::Cores(_)
        | PlannedValue::Memory(_)
        | PlannedValue::Arrivals(_)
        | PlannedValue::Connection(_)
        | PlannedValue::Timeout { .. }
        | PlannedValue::Probe(_) => "--plan with the plan file",
        _ => return None,
    })
}

/// Where the plan is another one than the earlier: the earlier value and the plan's, and the flag
/// that makes them one.
pub fn differences<'a>(earlier: &'a [PlanRecord], plan: &'a Plan) -> Vec<Difference<'a>> {
    use PlannedValue::{Cores, Memory};
    let all = differing_values(earlier, &plan.records, |value| flag_of(value).is_some());
    // All of a machine is another amount on another machine.
    let is_all = |values: &[Option<&PlannedValue>; 2]| {
        matches!(
            values,
            [Some(Cores(Allowance::All(_))), Some(Cores(Allowance::All(_)))]
                | [Some(Memory(Allowance::All(_))), Some(Memory(Allowance::All(_)))]
        )
    };
    let with_flag = |values: [Option<&'a PlannedValue>; 2]| {
        let flag = values.into_iter().flatten().find_map(flag_of);
        flag.map(|flag| (values, flag))
    };
    all.into_iter().filter(|values| !is_all(values)).filter_map(with_flag).collect()
}

/// A verification asks about workers and threads: knobs that a plan file names are not tried again.
pub fn without_knobs(mut plan: Plan) -> Plan {
    plan.changes.clear();
    plan.records.retain(|record| !matches!(record.value, PlannedValue::Knob(_)));
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{PlanLine, plan_records};

    fn printed(lines: &[(&str, &str, &str)]) -> Vec<PlanRecord> {
        let line = |&(a, b, c): &(&str, &str, &str)| {
            PlanLine::Verbatim(a.to_string(), b.to_string(), c.to_string())
        };
        plan_records(&lines.iter().map(line).collect::<Vec<_>>())
    }

    fn goal() -> Slo {
        "p95<200ms".parse().unwrap()
    }

    #[test]
    fn what_was_given_is_given_again_and_what_was_found_is_not() {
        let records = printed(&[
            ("server", "puma", "found in the app"),
            ("targets", "GET /a (weight 3), GET /c (p95<2s,errors<1%), POST /b", "command line"),
            ("arrivals", "uniform", "plan file, line 4"),
            ("connection", "fresh", "default"),
            ("timeout", "12s", "default"),
            ("cores", "1.5", "command line"),
            ("memory", "512 MiB", "plan file, line 5"),
            ("probe", "on", "command line"),
        ]);
        let typed = with_earlier(Typed::default(), &records, "/srv/shop", Some(&goal()));
        assert_eq!(typed.target, ["GET /a weight=3", "GET /c slo=p95<2s,errors<1%", "POST /b"]);
        assert_eq!((typed.server, typed.connection), (None, None));
        assert_eq!(typed.arrivals.as_deref(), Some("uniform"));
        assert_eq!(typed.timeout.as_deref(), Some("12s"));
        assert_eq!(typed.cpus.as_deref(), Some("1.5"));
        assert_eq!(typed.memory.as_deref(), Some("536870912"));
        assert_eq!(typed.probe.as_deref(), Some("true"));
        assert_eq!(typed.slo.as_deref(), Some("p95<200ms"));
        assert_eq!(typed.app, Some(PathBuf::from("/srv/shop")));
    }

    #[test]
    fn what_the_store_does_not_keep_is_left_to_the_user() {
        let records = printed(&[
            ("targets", "GET /a?…", "command line"),
            ("server", "command gunicorn", "command line"),
            ("ready path", "/up?…", "command line"),
        ]);
        let typed = with_earlier(Typed::default(), &records, "/srv/shop", Some(&goal()));
        assert!(typed.target.is_empty());
        assert_eq!((typed.server, typed.ready), (None, None));
        let own = Typed { target: vec!["GET /a?x=1".into()], ..Typed::default() };
        assert_eq!(with_earlier(own, &records, "/srv/shop", None).target, ["GET /a?x=1"]);
    }
}
