//! A stored session's plan, to be run once more: what it was given is given again, and what the
//! store does not keep has to be given by the user.
//!
//! In: the records of the session's plan, and what was typed. Out: what to resolve, and afterwards
//! where the plan that came of it is another one. Reads the plan file, and computes.

use std::path::Path;
use std::time::Duration;

use super::error::PlanError;
use super::settings::Settings;
use super::{Key, Plan, Typed};
use crate::terms::{
    Allowance, Arrivals, Bytes, PlanRecord, PlanSource, PlannedGoal, PlannedTarget, PlannedValue,
    Slo, differing_values, format_duration,
};

/// Two values of one kind, and the flag that gives the first.
pub type Difference<'a> = ([Option<&'a PlannedValue>; 2], &'static str);

/// Was the app changed by commands of the user's which are neither typed now nor in the plan file?
/// `folder`: the current one.
///
/// # Errors
/// The plan file is wrong, or the one that is named does not exist.
pub fn lacks_commands(
    typed: &Typed,
    earlier: &[PlanRecord],
    folder: &Path,
) -> Result<bool, PlanError> {
    let is_applied = |it: &PlanRecord| {
        matches!(it.value, PlannedValue::Remote { by_kamal: false, service: None, .. })
    };
    if !earlier.iter().any(is_applied) {
        return Ok(false);
    }
    let settings = Settings::find(typed, folder)?;
    Ok(settings.get(Key::Apply).is_none())
}

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
    let has_template = typed.has(Key::PodTemplate);
    for PlanRecord { value, source } in earlier {
        // What was found or is a default is found again; the default timeout grows with the goal.
        let is_given = matches!(source, PlanSource::Flag | PlanSource::PlanFile { .. });
        match value {
            timeout if is_outgrown(timeout, slo) => {}
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
            // Another file may have another container.
            PlannedValue::PodsLike { file, container } if is_given && !has_template => {
                let file = typed.paths[&Key::App].join(file);
                typed.paths.insert(Key::PodTemplate, file);
                container.iter().for_each(|it| give(&mut typed, Key::Container, it.clone()));
            }
            value if is_given => {
                for (key, text) in as_typed(value) {
                    text.into_iter().for_each(|text| give(&mut typed, key, text));
                }
            }
            _ => {}
        }
    }
    typed
}

/// Is it a timeout that the goal reached once that was settled by measuring? A plan that gives both
/// is refused.
fn is_outgrown(value: &PlannedValue, slo: Option<&Slo>) -> bool {
    let PlannedValue::Timeout { seconds } = value else { return false };
    let limit = slo.and_then(Slo::longest_limit);
    limit.is_some_and(|limit| Duration::from_secs_f64(*seconds) <= limit)
}

/// Gives a value, unless another was typed.
fn give(typed: &mut Typed, key: Key, text: String) {
    if !typed.has(key) {
        typed.set(key, text);
    }
}

/// A value as it is typed, an option each; nothing for what is not given again.
fn as_typed(value: &PlannedValue) -> Vec<(Key, Option<String>)> {
    let one = |key: Key, text: String| vec![(key, Some(text))];
    match value {
        // The command of --start is not stored.
        PlannedValue::Server { name, program: None } => one(Key::Server, name.clone()),
        PlannedValue::Proxy(name) => one(Key::Proxy, name.clone()),
        PlannedValue::Cores(Allowance::Limit(cores)) => one(Key::Cpus, cores.to_string()),
        PlannedValue::Memory(Allowance::Limit(Bytes(bytes))) => one(Key::Memory, bytes.to_string()),
        PlannedValue::Arrivals(Arrivals::Poisson) => one(Key::Arrivals, "poisson".to_string()),
        PlannedValue::Arrivals(Arrivals::Uniform) => one(Key::Arrivals, "uniform".to_string()),
        PlannedValue::Connection(mode) => one(Key::Connection, mode.to_string()),
        PlannedValue::Probe(is_on) => one(Key::Probe, is_on.to_string()),
        PlannedValue::ReadyPath(path) if !path.has_query => one(Key::Ready, path.path.clone()),
        PlannedValue::BootTimeout { seconds } => {
            one(Key::BootTimeout, format_duration(Duration::from_secs_f64(*seconds)))
        }
        // Commands of the user's are not stored.
        PlannedValue::Remote { url, by_kamal, destination, service, from, .. } => vec![
            (Key::Url, Some(url.clone())),
            (Key::Kamal, by_kamal.then(|| true.to_string())),
            (Key::KamalDestination, destination.clone()),
            (Key::Ecs, service.clone()),
            (Key::From, from.clone()),
        ],
        PlannedValue::Deployment { name, namespace } => {
            vec![(Key::Deployment, Some(name.clone())), (Key::Namespace, namespace.clone())]
        }
        PlannedValue::PodsOf { image, port, namespace, cuts, at_once } => {
            let cuts: Vec<String> = cuts.iter().map(u16::to_string).collect();
            vec![
                (Key::Pods, Some(cuts.join(","))),
                (Key::Parallel, Some(at_once.to_string())),
                (Key::Image, Some(image.clone())),
                (Key::Port, Some(port.to_string())),
                (Key::Namespace, namespace.clone()),
            ]
        }
        PlannedValue::Generators { pods, image } => vec![
            (Key::Generators, Some(pods.to_string())),
            (Key::GeneratorImage, Some(image.clone())),
        ],
        _ => Vec::new(),
    }
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
    let slo = match &plan.goal {
        PlannedGoal::Given(slo) => Some(slo),
        PlannedGoal::FromUnloaded => None,
    };
    let is_same = |values: &[Option<&PlannedValue>; 2]| match values {
        // All of a machine is another amount on another machine.
        [Some(Cores(Allowance::All(_))), Some(Cores(Allowance::All(_)))]
        | [Some(Memory(Allowance::All(_))), Some(Memory(Allowance::All(_)))] => true,
        // It was not given again.
        [Some(value), _] => is_outgrown(value, slo),
        _ => false,
    };
    let with_flag = |values: [Option<&'a PlannedValue>; 2]| {
        let flag = values.into_iter().flatten().find_map(flag_of);
        flag.map(|flag| (values, flag))
    };
    all.into_iter().filter(|values| !is_same(values)).filter_map(with_flag).collect()
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
    use crate::plan::{Surroundings, resolve};
    use crate::terms::{ConnectionMode, Cores, Target};

    fn goal() -> Slo {
        "p95<200ms".parse().unwrap()
    }

    fn asked_for(targets: &[&str]) -> PlannedValue {
        let target = |text: &&str| PlannedTarget::from(&text.parse::<Target>().unwrap());
        PlannedValue::Targets(targets.iter().map(target).collect())
    }

    /// An app's folder beside a folder of programs; both are gone with the first value.
    fn here() -> (tempfile::TempDir, Surroundings) {
        let folder = tempfile::tempdir().unwrap();
        let [app, programs] = ["app", "programs"].map(|name| folder.path().join(name));
        for (folder, file) in [(&app, "config.ru"), (&programs, "puma")] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join(file), "run App\n").unwrap();
        }
        let surroundings = Surroundings::of_test(app, [programs]);
        (folder, surroundings)
    }

    #[test]
    fn a_timeout_that_the_settled_goal_reached_grows_with_it() {
        let (_folder, here) = here();
        let earlier = resolve(&Typed::default(), &here).unwrap().records;
        let app = here.folder.display().to_string();
        for (goal, timeout_s) in [("p95<12s,errors<0.1%", 24), ("p95<10s", 20), ("p95<9s", 10)] {
            let slo: Slo = goal.parse().unwrap();
            let typed = with_earlier(Typed::default(), &earlier, &app, Some(&slo));
            let plan = resolve(&typed, &here).unwrap();
            assert_eq!(plan.timeout, Duration::from_secs(timeout_s), "{goal}");
            assert!(differences(&earlier, &plan).is_empty(), "{goal}");
        }
        let own = Typed::default().with(Key::Slo, "p95<1s").with(Key::Timeout, "5s");
        let own = resolve(&own, &here).unwrap();
        let flags: Vec<_> = differences(&earlier, &own).into_iter().map(|(_, flag)| flag).collect();
        assert_eq!(flags, ["--plan with the plan file"]);
    }

    #[test]
    fn headers_are_the_same_in_any_order_and_case() {
        let (_folder, here) = here();
        let plan = |headers: [&str; 2]| {
            resolve(&Typed::default().with_all(Key::Header, headers), &here).unwrap()
        };
        let earlier = plan(["X-A: 1", "X-B: 2"]).records;
        for (headers, differing) in [(["x-b: 2", "X-A: 3"], 0), (["X-B: 2", "X-C: 1"], 1)] {
            assert_eq!(differences(&earlier, &plan(headers)).len(), differing, "{headers:?}");
        }
    }

    #[test]
    fn what_was_given_is_given_again_and_what_was_found_is_not() {
        let server = PlannedValue::Server { name: "puma".into(), program: None };
        let targets = ["GET /a weight=3", "GET /c slo=p95<2s,errors<1%", "POST /b"];
        let file = |line| PlanSource::PlanFile { line };
        let records = [
            (server, PlanSource::App),
            (asked_for(&targets), PlanSource::Flag),
            (PlannedValue::Arrivals(Arrivals::Uniform), file(4)),
            (PlannedValue::Connection(ConnectionMode::Fresh), PlanSource::Default),
            (PlannedValue::Timeout { seconds: 12.0 }, PlanSource::Default),
            (PlannedValue::Cores(Allowance::Limit(Cores::new(1.5).unwrap())), PlanSource::Flag),
            (PlannedValue::Memory(Allowance::Limit(Bytes(512 << 20))), file(5)),
            (PlannedValue::Probe(true), PlanSource::Flag),
        ]
        .map(|(value, source)| PlanRecord { value, source });
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

    /// What of these values, typed in a session, is typed again.
    fn assert_given_again<const N: usize>(values: [PlannedValue; N], expected: &[(Key, &str)]) {
        let records = values.map(|value| PlanRecord { value, source: PlanSource::Flag });
        let typed = with_earlier(Typed::default(), &records, "/srv/shop", None);
        for (key, expected) in expected {
            assert_eq!(typed.all(*key), [*expected]);
        }
    }

    #[test]
    fn a_deployment_is_named_again_with_what_sends_its_load() {
        let (name, namespace) = ("shop".to_string(), Some("web".to_string()));
        let values = [
            PlannedValue::Deployment { name, namespace },
            PlannedValue::Generators { pods: 2, image: "sweetspot:1".into() },
        ];
        let expected = [
            (Key::Deployment, "shop"),
            (Key::Namespace, "web"),
            (Key::Generators, "2"),
            (Key::GeneratorImage, "sweetspot:1"),
        ];
        assert_given_again(values, &expected);
    }

    #[test]
    fn an_image_is_cut_as_it_was_and_as_many_settings_are_measured_at_once() {
        let value = PlannedValue::PodsOf {
            image: "shop:1".into(),
            port: 3000,
            namespace: Some("web".into()),
            cuts: vec![1, 2],
            at_once: 3,
        };
        let expected = [
            (Key::Image, "shop:1"),
            (Key::Port, "3000"),
            (Key::Namespace, "web"),
            (Key::Pods, "1,2"),
            (Key::Parallel, "3"),
        ];
        assert_given_again([value], &expected);
    }

    #[test]
    fn commands_of_the_users_may_be_typed_again_or_stand_in_the_plan_file_of_this_folder() {
        let folder = tempfile::tempdir().unwrap();
        let plan_file = folder.path().join("sweetspot.toml");
        let changed = |by_kamal: bool| {
            let value = PlannedValue::Remote {
                url: "http://app1:3000/".into(),
                by_kamal,
                destination: None,
                is_asked_when_ready: false,
                service: None,
                from: None,
            };
            [PlanRecord { value, source: PlanSource::PlanFile { line: 1 } }]
        };
        let lacks = |typed: &Typed, by_kamal| {
            lacks_commands(typed, &changed(by_kamal), folder.path()).unwrap()
        };
        let (nothing, again) = (Typed::default(), Typed::default().with(Key::Apply, "run"));
        assert_eq!([lacks(&nothing, false), lacks(&again, false)], [true, false]);
        assert!(!lacks(&nothing, true), "Kamal's commands are no user's");
        std::fs::write(&plan_file, "cpus = 2\n").unwrap();
        assert!(lacks(&nothing, false));
        std::fs::write(&plan_file, "apply = \"run {workers}\"\n").unwrap();
        assert!(!lacks(&nothing, false));
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
        let program = Some("gunicorn".to_string());
        let records = [
            asked_for(&["GET /a?x=1"]),
            PlannedValue::Server { name: "command".into(), program },
            PlannedValue::ReadyPath("/up?x=1".into()),
        ]
        .map(|value| PlanRecord { value, source: PlanSource::Flag });
        let typed = with_earlier(Typed::default(), &records, "/srv/shop", Some(&goal()));
        assert!([Key::Target, Key::Server, Key::Ready].iter().all(|key| !typed.has(*key)));
        let own = Typed::default().with(Key::Target, "GET /a?x=1");
        let typed = with_earlier(own, &records, "/srv/shop", None);
        assert_eq!(typed.all(Key::Target), ["GET /a?x=1"]);
    }
}
