//! A stored session's plan, to be run once more: what it was given is given again, and what the
//! store does not keep has to be given by the user.
//!
//! In: the records of the session's plan, and what was typed. Out: what to resolve, and afterwards
//! where the plan that came of it is another one. Computes only.

use std::time::Duration;

use super::{Key, Plan, Typed};
use crate::terms::{
    Allowance, Arrivals, Bytes, PlanRecord, PlanSource, PlannedTarget, PlannedValue, Slo,
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
    typed.paths.entry(Key::App).or_insert_with(|| app.into());
    if let Some(slo) = slo {
        typed.set(Key::Slo, slo.to_string());
    }
    let has_targets = typed.has(Key::Target) || typed.has(Key::Targets);
    for PlanRecord { value, source } in earlier {
        // What was found or is a default is found again; the default timeout grows with the goal.
        let is_given = matches!(source, PlanSource::Flag | PlanSource::PlanFile { .. });
        match value {
            PlannedValue::Timeout { seconds } => {
                let timeout = Duration::from_secs_f64(*seconds);
                give(&mut typed, Key::Timeout, format_duration(timeout));
            }
            // Targets of a plan file may have bodies, which are not stored.
            PlannedValue::Targets(targets) if !has_targets && *source == PlanSource::Flag => {
                let targets: Option<Vec<_>> = targets.iter().map(PlannedTarget::typed).collect();
                typed = typed.with_all(Key::Target, targets.unwrap_or_default());
            }
            PlannedValue::App { entry: Some(entry), .. } => {
                give(&mut typed, Key::Entry, entry.clone());
            }
            // Commands of the user's are not stored.
            PlannedValue::Remote { url, by_kamal, destination, service, from, .. } if is_given => {
                give(&mut typed, Key::Url, url.clone());
                if *by_kamal {
                    give(&mut typed, Key::Kamal, true.to_string());
                }
                if let Some(destination) = destination {
                    give(&mut typed, Key::KamalDestination, destination.clone());
                }
                if let Some(service) = service {
                    give(&mut typed, Key::Ecs, service.clone());
                }
                if let Some(from) = from {
                    give(&mut typed, Key::From, from.clone());
                }
            }
            value if is_given => {
                give_of_cluster(&mut typed, value);
                if let Some((key, text)) = as_typed(value) {
                    give(&mut typed, key, text);
                }
            }
            _ => {}
        }
    }
    typed
}

/// Gives what runs in a cluster and what sends it load, where the value is of these.
fn give_of_cluster(typed: &mut Typed, value: &PlannedValue) {
    match value {
        PlannedValue::Deployment { name, namespace } => {
            give(typed, Key::Deployment, name.clone());
            namespace.iter().for_each(|it| give(typed, Key::Namespace, it.clone()));
        }
        PlannedValue::PodsOf { image, port, namespace, cuts, .. } => {
            let cuts: Vec<String> = cuts.iter().map(u16::to_string).collect();
            give(typed, Key::Pods, cuts.join(","));
            give(typed, Key::Image, image.clone());
            give(typed, Key::Port, port.to_string());
            namespace.iter().for_each(|it| give(typed, Key::Namespace, it.clone()));
        }
        // Another file may have another container.
        PlannedValue::PodsLike { file, container } if !typed.has(Key::PodTemplate) => {
            let file = typed.paths.get(&Key::App).map_or_else(|| file.into(), |it| it.join(file));
            typed.paths.insert(Key::PodTemplate, file);
            container.iter().for_each(|it| give(typed, Key::Container, it.clone()));
        }
        PlannedValue::Generators { pods, image } => {
            give(typed, Key::Generators, pods.to_string());
            give(typed, Key::GeneratorImage, image.clone());
        }
        _ => {}
    }
}

/// Gives a value, unless another was typed.
fn give(typed: &mut Typed, key: Key, text: String) {
    if !typed.has(key) {
        typed.set(key, text);
    }
}

/// A value as it is typed; `None` for what is not given again.
fn as_typed(value: &PlannedValue) -> Option<(Key, String)> {
    Some(match value {
        // The command of --start is not stored.
        PlannedValue::Server { name, program: None } => (Key::Server, name.clone()),
        PlannedValue::Proxy(name) => (Key::Proxy, name.clone()),
        PlannedValue::Cores(Allowance::Limit(cores)) => (Key::Cpus, cores.to_string()),
        PlannedValue::Memory(Allowance::Limit(Bytes(bytes))) => (Key::Memory, bytes.to_string()),
        PlannedValue::Arrivals(Arrivals::Poisson) => (Key::Arrivals, "poisson".to_string()),
        PlannedValue::Arrivals(Arrivals::Uniform) => (Key::Arrivals, "uniform".to_string()),
        PlannedValue::Connection(mode) => (Key::Connection, mode.to_string()),
        PlannedValue::Probe(is_on) => (Key::Probe, is_on.to_string()),
        PlannedValue::ReadyPath(path) if !path.has_query => (Key::Ready, path.path.clone()),
        PlannedValue::BootTimeout { seconds } => {
            (Key::BootTimeout, format_duration(Duration::from_secs_f64(*seconds)))
        }
        _ => return None,
    })
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
        PlannedValue::Remote { .. } => {
            "--apply, --restore and --ready-command, since commands are not stored"
        }
        PlannedValue::Deployment { .. }
        | PlannedValue::PodsOf { .. }
        | PlannedValue::Generators { .. }
        | PlannedValue::Cores(_)
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
        assert_eq!(
            typed.all(Key::Target),
            ["GET /a weight=3", "GET /c slo=p95<2s,errors<1%", "POST /b"]
        );
        assert!(!typed.has(Key::Server) && !typed.has(Key::Connection));
        for (key, expected) in [
            (Key::Arrivals, "uniform"),
            (Key::Timeout, "12s"),
            (Key::Cpus, "1.5"),
            (Key::Memory, "536870912"),
            (Key::Probe, "true"),
            (Key::Slo, "p95<200ms"),
        ] {
            assert_eq!(typed.all(key), [expected]);
        }
        assert_eq!(typed.paths[&Key::App].to_str(), Some("/srv/shop"));
    }

    #[test]
    fn a_deployment_is_named_again_with_what_sends_its_load() {
        let (name, namespace) = ("shop".to_string(), Some("web".to_string()));
        let records = [
            PlannedValue::Deployment { name, namespace },
            PlannedValue::Generators { pods: 2, image: "sweetspot:1".into() },
        ]
        .map(|value| PlanRecord { value, source: PlanSource::Flag });
        let typed = with_earlier(Typed::default(), &records, "/srv/shop", None);
        for (key, expected) in [
            (Key::Deployment, "shop"),
            (Key::Namespace, "web"),
            (Key::Generators, "2"),
            (Key::GeneratorImage, "sweetspot:1"),
        ] {
            assert_eq!(typed.all(key), [expected]);
        }
    }

    #[test]
    fn an_images_pods_are_like_the_same_file_unless_another_is_typed() {
        let container = Some("rails".to_string());
        let value = PlannedValue::PodsLike { file: "k8s/shop.yaml".into(), container };
        let records = [PlanRecord { value, source: PlanSource::Flag }];
        let again = |typed| with_earlier(typed, &records, "/srv/shop", None);
        let same = again(Typed::default());
        assert_eq!(same.paths[&Key::PodTemplate].to_str(), Some("/srv/shop/k8s/shop.yaml"));
        assert_eq!(same.all(Key::Container), ["rails"]);
        let other = again(Typed::default().with_path(Key::PodTemplate, "b.yaml"));
        assert_eq!(other.paths[&Key::PodTemplate].to_str(), Some("b.yaml"));
        assert!(!other.has(Key::Container));
    }

    #[test]
    fn a_server_is_given_as_long_to_boot_as_it_was_unless_another_time_is_typed() {
        let value = PlannedValue::BootTimeout { seconds: 150.0 };
        let records = [PlanRecord { value, source: PlanSource::PlanFile { line: 3 } }];
        let again = |typed| with_earlier(typed, &records, "/srv/shop", None);
        assert_eq!(again(Typed::default()).all(Key::BootTimeout), ["2m30s"]);
        let own = Typed::default().with(Key::BootTimeout, "10m");
        assert_eq!(again(own).all(Key::BootTimeout), ["10m"]);
    }

    #[test]
    fn what_the_store_does_not_keep_is_left_to_the_user() {
        let records = printed(&[
            ("targets", "GET /a?…", "command line"),
            ("server", "command gunicorn", "command line"),
            ("ready path", "/up?…", "command line"),
        ]);
        let typed = with_earlier(Typed::default(), &records, "/srv/shop", Some(&goal()));
        assert!([Key::Target, Key::Server, Key::Ready].iter().all(|key| !typed.has(*key)));
        let own = Typed::default().with(Key::Target, "GET /a?x=1");
        let typed = with_earlier(own, &records, "/srv/shop", None);
        assert_eq!(typed.all(Key::Target), ["GET /a?x=1"]);
    }
}
