//! The published experiments, run with the real servers, databases and caches: two of them, one
//! with database and cache, and by `make test-long` all.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::failures::site::{Running, Site, set_mode};
use crate::process::{Ended, ended, in_shell, long_ones_are_wanted};
use crate::schema::assert_valid;

fn site() -> Site {
    Site::working(&[])
}

/// Where an experiment that is not over keeps what it has measured.
fn kept(site: &Site, name: &str) -> PathBuf {
    site.path("app/.sweetspot").join(format!("lab-{name}-quick.json"))
}

/// A quick run, looked at for what every experiment must have. Nothing is asked of its figures that
/// another experiment beside it would change.
fn quick(name: &str) -> Value {
    quick_on(&site(), name)
}

fn quick_on(site: &Site, name: &str) -> Value {
    let ended = site.run(&["lab", "run", name, "--quick", "--json"]);
    // A machine that does other work leaves conclusions undecided.
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    let result = ended.json();
    assert_valid("lab.schema.json", &result);
    assert_eq!(result["lab"], name);
    for run in result["runs"].as_array().unwrap() {
        let measured = &run["measured"];
        assert!(measured.is_object(), "{run}");
        assert!(measured["throughput_rps"].as_f64().unwrap() > 0.0, "{run}");
        assert!(measured["success"].as_f64().unwrap() > 0.9, "{run}");
        assert!(measured["latency_s"]["p95"].as_f64().unwrap() > 0.0, "{run}");
        let parts: Vec<f64> = run["blocks"]["throughput_rps"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(Value::as_f64)
            .collect();
        assert!(!parts.is_empty(), "{run}");
        if run["setting"]["clients"].is_u64() {
            // A client that waits for its last reply long after the end takes nothing from it.
            let mean = parts.iter().sum::<f64>() / parts.len() as f64;
            let whole = measured["throughput_rps"].as_f64().unwrap();
            assert!((whole / mean - 1.0).abs() < 0.01, "{whole} and {mean}: {run}");
        }
    }
    assert!(!result["conclusions"].as_array().unwrap().is_empty(), "{result}");
    assert!(!kept(site, name).exists(), "what is over is not gone on with");
    result
}

/// The measured figures of the run with this many workers and, if given, clients.
fn run_of(result: &Value, workers: u64, clients: Option<u64>) -> &Value {
    let is_it = |run: &&Value| {
        let setting = &run["setting"];
        setting["workers"].as_u64() == Some(workers)
            && clients.is_none_or(|clients| setting["clients"].as_u64() == Some(clients))
    };
    result["runs"].as_array().unwrap().iter().find(is_it).unwrap()
}

#[test]
fn the_image_board_is_run_with_its_database_and_cache_and_their_cpu_apart() {
    let result = quick("isucon-unicorn");
    let one = run_of(&result, 1, Some(4));
    let services = one["measured"]["services_cpu_cores"].as_object().unwrap();
    assert_eq!(services.keys().collect::<Vec<_>>(), ["mariadb", "memcached"]);
    assert!(services["mariadb"].as_f64().unwrap() > 0.02, "its queries are real: {services:?}");
    assert!(one["measured"]["cpu_cores"].as_f64().unwrap() > 0.1, "{one}");
    assert_eq!(one["published"]["throughput_rps"], 12.66);
    let relative = one["relative_published"].as_f64().unwrap();
    assert!((relative - 12.66 / 6.62).abs() < 1e-9, "{relative}");
}

#[test]
fn the_do_nothing_app_is_run_as_published() {
    if !long_ones_are_wanted() {
        return;
    }
    let result = quick("noop-sinatra-puma");
    assert_eq!(run_of(&result, 2, None)["published"]["throughput_rps"], 19293.58);
    assert_eq!(result["published_machine"].as_str().unwrap().split(' ').next(), Some("MacBook"));
}

#[test]
fn six_kinds_of_work_are_run_with_the_database() {
    if !long_ones_are_wanted() {
        return;
    }
    // Its heaviest page computes so long that a busy machine answers none of them in a quick run.
    let result = quick_on(&Site::crowded(), "weight-sinatra-mysql");
    let targets: Vec<&str> = result["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["setting"]["target"].as_str().unwrap())
        .collect();
    assert!(targets.contains(&"calc_pi") && targets.contains(&"wait_for_db_long"), "{targets:?}");
}

#[test]
fn the_rails_api_is_run_at_rates_that_mean_as_much_work_here() {
    let result = quick("rails-puma");
    let scale = result["scale"].as_f64().unwrap();
    for run in result["runs"].as_array().unwrap() {
        let published = run["setting"]["rate_rps"].as_f64().unwrap();
        assert!((run["offered_rps"].as_f64().unwrap() / published - scale).abs() < 1e-9, "{run}");
    }
}

#[test]
fn thin_behind_nginx_is_run_with_one_process_and_as_many_as_cores() {
    if !long_ones_are_wanted() {
        return;
    }
    let result = quick("thin-nginx");
    let waiting = result["runs"].as_array().unwrap().iter();
    let mut waiting = waiting.filter(|run| run["setting"]["target"] == "io-heavy");
    let (one, twenty) = (waiting.next().unwrap(), waiting.next().unwrap());
    let rate = |run: &Value| run["measured"]["throughput_rps"].as_f64().unwrap();
    assert!(rate(one) < 10.5, "a client waits a tenth of a second each time: {one}");
    assert!(rate(twenty) > 2.0 * rate(one), "others are served meanwhile: {twenty}");
}

#[test]
fn light_pages_and_the_slow_one_have_figures_of_their_own() {
    if !long_ones_are_wanted() {
        return;
    }
    let result = quick("mixed-rails");
    for run in result["runs"].as_array().unwrap() {
        let kinds = run["measured"]["by_target"].as_array().unwrap();
        assert_eq!(kinds.len(), 4, "{run}");
        let slow = kinds.iter().find(|kind| kind["target"] == "GET /slow").unwrap();
        let p50 = slow["latency_s"]["p50"].as_f64();
        assert!(
            p50.is_none_or(|p50| p50 >= 2.0),
            "it asks a service that takes two seconds: {slow}"
        );
    }
}

#[test]
fn what_there_is_is_listed_and_shown_without_running_it() {
    let site = site();
    let list = site.run(&["lab", "list", "--json"]).json();
    assert_valid("labs.schema.json", &list);
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 8);
    for entry in list {
        let name = entry["name"].as_str().unwrap();
        assert!(entry["quick_s"].as_f64().unwrap() <= 45.0, "{entry}");
        assert!(entry["full_s"].as_f64() > entry["quick_s"].as_f64(), "{entry}");
        let shown = site.run(&["lab", "show", name]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(shown.stdout.contains("the rule: "), "{shown:?}");
    }
    let shown = site.run(&["lab", "show", "rails-puma"]).stdout;
    for text in ["workers 2, threads 8, rate_rps 120: 120/s", "p95 173 ms", "67 %"] {
        assert!(shown.contains(text), "{text} is missing in:\n{shown}");
    }
}

#[test]
fn a_name_that_is_none_is_answered_with_the_nearest() {
    let ended = site().run(&["lab", "run", "rails-pma", "--quick"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("did you mean 'rails-puma'?"), "{ended:?}");
}

/// A copy of an experiment in `app/mine`, with this changed in one of its files.
fn edited(site: &Site, name: &str, file: &str, from: &str, to: &str) -> Ended {
    let copied = site.run(&["lab", "show", name, "--copy-to", "mine", "--quiet"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let path = site.path("app/mine").join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    site.run(&["lab", "run", "./mine", "--quick", "--quiet"])
}

#[test]
fn a_copy_that_was_edited_wrongly_is_named_with_its_line() {
    for (file, from, to, code, expected) in [
        ("lab.toml", "clients = [40]", "clientz = [40]", 2, "unknown field `clientz`"),
        ("lab.toml", "server = \"puma\"", "server = \"pumma\"", 1, "pumma"),
        ("published.toml", "workers = 2", "workers = = 2", 2, "published.toml"),
        ("lab.toml", "[\"GET /\"]", "[\"GO /\"]", 2, "the target 'GO /'"),
        ("app/noop.rb", "ok:", "ok: raise('boom'), no:", 1, "500"),
    ] {
        let site = site();
        let ended = edited(&site, "noop-sinatra-puma", file, from, to);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(all.contains(expected), "{file} {to}: {ended:?}");
        if file.ends_with("toml") {
            assert_eq!(ended.code, Some(code), "{file} {to}: {ended:?}");
        }
    }
}

#[test]
fn a_database_that_does_not_come_up_is_said_with_its_own_last_lines() {
    let site = site();
    let programs = site.path("programs");
    fs::create_dir(&programs).unwrap();
    let broken = programs.join("mariadbd");
    fs::write(&broken, "#!/bin/sh\necho 'InnoDB: the disk is full' >&2\nexit 1\n").unwrap();
    set_mode(&broken, 0o755);
    let mut command = site.command(&["lab", "run", "isucon-unicorn", "--quick", "--quiet"]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}:/usr/sbin", programs.display()));
    let ended = Running::begin(command).end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for text in ["mariadb has ended: exit status 1", "InnoDB: the disk is full"] {
        assert!(ended.stderr.contains(text), "{ended:?}");
    }
    site.nothing_left.check();
}

/// Makes MariaDB take ten connections at most.
const TEN_CONNECTIONS: &str = "\
require 'mysql2'
socket, user = ENV.values_at('DATABASE_SOCKET', 'DATABASE_USER')
Mysql2::Client.new(socket: socket, username: user).query('SET GLOBAL max_connections = 10')
";

#[test]
fn a_database_that_refuses_connections_is_told_with_the_number_that_is_needed() {
    let site = site();
    let copied = site.run(&["lab", "show", "weight-sinatra-mysql", "--copy-to", "mine", "--quiet"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let mine = site.path("app/mine");
    fs::write(mine.join("app/few.rb"), TEN_CONNECTIONS).unwrap();
    fs::write(mine.join("app/SETUP"), "ruby few.rb\n").unwrap();
    let text = fs::read_to_string(mine.join("lab.toml")).unwrap();
    let (workers, clients) = ("workers = [1, \"cores\", 6]", "clients = [12]");
    assert!(text.contains(workers) && text.contains(clients), "{text}");
    let text = text.replace(workers, "workers = [24]").replace(clients, "clients = [48]");
    // What computes only says nothing here.
    let [computing, waiting] =
        ["calc_pi", "wait_for_db_long"].map(|it| format!("[[quick_runs]]\nname = \"{it}\""));
    let cut = text.find(&computing).unwrap()..text.find(&waiting).unwrap();
    let text = [&text[..cut.start], &text[cut.end..]].concat();
    fs::write(mine.join("lab.toml"), text).unwrap();
    let result = site.run(&["lab", "run", "./mine", "--quick", "--json"]).json();
    let runs = result["runs"].as_array().unwrap();
    let waiting = |run: &&Value| run["setting"]["target"] == "wait_for_db_long";
    let failure = runs.iter().find(waiting).unwrap()["failure"].as_str().unwrap();
    for text in ["refused connections", "24 workers x 1 thread need up to 24"] {
        assert!(failure.contains(text), "{failure}");
    }
}

#[test]
fn an_experiment_that_was_killed_leaves_nothing_and_goes_on_where_it_was() {
    let site = site();
    let arguments = ["lab", "run", "isucon-unicorn", "--quick", "--json"];
    let mut running = Running::begin(site.command(&arguments));
    running.expect("2/4");
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    site.nothing_left.check();
    let path = kept(&site, "isucon-unicorn");
    let left: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left["runs"].as_array().unwrap().len(), 2);

    // Figures of another machine are never set beside these.
    let elsewhere = fs::read_to_string(&path)
        .unwrap()
        .replace(left["machine"]["cpu_model"].as_str().unwrap(), "Another CPU");
    let own = fs::read_to_string(&path).unwrap();
    fs::write(&path, elsewhere).unwrap();
    let refused = site.run(&arguments);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("were measured on Another CPU"), "{refused:?}");

    fs::write(&path, own).unwrap();
    let ended = site.run(&arguments);
    assert!(ended.stderr.contains("2 of them were measured before"), "{ended:?}");
    let result = ended.json();
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    for (before, after) in left["runs"].as_array().unwrap().iter().zip(runs) {
        assert_eq!(before["measured"], after["measured"], "it is kept as it was");
    }
}

/// The script, and a program with three experiments, of which the second cannot be run here.
const LACKING: &str = r#"
mkdir scripts && cp "$PROJECT"/scripts/bench-labs scripts/
printf '#!/bin/sh\n%s\n' '
case "$*" in
    "lab list --quiet") echo one two three ;;
    *two*) echo "what two needs is not installed here" >&2; exit 1 ;;
    "lab run one"*) echo "{}"; exit 4 ;;
    *) echo "{}" ;;
esac' > sweetspot && chmod +x sweetspot
"#;

#[test]
fn an_experiment_that_cannot_be_run_here_is_left_out_of_the_bench_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    in_shell(folder.path(), LACKING, &[]);
    let mut bench = Command::new("sh");
    bench.arg("scripts/bench-labs").current_dir(folder.path());
    let ended = ended(bench.env("BINARY", "./sweetspot").env_remove("WHAT"));
    ended.assert_code(1);
    ended.assert_says(&["two needs", "1 left out: two;", "LABS='two' make bench-labs"]);
    let kept = |name: &str| folder.path().join(format!("target/bench-labs/{name}.json"));
    for name in ["one", "one-tune", "three", "three-tune"] {
        assert!(kept(name).exists(), "{name}: {ended:?}");
    }
    assert!(!kept("two").exists() && !kept("two-tune").exists(), "{ended:?}");
}
