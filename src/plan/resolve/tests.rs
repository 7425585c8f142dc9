use crate::terms::{FlagPlace, PlanSource, PlannedGoal, PlannedValue};
use std::fs;

use super::*;
use crate::plan::Invoker;
use crate::report::Language;
use crate::report::planned;

const EN: Language = Language::English;

/// An app's folder beside a folder of programs, on a machine of two cores and 8 GiB.
struct Here {
    folder: tempfile::TempDir,
    surroundings: Surroundings,
}

impl Here {
    fn new(plan: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        let programs = folder.path().join("programs");
        fs::create_dir(&app).unwrap();
        fs::create_dir(&programs).unwrap();
        fs::write(app.join("config.ru"), "run App\n").unwrap();
        let of_servers = ADAPTERS.iter().filter_map(|adapter| adapter.about().programs.first());
        for program in of_servers.chain(&["nginx"]) {
            fs::write(programs.join(program), "").unwrap();
        }
        if !plan.is_empty() {
            fs::write(app.join("sweetspot.toml"), plan).unwrap();
        }
        let surroundings = Surroundings::of_test(app, [programs]);
        Self { folder, surroundings }
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.surroundings.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn resolve(&self, typed: &Typed) -> Plan {
        resolve(typed, &self.surroundings).unwrap()
    }

    fn refuse(&self, typed: &Typed) -> String {
        resolve(typed, &self.surroundings).unwrap_err().to_string()
    }
}

fn line<'p>(plan: &'p Plan, what: &str) -> (&'static str, &'p PlanSource) {
    let record = plan.records.iter().find(|it| planned::label(&it.value, EN) == what);
    let record = record.unwrap_or_else(|| panic!("no line about {what}"));
    (planned::value(&record.value, EN).leak(), &record.source)
}

#[test]
fn without_flags_and_plan_everything_has_its_default() {
    let here = Here::new("");
    let plan = here.resolve(&Typed::default());
    let app = fs::canonicalize(&here.surroundings.folder).unwrap();
    let rows: Vec<_> = plan.records.iter().map(|it| planned::row_of(it, EN)).collect();
    let lines: Vec<_> = rows
        .iter()
        .zip(&plan.records)
        .map(|(row, record)| (row.what.as_str(), row.value.as_str(), &record.source))
        .collect();
    assert_eq!(
        lines,
        [
            ("app", format!("{} (Rack)", app.display()).as_str(), &PlanSource::App),
            ("server", "puma", &PlanSource::Default),
            ("workers", "1..4", &PlanSource::Default),
            ("threads", "1..3,5,8,16", &PlanSource::Default),
            ("targets", "GET /", &PlanSource::Default),
            (
                "SLO",
                "p95 < 10 x unloaded p95 (50 to 200 ms; at least 3 x), errors < 0.1 %",
                &PlanSource::Default,
            ),
            ("goal", "the highest capacity", &PlanSource::Default),
            ("cores", "all (2)", &PlanSource::Default),
            ("memory", "all (8.0 GiB)", &PlanSource::Default),
            ("arrivals", "poisson", &PlanSource::Default),
            ("connection", "fresh", &PlanSource::NoReverseProxy),
            ("timeout", "10s", &PlanSource::Default),
            ("budget", "8m", &PlanSource::Default),
            ("precision", "as the budget allows", &PlanSource::Default),
            ("environment", "production", &PlanSource::Default),
            ("ready path", "/", &PlanSource::Default),
            ("db connections", "no limit", &PlanSource::Default),
            ("seed", "1", &PlanSource::Default),
            ("store", ".sweetspot/sweetspot.db", &PlanSource::Default),
        ]
    );
    assert_eq!(plan.goal, PlannedGoal::FromUnloaded);
    assert_eq!(plan.store, here.surroundings.folder.join(".sweetspot/sweetspot.db"));
    assert_eq!((plan.cores, plan.memory, plan.db_connections), (None, None, None));
    assert_eq!(plan.boot_timeout, None);
    assert!(!plan.assume_yes);
}

/// Each setting in the plan file and as a flag, and how the printed value reads then.
const EVERY_SETTING: &[(Key, &str, &str, &str, &str)] = &[
    (Key::Server, "server", "\"puma\"", "puma", "puma"),
    (Key::Proxy, "proxy", "\"nginx\"", "nginx", "nginx"),
    (Key::Workers, "workers", "[4, 2]", "1..=3", "1..3"),
    (Key::Threads, "threads", "\"1..8\"", "2", "2"),
    (Key::Slo, "SLO", "\"p99<1s\"", "p95<300ms, errors<1%", "p95<300ms,errors<1%"),
    (Key::Rate, "goal", "60", "120/s", "the least memory for 120/s"),
    (
        Key::PricePerCoreHour,
        "goal",
        "0.04",
        "0.05",
        "the lowest cost (0.05 a core and hour, 0 a GiB and hour)",
    ),
    (Key::Cpus, "cores", "1", "1.5", "1.5"),
    (Key::Memory, "memory", "\"1GiB\"", "512m", "512 MiB"),
    (Key::Arrivals, "arrivals", "\"poisson\"", "uniform", "uniform"),
    (Key::Connection, "connection", "\"fresh\"", "keep-alive", "keep-alive"),
    (Key::Timeout, "timeout", "\"5s\"", "2500ms", "2s500ms"),
    (Key::Budget, "budget", "\"1h30m\"", "90s", "1m30s"),
    (Key::Soak, "soak", "\"1h\"", "30m", "30m"),
    (Key::Precision, "precision", "\"2%\"", "0.05", "±5 %"),
    (Key::Probe, "probe", "true", "true", "on"),
    (Key::Ready, "ready path", "\"/up\"", "/health?token=x", "/health?…"),
    (Key::BootTimeout, "boot timeout", "\"90s\"", "5m", "5m"),
    (Key::DbConnections, "db connections", "90", "40", "at most 40"),
    (Key::Seed, "seed", "7", "18446744073709551615", "18446744073709551615"),
];

#[test]
fn flags_come_before_the_plan_file_and_that_before_defaults() {
    for (key, what, in_file, flag, printed) in EVERY_SETTING {
        let here = Here::new(&format!("\n{} = {in_file}\n", key.name()));
        let plan = here.resolve(&Typed::default());
        assert_eq!(line(&plan, what).1, &PlanSource::PlanFile { line: 2 }, "{what}");
        let plan = here.resolve(&Typed::default().with(*key, *flag));
        assert_eq!(line(&plan, what), (*printed, &PlanSource::Flag), "{what}");
    }
}

#[test]
fn values_from_a_plan_file_mean_the_same_as_typed_ones() {
    let here = Here::new(
        "workers = [4, 2, 2]\ncpus = 1.5\nslo = \"p95<100ms\"\nconnection = \"keep-alive\"\n",
    );
    let plan = here.resolve(&Typed::default());
    assert_eq!(plan.workers, [Workers::new(2).unwrap(), Workers::new(4).unwrap()]);
    assert_eq!(plan.cores, Some(Cores::new(1.5).unwrap()));
    assert_eq!(plan.goal, PlannedGoal::Given("p95<100ms".parse().unwrap()));
    assert_eq!(plan.connection, ConnectionMode::KeepAlive);
}

#[test]
fn the_default_workers_follow_the_cores_asked_for() {
    let here = Here::new("");
    for (cpus, most) in [("1", 2), ("1.5", 4), ("0.5", 2)] {
        let plan = here.resolve(&Typed::default().with(Key::Cpus, cpus));
        assert_eq!(plan.workers.last().unwrap().get(), most, "{cpus}");
        assert_eq!(line(&plan, "workers").1, &PlanSource::Default);
    }
}

#[test]
fn more_workers_are_tried_by_default_where_a_worker_has_one_thread() {
    let plan = Here::new("").resolve(&Typed::default().with(Key::Server, "unicorn"));
    assert_eq!(line(&plan, "workers").0, "1..4,6,8,12,16");
}

#[test]
fn the_goal_follows_from_what_is_given() {
    let typed = |goal: &str, rate: &str, price: &str| {
        [(Key::Goal, goal), (Key::Rate, rate), (Key::PricePerGibHour, price)]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .fold(Typed::default(), |typed, (key, text)| typed.with(key, text))
    };
    for (goal, rate, price, expected, source) in [
        ("", "", "", "the highest capacity", PlanSource::Default),
        ("", "120/s", "", "the least memory for 120/s", PlanSource::Flag),
        ("latency", "90/m", "", "the lowest p95 at 1.50/s", PlanSource::Flag),
        (
            "",
            "",
            "0.005",
            "the lowest cost (0 a core and hour, 0.005 a GiB and hour)",
            PlanSource::Flag,
        ),
        (
            "",
            "50",
            "1",
            "the lowest cost at 50.0/s (0 a core and hour, 1 a GiB and hour)",
            PlanSource::Flag,
        ),
    ] {
        let plan = Here::new("").resolve(&typed(goal, rate, price));
        assert_eq!(line(&plan, "goal"), (expected, &source), "{goal} {rate} {price}");
    }
    let plan = Here::new("rate = 120\ngoal = \"latency\"\n").resolve(&Typed::default());
    assert_eq!(line(&plan, "goal").0, "the lowest p95 at 120/s");
    let error = Here::new("").refuse(&typed("capacity", "120/s", ""));
    assert!(error.contains("--rate '120/s': the highest capacity is asked for at no rate"));
}

#[test]
fn impossible_values_are_named_with_place_value_and_way_out() {
    for (key, value, expected) in [
        (Key::Workers, "4..1", "4..1 ends before it begins; write 1..4"),
        (Key::Workers, "0", "0 is impossible: at least 1 is needed to serve anything; begin at 1"),
        (Key::Workers, "", "the list is empty; write for example 1..4 or 1,2,4,8"),
        (Key::Threads, "2000", "2000 is more than 1024, the most that is tried"),
        (Key::Threads, "NaN", "'NaN' is no whole number; write for example 1..4 or 1,2,4,8"),
        (Key::Server, "pumq", "it is unknown (did you mean 'puma'?); choose puma, unicorn, "),
        (Key::Server, "iodine", "it is unknown; choose puma, unicorn, thin, uvicorn, "),
        (Key::Slo, "p95", "'p95' is no SLO term; write a quantile such as 'p95<200ms' or"),
        (Key::Goal, "speed", "it is unknown; choose capacity, memory, latency or cost"),
        (Key::Goal, "memory", "it needs the rate to be served; give it with --rate, such as"),
        (Key::Goal, "latency", "it needs the rate to be served; give it with --rate, such as"),
        (Key::Goal, "cost", "it needs a price; give --price-per-core-hour, --price-per-gib-hour"),
        (Key::Rate, "0", "nobody would be served; give the rate that is to be served, such as"),
        (Key::Rate, "-5/s", "-5 is not a rate such as 200/s or 90/m"),
        (Key::PricePerCoreHour, "-0.04", "it is no price; give what an hour costs, 0 or more"),
        (Key::PricePerGibHour, "cheap", "it is no price; give what an hour costs, 0 or more"),
        (Key::PricePerGibHour, "0", "nothing would cost anything; give a price above 0 for"),
        (Key::Cpus, "0", "0 is not a number of cores above zero"),
        (Key::Cpus, "nan", "NaN is not a number of cores above zero"),
        (Key::Cpus, "64", "this machine has 2 cores; ask for at most that, or leave it out to"),
        (Key::Memory, "64GiB", "this machine has 8.0 GiB; ask for at most that"),
        (Key::Memory, "4", "it must lie between 16 MiB and 8.0 GiB"),
        (Key::Memory, "plenty", "'plenty' is not an amount of memory such as 512MiB or 4GiB"),
        (Key::Arrivals, "poison", "it is unknown (did you mean 'poisson'?); choose poisson or"),
        (Key::Connection, "keepalive", "it is unknown (did you mean 'keep-alive'?); choose fresh"),
        (Key::Timeout, "1ms", "it must lie between 10ms and 1h"),
        (Key::Timeout, "200ms", "the SLO allows a reply 200ms, so that"),
        (Key::Budget, "10", "'10' is not a duration such as 500ms, 90s, 10m or 1h30m"),
        (Key::Budget, "19s", "it must lie between 20s and 24h"),
        (Key::Budget, "25h", "it must lie between 20s and 24h"),
        (Key::BootTimeout, "120", "'120' is not a duration such as 500ms, 90s, 10m or 1h30m"),
        (Key::BootTimeout, "999ms", "it must lie between 1s and 30m"),
        (Key::BootTimeout, "31m", "it must lie between 1s and 30m"),
        (Key::Place, "cloud", "it is unknown; choose local or kubernetes"),
        (Key::DbConnections, "0", "it is no whole number from 1 to 1000000"),
        (Key::DbConnections, "many", "it is no whole number from 1 to 1000000"),
        (Key::Seed, "-1", "it is no whole number from 0 to 18446744073709551615"),
    ] {
        let as_flag = Here::new("").refuse(&Typed::default().with(key, value));
        let expected_flag = format!("--{} '{value}': {expected}", key.name());
        assert!(as_flag.starts_with(&expected_flag), "{as_flag}\n{expected_flag}");

        let quoted = match key {
            Key::Cpus | Key::DbConnections | Key::Seed if value.parse::<f64>().is_ok() => {
                value.to_string()
            }
            _ => format!("{value:?}"),
        };
        let here = Here::new(&format!("# first\n{} = {quoted}\n", key.name()));
        let in_file = here.refuse(&Typed::default());
        let expected_file =
            format!("sweetspot.toml line 2: {} = '{value}': {expected}", key.name());
        assert!(in_file.starts_with(&expected_file), "{in_file}\n{expected_file}");
    }
}

#[test]
fn a_grid_that_the_database_connections_rule_out_is_refused() {
    let typed = Typed::default()
        .with(Key::Workers, "2..4")
        .with(Key::Threads, "5")
        .with(Key::DbConnections, "9");
    let error = Here::new("").refuse(&typed);
    let expected = "--db-connections '9': the smallest configuration, 2 workers x 5 threads, can \
                    hold 10 connections at once; allow at least 10";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn the_timeout_stays_above_the_goal() {
    let here = Here::new("");
    let slow = Typed::default().with(Key::Slo, "p50<1s,p99<8s");
    assert_eq!(here.resolve(&slow).timeout, Duration::from_secs(16));
    let error = here.refuse(&slow.with(Key::Timeout, "8s"));
    assert!(error.contains("set a timeout above 8s"), "{error}");
    let errors_only = Typed::default().with(Key::Slo, "errors<1%").with(Key::Timeout, "50ms");
    assert_eq!(here.resolve(&errors_only).timeout, Duration::from_millis(50));
}

#[test]
fn a_boot_timeout_is_kept_up_to_its_bounds() {
    for (text, seconds) in [("1s", 1), ("2m30s", 150), ("30m", 1800)] {
        let plan = Here::new("").resolve(&Typed::default().with(Key::BootTimeout, text));
        assert_eq!(plan.boot_timeout, Some(Duration::from_secs(seconds)), "{text}");
    }
}

#[test]
fn targets_that_were_typed_replace_those_of_the_plan_file() {
    let here = Here::new("[[target]]\npath = \"/file?key=secret\"\nweight = 2\n");
    let plan = here.resolve(&Typed::default());
    assert_eq!(
        line(&plan, "targets"),
        ("GET /file?… (weight 2)", &PlanSource::PlanFile { line: 1 })
    );
    assert_eq!(plan.app.ready_path, "/file?key=secret");
    assert_eq!(line(&plan, "ready path").0, "/file?…");

    here.write("mix", "POST /orders\nGET /listed\n");
    let typed =
        Typed::default().with(Key::Target, "HEAD /typed weight=3").with_path(Key::Targets, "mix");
    let plan = here.resolve(&typed);
    let expected = "HEAD /typed (weight 3), POST /orders, GET /listed";
    assert_eq!(line(&plan, "targets"), (expected, &PlanSource::Flag));
    assert_eq!(plan.app.ready_path, "/listed", "the first that is a GET");
}

#[test]
fn a_target_with_a_goal_of_its_own_is_left_out_of_the_common_one() {
    let here = Here::new(
        "slo = \"p95<300ms\"\n[[target]]\npath = \"/\"\n[[target]]\n\
                          path = \"/report\"\nslo = \"p95<8s\"\n",
    );
    let plan = here.resolve(&Typed::default());
    assert_eq!(plan.goals().list().to_string(), "p95<300ms; GET /report: p95<8s");
    assert_eq!(line(&plan, "targets").0, "GET /, GET /report (p95<8s)");
    assert_eq!(line(&plan, "SLO").0, "p95<300ms for targets without their own");
    assert_eq!(plan.timeout, Duration::from_secs(16), "twice the longest limit");
    let error = here.refuse(&Typed::default().with(Key::Timeout, "8s"));
    assert!(error.contains("set a timeout above 8s"), "{error}");

    here.write("mix", "GET /a slo=p95<1s\n\n/b slo=p95\n");
    let listed = Typed::default().with_path(Key::Targets, "mix");
    let error = here.refuse(&listed);
    assert!(error.contains("mix line 3: its goal cannot be read: 'p95' is no SLO term"), "{error}");
}

#[test]
fn goals_of_their_own_for_every_target_leave_none_for_a_common_one() {
    let here = Here::new("");
    let target = ["GET /a slo=p95<1s", "GET /b slo=p95<2s"];
    let own = Typed::default().with_all(Key::Target, target);
    let plan = here.resolve(&own);
    assert_eq!(line(&plan, "SLO"), ("each target's own", &PlanSource::Default));
    let error = here.refuse(&own.clone().with(Key::Slo, "p95<3s"));
    let expected = "--slo 'p95<3s': every target has a goal of its own";
    assert!(error.starts_with(expected), "{error}");
    let target = ["GET /a slo=p95<1s", "GET /a slo=p95<2s"];
    let error = here.refuse(&Typed::default().with_all(Key::Target, target));
    assert!(error.starts_with("--target: 'GET /a' stands there twice with different"), "{error}");
}

#[test]
fn a_list_of_targets_named_in_the_plan_file_stands_beside_it() {
    let here = Here::new("");
    here.write("plans/quick.toml", "app = \"..\"\ntargets = \"mix\"\nstore = \"a.db\"\n");
    here.write("plans/mix", "/listed\n");
    let plan = here.resolve(&Typed { plan: Some("plans/quick.toml".into()), ..Typed::default() });
    assert_eq!(line(&plan, "targets"), ("GET /listed", &PlanSource::PlanFile { line: 2 }));
    assert_eq!(line(&plan, "store"), ("plans/a.db", &PlanSource::PlanFile { line: 3 }));
    assert_eq!(line(&plan, "app").1, &PlanSource::PlanFile { line: 1 });

    here.write("plans/mix", "\nlisted\n");
    let error = here.refuse(&Typed { plan: Some("plans/quick.toml".into()), ..Typed::default() });
    assert!(error.contains("mix line 2: the target names no path"), "{error}");
}

#[test]
fn typed_headers_come_before_a_targets_own_and_those_before_the_common_ones() {
    let here = Here::new(
        "headers = { accept = \"common\", X-One = \"common\", X-Two = \"common\" }\n\
         [[target]]\npath = \"/\"\nheaders = { X-One = \"own\", X-Two = \"own\" }\n",
    );
    let typed = Typed::default().with(Key::Header, "x-two: s3cret");
    let plan = here.resolve(&typed);
    let headers: Vec<_> =
        plan.targets[0].headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(headers, [("accept", "common"), ("X-One", "own"), ("x-two", "s3cret")]);
    let expected = "accept, X-One, x-two (values not shown)";
    assert_eq!(line(&plan, "headers"), (expected, &PlanSource::Flag));
    assert!(!format!("{:?}", plan.records).contains("s3cret"));
    assert!(!format!("{plan:?}").contains("s3cret"), "nor in a log of the whole plan");
}

#[test]
fn a_rails_app_that_forces_https_is_sent_what_its_proxy_would_send_unless_another_value_is_given() {
    let here = Here::new("");
    here.write("config/environments/production.rb", "  config.force_ssl = true\n");
    let plan = here.resolve(&Typed::default());
    assert_eq!(plan.targets[0].headers, [("X-Forwarded-Proto".into(), "https".into())]);
    let expected = "X-Forwarded-Proto (values not shown)";
    assert_eq!(line(&plan, "headers"), (expected, &PlanSource::App));
    let typed = Typed::default().with(Key::Header, "x-forwarded-proto: http");
    let plan = here.resolve(&typed);
    assert_eq!(plan.targets[0].headers, [("x-forwarded-proto".into(), "http".into())]);
    assert_eq!(line(&plan, "headers").1, &PlanSource::Flag);
}

#[test]
fn wrong_headers_and_targets_are_refused_without_repeating_them() {
    let here = Here::new("");
    let typed = Typed::default().with(Key::Header, "s3cret");
    let error = here.refuse(&typed);
    assert!(error.starts_with("--header: a header needs a ':'"), "{error}");
    assert!(!error.contains("s3cret"));
    let typed = Typed::default().with(Key::Target, "http://a:s3cret@b/");
    let error = here.refuse(&typed);
    assert!(error.starts_with("--target: a target is a path of the app, not a URL"), "{error}");
    assert!(!error.contains("s3cret"));
}

#[test]
fn a_wrong_ready_path_is_refused_without_repeating_its_secrets() {
    for (ready, expected) in [
        ("up", "the path 'up' does not begin with '/'"),
        ("http://a:s3cret@b/", "a target is a path of the app, not a URL"),
        ("/up?token=s3 cret", "the path contains ' '"),
    ] {
        let error = Here::new("").refuse(&Typed::default().with(Key::Ready, ready));
        assert!(error.starts_with(&format!("--ready: {expected}")), "{error}");
        assert!(!error.contains("s3"), "{error}");
        let error = Here::new(&format!("ready = \"{ready}\"")).refuse(&Typed::default());
        let expected = format!("sweetspot.toml line 1: ready: {expected}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn a_plan_is_named_as_a_file_or_a_folder() {
    let here = Here::new("seed = 5\n");
    let up = Surroundings { folder: here.folder.path().to_path_buf(), ..here.surroundings.clone() };
    for plan in ["app", "app/sweetspot.toml"] {
        let plan = resolve(&Typed { plan: Some(plan.into()), ..Typed::default() }, &up).unwrap();
        assert_eq!(plan.seed, 5);
        assert!(plan.app.folder.ends_with("app"), "the app beside the plan");
        assert_eq!(plan.store, up.folder.join(".sweetspot/sweetspot.db"), "in the current folder");
    }
    let typed = Typed { plan: Some("quick.toml".into()), ..Typed::default() };
    let error = resolve(&typed, &up).unwrap_err().to_string();
    assert!(error.starts_with("there is no plan quick.toml; name a plan file"), "{error}");
}

#[test]
fn a_folder_without_a_plan_file_is_tuned_with_the_defaults() {
    let here = Here::new("");
    let up = Surroundings { folder: here.folder.path().to_path_buf(), ..here.surroundings.clone() };
    let plan = resolve(&Typed { plan: Some("app".into()), ..Typed::default() }, &up).unwrap();
    assert!(plan.app.folder.ends_with("app"));
    let named = resolve(&Typed::default().with_path(Key::App, "app"), &up).unwrap();
    assert_eq!(line(&named, "app").1, &PlanSource::Flag);
}

#[test]
fn a_server_that_the_app_configures_is_found_in_the_app() {
    let here = Here::new("");
    here.write("config/puma.rb", "");
    let plan = here.resolve(&Typed::default());
    assert_eq!(line(&plan, "server"), ("puma", &PlanSource::App));
    let missing = Surroundings { program_folders: Vec::new(), ..here.surroundings.clone() };
    let error = resolve(&Typed::default(), &missing).unwrap_err().to_string();
    assert!(error.starts_with("puma is not in any folder of PATH"), "{error}");
    let invoker = Invoker { uid: 0, sudo_uid: Some(1000) };
    let below_sudo = Surroundings { invoker, ..missing };
    let error = resolve(&Typed::default(), &below_sudo).unwrap_err().to_string();
    assert!(error.contains("type `sudo env \"PATH=$PATH\"` in place of `sudo`"), "{error}");
    assert!(error.contains("else install it: `gem install puma`"), "{error}");
}

#[test]
fn a_server_without_threads_is_planned_in_workers_alone() {
    let here = Here::new("server = \"unicorn\"\n");
    let plan = here.resolve(&Typed::default());
    assert_eq!(line(&plan, "server"), ("unicorn", &PlanSource::PlanFile { line: 1 }));
    assert_eq!((plan.server.as_str(), plan.has_threads), ("unicorn", false));
    assert_eq!(plan.threads, [Threads::new(1).unwrap()]);
    assert_eq!(plan.workers.len(), 8);
    assert!(plan.records.iter().all(|it| !matches!(it.value, PlannedValue::Threads(_))));
    here.resolve(&Typed::default().with(Key::Threads, "1"));
    let puma = here.resolve(&Typed::default().with(Key::Server, "puma"));
    assert!(puma.has_threads && puma.threads.len() > 1);
}

#[test]
fn more_threads_than_a_server_has_are_refused() {
    let here = Here::new("");
    here.write("config/unicorn.rb", "");
    for threads in ["1,2", "2", "1..4"] {
        let error = here.refuse(&Typed::default().with(Key::Threads, threads));
        let expected = format!("--threads '{threads}': Unicorn runs one thread in each worker and");
        assert!(error.starts_with(&expected), "{error}");
        assert!(error.contains("--server"), "{error}");
    }
    let typed = Typed::default().with(Key::Workers, "3..4").with(Key::DbConnections, "2");
    let error = here.refuse(&typed);
    assert!(error.contains("the smallest configuration, 3 workers, can hold 3"), "{error}");
    assert!(!error.contains("thread"), "{error}");
}

#[test]
fn consent_is_carried_and_never_assumed() {
    let typed = Typed::default().with(Key::Yes, "true");
    let plan = Here::new("").resolve(&typed);
    assert!(plan.assume_yes);
    assert_eq!(plan.threads_source, PlanSource::Default);
}

#[test]
fn variables_of_the_app_are_named_and_never_shown() {
    let here = Here::new("[env]\nA = \"s3cret\"\nRACK_ENV = \"staging\"\n");
    let plan = here.resolve(&Typed::default());
    assert_eq!(line(&plan, "variables").0, "A, RACK_ENV (values not shown)");
    assert_eq!(line(&plan, "environment"), ("staging", &PlanSource::PlanFile { line: 1 }));
    assert_eq!(plan.app.env["A"], "s3cret");
    let typed = Typed::default().with(Key::Env, "A=other").with(Key::Env, "A=last=1");
    let plan = here.resolve(&typed);
    assert_eq!(plan.app.env["A"], "last=1", "what was typed last comes before the file");
    assert_eq!(line(&plan, "variables").1, &PlanSource::Flag);
    assert!(!format!("{:?}", plan.records).contains("s3cret"));
    let error = here.refuse(&Typed::default().with(Key::Env, "s3cret"));
    assert!(error.starts_with("--env: without a '='"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn the_probe_is_on_where_it_is_asked_for() {
    let probed = |plan: &Plan| {
        let is_shown = plan.records.iter().any(|it| matches!(it.value, PlannedValue::Probe(_)));
        assert_eq!(is_shown, plan.app.is_probed, "a line for what is not there would puzzle");
        plan.app.is_probed
    };
    let here = Here::new("");
    let with = |value: &str| Typed::default().with(Key::Probe, value);
    assert!(!probed(&here.resolve(&Typed::default())));
    assert!(probed(&here.resolve(&with("true"))));
    let here = Here::new("probe = true\n");
    assert!(probed(&here.resolve(&Typed::default())));
    assert!(!probed(&here.resolve(&with("false"))), "what was typed comes first");
    let error = here.refuse(&with("yes"));
    assert!(error.starts_with("--probe 'yes': it is unknown; choose true or false"), "{error}");
}

#[test]
fn a_server_that_the_probe_cannot_look_into_is_refused_with_those_that_it_can() {
    let here = Here::new("probe = true\nserver = \"uvicorn\"\n");
    here.write("asgi.py", "application = 1\n");
    let error = here.refuse(&Typed::default());
    let expected = "sweetspot.toml line 1: probe = 'true': the probe looks into Ruby's app servers \
                    (Puma, Unicorn and Thin), and uvicorn is none; leave it out";
    assert_eq!(error, expected);
    let plan = here.resolve(&Typed::default().with(Key::Probe, "false"));
    assert!(!plan.app.is_probed);
}

#[test]
fn an_app_has_the_size_that_its_deployment_gives_unless_it_is_given_nearer() {
    let here = Here::new("");
    here.write("Dockerfile", "ENV WEB_CONCURRENCY=3 RAILS_MAX_THREADS=5\n");
    here.write("Procfile", "web: puma -t 7:7\n");
    let plan = here.resolve(&Typed::default().with(Key::Env, "RAILS_MAX_THREADS=4"));
    let source = PlanSource::Deployment { files: vec!["Dockerfile".to_string()] };
    assert_eq!(line(&plan, "deployed with"), ("WEB_CONCURRENCY=3", &source));
    assert_eq!(line(&plan, "variables").0, "RAILS_MAX_THREADS (values not shown)");
    let env = |name: &str| plan.app.env.get(name).map(String::as_str);
    assert_eq!((env("WEB_CONCURRENCY"), env("RAILS_MAX_THREADS")), (Some("3"), Some("4")));
    assert_eq!(plan.app.flags.unwrap().threads, Some(7));

    let own = here.resolve(&Typed::default().with(Key::Start, "/bin/sleep {port}"));
    assert_eq!((own.app.env.len(), own.app.flags), (0, None));
}

#[test]
fn flags_that_a_server_keeps_are_shown_with_where_they_stand_and_without_secrets() {
    let place = |file: &str, variable: Option<&str>| FlagPlace {
        file: file.to_string(),
        variable: variable.map(str::to_string),
    };
    let is_shown =
        |plan: &Plan| plan.records.iter().any(|it| matches!(it.value, PlannedValue::KeptFlags(_)));
    let here = Here::new("server = \"gunicorn\"\n");
    here.write("wsgi.py", "application = 1\n");
    assert!(!is_shown(&here.resolve(&Typed::default())), "nothing is kept");
    here.write("Dockerfile", "ENV GUNICORN_CMD_ARGS=\"--keep-alive 5 -b :80\"\n");
    here.write(
        "Procfile",
        "web: gunicorn -w 3 --preload --max-requests=500 -e STAGE=s3cret wsgi\n",
    );
    let plan = here.resolve(&Typed::default());
    let places = vec![place("Procfile", None), place("Dockerfile", Some("GUNICORN_CMD_ARGS"))];
    let flags = "--keep-alive=5 --preload --max-requests=500 --env=STAGE=[hidden]";
    assert_eq!(line(&plan, "kept flags"), (flags, &PlanSource::DeployedFlags { places }));
    assert_eq!(plan.app.start_env["STAGE"], "s3cret");
    assert!(!format!("{:?}", plan.records).contains("s3cret"));

    // What a variable holds may be secret whatever it is called.
    let here = Here::new("server = \"uvicorn\"\n");
    here.write("asgi.py", "application = 1\n");
    here.write("Procfile", "web: uvicorn --root-path=$SHOP_ROOT --loop asyncio asgi:application\n");
    let plan = here.resolve(&Typed::default().with(Key::Env, "SHOP_ROOT=/s3cret-root"));
    let source = PlanSource::DeployedFlags { places: vec![place("Procfile", None)] };
    assert_eq!(line(&plan, "kept flags"), ("--root-path=$SHOP_ROOT --loop=asyncio", &source));
    assert_eq!(plan.app.start_flags[0], "--root-path=/s3cret-root");

    let here = Here::new("");
    here.write("Procfile", "web: puma -t 7:7 --preload\n");
    assert!(!is_shown(&here.resolve(&Typed::default())), "Puma keeps none");
}

#[test]
fn a_store_among_the_apps_pages_is_refused() {
    let here = Here::new("");
    let typed = |store: &str| Typed::default().with_path(Key::Store, store);
    let said = here.refuse(&typed("public/results.db"));
    assert!(said.contains("sends what lies there to whoever asks"), "{said}");
    for store in ["results.db", "public/.own/results.db", ".sweetspot/a.db"] {
        here.resolve(&typed(store));
    }
    fs::remove_file(here.surroundings.folder.join("config.ru")).unwrap();
    here.write("index.php", "<?php echo 1;");
    here.refuse(&typed("results.db"));
    here.resolve(&typed(".sweetspot/a.db"));
    here.resolve(&typed("../results.db"));
}
