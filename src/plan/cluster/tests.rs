//! Plans of a Deployment, as they are typed and written.

use std::fs;

use super::*;
use crate::plan::{Plan, Surroundings, Typed, resolve};
use crate::report::Language;
use crate::report::planned;
use crate::server::command::environment;
use crate::server::pods::PodTemplate;
use crate::terms::{Configuration, ConnectionMode};

/// The folder of an app that says much of how it is run, none of which is so of pods.
struct Here {
    _folder: tempfile::TempDir,
    surroundings: Surroundings,
}

impl Here {
    fn new(plan: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("config/environments")).unwrap();
        for (name, content) in [
            ("config.ru", "run App\n"),
            ("config/environments/production.rb", "  config.force_ssl = true\n"),
            ("Dockerfile", "ENV WEB_CONCURRENCY=9 MALLOC_ARENA_MAX=3\n"),
            ("Procfile", "web: thrust puma -w 7 -t 7\n"),
            ("sweetspot.toml", plan),
        ] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let surroundings = Surroundings::of_test(folder.path(), []);
        Self { _folder: folder, surroundings }
    }

    fn plan(&self, typed: &Typed) -> Plan {
        resolve(typed, &self.surroundings).unwrap()
    }

    fn refused(&self, typed: &Typed) -> String {
        resolve(typed, &self.surroundings).unwrap_err().to_string()
    }
}

fn deployment() -> Typed {
    Typed::default().with(Key::Deployment, "shop").with(Key::GeneratorImage, "sweetspot:1")
}

fn deployment_of_image() -> Typed {
    Typed::default().with(Key::Image, "shop:1").with(Key::GeneratorImage, "sweetspot:1")
}

fn with_limits(typed: Typed) -> Typed {
    let given = [(Key::Port, "3000"), (Key::Cpus, "4"), (Key::Memory, "4GiB")];
    given.iter().fold(typed, |typed, (key, value)| typed.with(*key, *value))
}

fn with_env(env: &[&str]) -> Typed {
    deployment().with_all(Key::Env, env.iter().copied())
}

/// What, value and source of each line.
fn lines(plan: &Plan) -> Vec<(String, String, PlanSource)> {
    let rows = plan.records.iter().map(|it| (planned::row_of(it, Language::English), it));
    rows.map(|(row, it)| (row.what, row.value, it.source.clone())).collect()
}

fn line(plan: &Plan, what: &str) -> (String, PlanSource) {
    let found = lines(plan).into_iter().find(|(label, ..)| label == what);
    found.map(|(_, value, source)| (value, source)).unwrap_or_else(|| panic!("no {what}"))
}

fn variables(plan: &Plan) -> Vec<(&str, &str)> {
    plan.app.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn counts(plan: &Plan) -> (Vec<u16>, Vec<u16>) {
    let workers = plan.workers.iter().map(|it| it.get()).collect();
    (workers, plan.threads.iter().map(|it| it.get()).collect())
}

#[test]
fn a_deployment_is_planned_from_what_is_typed_alone() {
    let here = Here::new("");
    let plan = here.plan(&deployment());
    let labels: Vec<String> = lines(&plan).into_iter().map(|(what, ..)| what).collect();
    let expected = [
        "deployment",
        "generators",
        "workers",
        "threads",
        "targets",
        "SLO",
        "goal",
        "cores",
        "memory",
        "arrivals",
        "connection",
        "timeout",
        "budget",
        "precision",
        "variables",
        "ready path",
        "db connections",
        "seed",
        "store",
    ];
    assert_eq!(labels, expected);
    let typed = |value: &str| (value.to_string(), PlanSource::Flag);
    let default = |value: &str| (value.to_string(), PlanSource::Default);
    assert_eq!(line(&plan, "deployment"), typed("shop"));
    assert_eq!(line(&plan, "generators"), typed("1 pod of sweetspot:1"));
    assert_eq!(line(&plan, "workers"), default("1..4"));
    assert_eq!(line(&plan, "threads"), default("1..3,5,8,16"));
    assert_eq!(line(&plan, "cores"), default("all (2)"), "of the surroundings given");
    assert_eq!(line(&plan, "connection"), default("fresh"));
    let names = "RAILS_MAX_THREADS, WEB_CONCURRENCY (values not shown)";
    assert_eq!(line(&plan, "variables"), default(names));

    assert_eq!((plan.server.as_str(), plan.has_threads), ("kubernetes", true));
    assert_eq!(plan.threads_source, PlanSource::Default);
    assert_eq!(plan.connection, ConnectionMode::Fresh);
    assert_eq!((plan.cores, plan.memory), (None, None));
    let pods =
        PodTemplate { deployment: "shop".into(), namespace: None, container: None, cut: None };
    assert_eq!(plan.app.pods, Some(pods));
    let env = environment(&plan.app, Configuration::new(4, 5).unwrap());
    let expected = [("RAILS_MAX_THREADS", "5"), ("WEB_CONCURRENCY", "4")];
    assert_eq!(env, expected.map(|(name, value)| (name.into(), value.into())).into());
    let cluster = Cluster {
        deployment: "shop".into(),
        own: None,
        container: None,
        service: None,
        namespace: None,
        context: None,
        generator_image: "sweetspot:1".into(),
        generator_pull_policy: None,
        generators: 1,
        generator_cpus: 1.0,
    };
    assert_eq!(plan.cluster, Some(cluster));
}

#[test]
fn all_of_a_cluster_can_be_given_in_the_plan_file_and_typed() {
    let here = Here::new(
        "deployment = \"shop\"\nnamespace = \"web\"\ncontext = \"me@staging\"\n\
         generator_image = \"r.internal/s:1\"\ngenerators = 2\ngenerator-cpus = 0.5\n\
         place = \"kubernetes\"\nconnection = \"keep-alive\"\n",
    );
    let typed = Typed::default()
        .with(Key::Container, "app")
        .with(Key::Service, "shop-web")
        .with(Key::GeneratorImagePullPolicy, "Never")
        .with(Key::Ready, "/up");
    let plan = here.plan(&typed);
    let in_file = |value: &str, line| (value.to_string(), PlanSource::PlanFile { line });
    assert_eq!(line(&plan, "deployment"), in_file("shop in namespace web", 1));
    assert_eq!(line(&plan, "generators"), in_file("2 pods of r.internal/s:1", 5));
    assert_eq!(plan.connection, ConnectionMode::KeepAlive);
    assert_eq!(plan.app.ready_path, "/up");
    let some = |text: &str| Some(text.to_string());
    let pods = PodTemplate {
        deployment: "shop".into(),
        namespace: some("web"),
        container: some("app"),
        cut: None,
    };
    assert_eq!(plan.app.pods, Some(pods));
    let cluster = Cluster {
        deployment: "shop".into(),
        own: None,
        container: some("app"),
        service: some("shop-web"),
        namespace: some("web"),
        context: some("me@staging"),
        generator_image: "r.internal/s:1".into(),
        generator_pull_policy: some("Never"),
        generators: 2,
        generator_cpus: 0.5,
    };
    assert_eq!(plan.cluster, Some(cluster));
}

#[test]
fn variables_of_the_users_with_places_take_the_place_of_the_usual_ones() {
    let here = Here::new("");
    let env = ["LOG=s3cret", "POOL=max={threads}", "RACK_ENV=staging", "W={workers}"];
    let plan = here.plan(&with_env(&env));
    let expected =
        [("LOG", "s3cret"), ("POOL", "max={threads}"), ("RACK_ENV", "staging"), ("W", "{workers}")];
    assert_eq!(variables(&plan), expected);
    assert_eq!(plan.threads_source, PlanSource::Flag, "nobody has to be asked");
    assert_eq!(line(&plan, "environment"), ("staging".to_string(), PlanSource::Flag));
    assert!(!format!("{:?}", plan.records).contains("s3cret"));

    let beside = here.plan(&with_env(&["LOG=warn"]));
    let expected =
        [("LOG", "warn"), ("RAILS_MAX_THREADS", "{threads}"), ("WEB_CONCURRENCY", "{workers}")];
    assert_eq!(variables(&beside), expected);
    assert_eq!(beside.threads_source, PlanSource::Default, "nobody asked for threads");
}

#[test]
fn what_no_variable_has_a_place_for_stays_as_it_is() {
    let here = Here::new("");
    let of_workers = with_env(&["W={workers}"]);
    let plan = here.plan(&of_workers);
    assert_eq!((plan.has_threads, counts(&plan).1), (false, vec![1]));
    let error = here.refused(&of_workers.with(Key::Threads, "1..4"));
    let expected = "--threads '1..4': no variable has {threads} to fill in, so nothing would \
                    change; give one that the app follows, such as --env \
                    RAILS_MAX_THREADS={threads}";
    assert_eq!(error, expected);

    for (env, workers) in [
        (&["T={threads}"][..], 1),
        (&["T={threads}", "WEB_CONCURRENCY=3"][..], 3),
        (&["WEB_CONCURRENCY=3"][..], 3),
    ] {
        let plan = here.plan(&with_env(env));
        assert_eq!((plan.has_threads, counts(&plan).0), (true, vec![workers]), "{env:?}");
        let error = here.refused(&with_env(env).with(Key::Workers, "1..4"));
        let expected = "--workers '1..4': no variable has {workers} to fill in";
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_place_that_is_misspelt_is_named() {
    let expected = "{wrokers} is no place that can be filled in (did you mean {workers}?); there \
                    are {workers} and {threads}";
    let error = Here::new("").refused(&with_env(&["W={wrokers}"]));
    assert_eq!(error, format!("--env: {expected}"));
    let error = Here::new("[env]\nW = \"{wrokers}\"\n").refused(&deployment());
    assert_eq!(error, format!("sweetspot.toml line 1: env: {expected}"));
}

#[test]
fn pods_are_made_of_an_image_with_the_limits_that_are_given() {
    // More than the machine has on which it is typed.
    let given = [(Key::Port, "3000"), (Key::Cpus, "16"), (Key::Memory, "64GiB")];
    let image = |without: Option<Key>| {
        let given = given.iter().filter(|(key, _)| Some(*key) != without);
        given.fold(deployment_of_image(), |typed, (key, value)| typed.with(*key, *value))
    };
    let here = Here::new("");
    let plan = here.plan(&image(None));
    let own = OwnPods {
        image: "shop:1".into(),
        pull_policy: None,
        port: 3000,
        cuts: vec![1],
        at_once: 1,
        template: None,
    };
    assert_eq!(plan.cluster.as_ref().and_then(|cluster| cluster.own.clone()), Some(own));
    assert_eq!(line(&plan, "image").0, "shop:1 (3000)");
    assert_eq!((line(&plan, "cores").0, plan.workers.len()), ("16".to_string(), 32));
    for (missing, expected) in [
        (Key::Port, "--image 'shop:1': it is not known where its app answers"),
        (Key::Cpus, "--image 'shop:1': its pods need limits to be measured with"),
        (Key::Memory, "--image 'shop:1': its pods need limits to be measured with"),
    ] {
        let error = here.refused(&image(Some(missing)));
        assert!(error.starts_with(expected), "{error}");
    }
    let error = here.refused(&image(None).with(Key::Service, "s3cret"));
    let expected = "--service: pods are made of an image with what that";
    assert!(error.starts_with(expected), "{error}");
    let error = here.refused(&image(None).with(Key::Container, "rails"));
    let expected = "--container: it names a container in the file of --pod-template; give that";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_images_pods_are_like_those_of_a_file() {
    let here = Here::new("");
    let file = here.surroundings.folder.join("shop.json");
    let write = |containers: &[&str]| {
        let named = |name: &&str| serde_json::json!({ "name": name, "image": "shop:0" });
        let containers: Vec<_> = containers.iter().map(named).collect();
        let spec = serde_json::json!({ "containers": containers });
        let pod = serde_json::json!({ "kind": "Pod", "spec": spec });
        fs::write(&file, pod.to_string()).unwrap();
    };
    write(&["rails"]);
    let typed = with_limits(deployment_of_image()).with_path(Key::PodTemplate, "shop.json");
    let plan = here.plan(&typed);
    let shown = "shop.json, container rails".to_string();
    assert_eq!(line(&plan, "pods like"), (shown, PlanSource::Flag));
    let container = |plan: &Plan| plan.app.pods.as_ref().and_then(|pods| pods.container.clone());
    let template = |plan: &Plan| plan.cluster.clone()?.own?.template;
    assert_eq!(container(&plan).as_deref(), Some("rails"), "in what is written down");
    assert_eq!(template(&plan).unwrap().left_out, Vec::<String>::new());
    write(&["rails", "envoy"]);
    let expected = "its pods have several containers (rails, envoy); say which runs the app with \
                    --container";
    assert_eq!(here.refused(&typed), format!("{}: {expected}", file.display()));
    let plan = here.plan(&typed.with(Key::Container, "rails"));
    assert_eq!(container(&plan).as_deref(), Some("rails"));
    assert_eq!(template(&plan).unwrap().left_out, ["envoy"]);
    let in_file = Here::new("pod-template = \"none.yaml\"\n");
    let error = in_file.refused(&with_limits(deployment_of_image()));
    assert!(error.starts_with("could not read ") && error.contains("none.yaml: "), "{error}");
    for (typed, expected) in [
        (Typed::default(), "--pod-template: it is for an image that is tuned in a cluster"),
        (deployment(), "--pod-template: a Deployment is measured with what it has itself"),
    ] {
        let error = here.refused(&typed.with_path(Key::PodTemplate, "shop.json"));
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn an_image_is_cut_into_pods_that_share_workers_evenly() {
    let here = Here::new("");
    let cut = |pods: &str| with_limits(deployment_of_image()).with(Key::Pods, pods);
    let plan = here.plan(&cut("4,1,2"));
    assert_eq!(counts(&plan).0, [4, 8]);
    let names: Vec<_> = plan.changes.iter().map(|change| change.name.as_str()).collect();
    assert_eq!(names, ["pods=2", "pods=4"]);
    assert_eq!(plan.app.pods.as_ref().and_then(|pods| pods.cut), Some(1));
    let expected = "shop:1 (3000), cut into pods: 1,2,4, which share cores, memory and workers";
    assert_eq!(line(&plan, "image").0, expected);
    // Of a range those numbers alone that leave several numbers of workers to choose from.
    for (cpus, cuts, workers) in [("8", "1,2,4,8", 8), ("4", "1,2,4", 4), ("2", "1,2", 2)] {
        let plan = here.plan(&cut("1..8").with(Key::Cpus, cpus));
        assert_eq!(line(&plan, "image").0, expected.replace("1,2,4", cuts));
        assert_eq!(counts(&plan).0, [workers, 2 * workers], "{cpus} cores");
    }
    let with_knob = here.plan(&cut("2").with(Key::Knob, "A=1"));
    assert_eq!((with_knob.changes.len(), counts(&with_knob).0), (1, vec![2, 4, 6, 8]));
    for (typed, expected) in [
        (
            cut("1,2").with(Key::Workers, "2,3"),
            "--workers '2,3': 2 pods cannot share 3 evenly; workers are those of all",
        ),
        (cut("1,2,3,4,6,8"), "--pods '1,2,3,4,6,8': at most 5 ways to cut the app are tried"),
        (cut("5..7"), "--pods '5..7': no number of this range above 1 shares 4 cores so that"),
        (
            cut("1..8").with(Key::Cpus, "3.5"),
            "--pods '1..8': no number of this range above 1 shares 3.5 cores so that",
        ),
        (cut("7,11"), "--pods '7,11': at most 5 ways to cut the app are tried"),
        (cut("0"), "--pods '0': 0 is impossible"),
        (
            cut("64").with(Key::Memory, "512MiB"),
            "--pods '64': each pod would have less than 0.01 cores or 16 MiB",
        ),
        (
            cut("1,2").with_all(Key::Env, ["T={threads}"]),
            "--pods '1,2': no variable has {workers} to fill in",
        ),
        (
            deployment().with(Key::Pods, "2"),
            "--pods: a Deployment is measured with what it has itself",
        ),
    ] {
        let error = here.refused(&typed);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn sizes_of_pods_are_another_way_to_say_into_how_many_an_image_is_cut() {
    let here = Here::new("");
    let image = || with_limits(deployment_of_image()).with(Key::Memory, "8GiB");
    let of_size = |sizes: &str| image().with(Key::Cpus, "8").with(Key::CpusPerPod, sizes);
    let cuts = |plan: &Plan| plan.cluster.clone().and_then(|it| it.own).map(|own| own.cuts);
    let plan = here.plan(&of_size("1,2,4"));
    assert_eq!((cuts(&plan), counts(&plan).0), (Some(vec![2, 4, 8]), vec![8, 16]));
    let shown = "shop:1 (3000), cut into pods: 2,4,8, which share cores, memory and workers";
    assert_eq!(line(&plan, "image").0, shown);
    // As the numbers themselves.
    let numbers = here.plan(&image().with(Key::Cpus, "8").with(Key::Pods, "8,4,2"));
    assert_eq!((numbers.cluster, &numbers.changes), (plan.cluster.clone(), &plan.changes));
    // With both, what is among both; so a session's numbers are given again beside its plan file.
    let both = here.plan(&of_size("1,2,4").with(Key::Pods, "1..4"));
    assert_eq!(cuts(&both), Some(vec![2, 4]));
    let in_file = Here::new("cpus-per-pod = [0.5, 4]\n");
    assert_eq!(cuts(&in_file.plan(&image().with(Key::Pods, "1,8"))), Some(vec![1, 8]));
    for (typed, expected) in [
        (of_size("3"), "--cpus-per-pod '3': 8 cores make no whole number of pods with 3 each; "),
        (of_size("x"), "--cpus-per-pod 'x': "),
        (of_size("0.1"), "--cpus-per-pod '0.1': at most 5 ways to cut the app are tried"),
        (
            of_size("1").with(Key::Pods, "1,2"),
            "--cpus-per-pod '1': none of the numbers of pods that follow from it is among those",
        ),
        (
            of_size("1").with(Key::Workers, "4"),
            "--workers '4': 8 pods cannot share 4 evenly; workers are those of all",
        ),
        (
            of_size("1,2").with_all(Key::Env, ["T={threads}"]),
            "--cpus-per-pod '1,2': no variable has {workers} to fill in",
        ),
    ] {
        let error = here.refused(&typed);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn variables_can_be_knobs_and_settings_of_a_server_cannot() {
    let here = Here::new("");
    let knob = |text: &str| deployment().with(Key::Knob, text);
    let plan = here.plan(&knob("MALLOC_ARENA_MAX=2,3"));
    let names: Vec<_> = plan.changes.iter().map(|change| change.name.as_str()).collect();
    assert_eq!(names, ["MALLOC_ARENA_MAX=2", "MALLOC_ARENA_MAX=3"]);
    let of_image = |text: &str| with_limits(deployment_of_image()).with(Key::Knob, text);
    let plan = here.plan(&of_image("cpus=0.5,2"));
    assert!(plan.changes.iter().all(crate::server::pods::is_of_cpus), "{:?}", plan.changes);
    let error = here.refused(&of_image("cpus=0"));
    assert!(error.contains("cpus is a number of cores from 0.01 to 1024, not '0'"), "{error}");
    let error = here.refused(&of_image("cpus=2,4.0"));
    assert!(error.contains("cpus=4.0 is what the app has already"), "{error}");
    for (text, expected) in [
        ("preload_app=true", "the Deployment has no setting 'preload_app' that can be tried"),
        ("cpus=2", "a Deployment's pods are measured with the limits that it gives them"),
        ("RAILS_MAX_THREADS=7", "RAILS_MAX_THREADS is what tune sets by itself; leave it out"),
    ] {
        let error = here.refused(&knob(text));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_contradicts_a_deployment_is_refused_with_the_way_out() {
    let here = Here::new("");
    for key in [Key::Cpus, Key::Memory, Key::Image].into_iter().chain(FOR_IMAGES) {
        let error = here.refused(&deployment().with(key, "s3cret"));
        let expected = format!("--{}: a Deployment is measured with what it has", key.name());
        assert!(error.starts_with(&expected), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
    for key in FOR_IMAGES {
        let error = here.refused(&Typed::default().with(key, "1"));
        let expected = format!("--{}: it is for an image that is tuned in a", key.name());
        assert!(error.starts_with(&expected), "{error}");
    }
    for key in FOR_CLUSTERS {
        let error = here.refused(&Typed::default().with(key, "1"));
        let expected = format!("--{}: it is for a Deployment of a cluster; name that", key.name());
        assert!(error.starts_with(&expected), "{error}");
    }
    let in_file = Here::new("cpus = 2\n").refused(&deployment());
    assert!(in_file.starts_with("sweetspot.toml line 1: cpus: a Deployment is"), "{in_file}");
    for (typed, expected) in [
        (
            Typed::default().with(Key::Place, "kubernetes"),
            "--place 'kubernetes': a Deployment of the cluster or an image is needed, such as",
        ),
        (
            deployment().with(Key::Place, "local"),
            "--place 'local': --deployment names one of a cluster; write kubernetes, or leave one",
        ),
        (
            Typed::default().with(Key::Deployment, "shop"),
            "--deployment 'shop': its load is sent by pods of the cluster, of an image of",
        ),
    ] {
        let error = here.refused(&typed);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn impossible_values_of_a_cluster_are_named_with_place_value_and_way_out() {
    let here = Here::new("");
    let long = "a".repeat(LONGEST_NAME + 1);
    let no_name = "it is no name that Kubernetes has; a-z, 0-9, '-' and '.' may stand in it";
    for (key, value, expected) in [
        (Key::Deployment, "Shop", no_name),
        (Key::Deployment, "-shop", no_name),
        (Key::Deployment, "shop.", no_name),
        (Key::Deployment, long.as_str(), no_name),
        (Key::Deployment, "", "it is empty; write what it is called, or leave it out"),
        (Key::Container, "a_b", no_name),
        (Key::Service, "a b", no_name),
        (Key::Namespace, "web/shop", no_name),
        (Key::Context, " ", "it is empty"),
        (Key::GeneratorImage, "", "it is empty"),
        (
            Key::GeneratorImagePullPolicy,
            "always",
            "it is unknown (did you mean 'Always'?); choose Always, IfNotPresent or Never",
        ),
        (Key::Generators, "0", "it is no whole number from 1 to 256"),
        (Key::Generators, "257", "it is no whole number from 1 to 256"),
        (Key::GeneratorCpus, "0", "0 is not a number of cores above zero"),
        (Key::GeneratorCpus, "65", "it must lie between 0.001 and 64"),
    ] {
        let error = here.refused(&deployment().with(key, value));
        let expected = format!("--{} '{value}': {expected}", key.name());
        assert!(error.starts_with(&expected), "{error}\n{expected}");
    }
    assert!(here.plan(&deployment().with(Key::Deployment, "a.b-1")).cluster.is_some());
}
