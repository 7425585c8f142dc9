//! Tests of plan: `tune --dry-run` on folders made for it, as a user meets them.

use std::fs;
use std::path::Path;

use crate::process::{Ended, app as folder_with, ended, flat, program, sweetspot};

fn dry_run(folder: &Path, arguments: &[&str]) -> Ended {
    sweetspot(folder, &[&["tune", "--dry-run"], arguments].concat())
}

/// What is printed on standard output; the command succeeds.
fn shown(folder: &Path, arguments: &[&str]) -> String {
    let ended = dry_run(folder, arguments);
    ended.assert_code(0);
    ended.stdout
}

/// The line of a plan that begins so, with one space between its columns.
#[track_caller]
fn line_of(text: &str, what: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(what));
    flat(line.unwrap_or_else(|| panic!("no {what} in\n{text}")))
}

/// What is printed on standard error; the command ends with the code for a wrong plan.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let ended = dry_run(folder, arguments);
    ended.assert_code(2);
    assert!(ended.stdout.is_empty(), "nothing is shown of a plan that is wrong");
    ended.stderr
}

const RUN: (&str, &str) = ("config.ru", "run ->(env) { [200, {}, []] }\n");

#[test]
fn the_plan_is_shown_with_where_every_value_came_from() {
    let plan = ("sweetspot.toml", "# quick\nthreads = [1, 4]\n");
    let folder = folder_with(&[RUN, plan, ("config/puma.rb", "threads 5, 5\n")]);
    let text = shown(folder.path(), &["--workers", "1..3", "-H", "Authorization: Bearer s3cret"]);
    let line = |what: &str| line_of(&text, what);
    assert_eq!(line("workers"), "workers 1..3 (command line)");
    assert_eq!(line("threads"), "threads 1,4 (plan file, line 2)");
    assert_eq!(line("server"), "server puma (found in the app)");
    assert_eq!(line("budget"), "budget 8m (default)");
    assert_eq!(line("headers"), "headers Authorization (values not shown) (command line)");
    assert!(!text.contains("s3cret"));
}

#[test]
fn the_probe_is_in_the_plan_or_refused_where_it_cannot_look() {
    let folder = folder_with(&[RUN]);
    let text = shown(folder.path(), &["--probe"]);
    assert_eq!(line_of(&text, "probe"), "probe on (command line)");
    assert!(!shown(folder.path(), &[]).contains("probe"));
    let folder = folder_with(&[("server.js", "require('http')\n")]);
    let text = refused(folder.path(), &["--probe", "--entry", "server.js"]);
    for part in ["--probe", "Ruby's app servers (Puma, Unicorn and Thin)", "leave it out"] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
}

#[test]
fn a_script_gets_the_plan_as_json() {
    let folder = folder_with(&[RUN]);
    let rows: serde_json::Value =
        serde_json::from_str(&shown(folder.path(), &["--json", "--seed", "7"])).unwrap();
    let seed = rows.as_array().unwrap().iter().find(|row| row["what"] == "seed").unwrap();
    assert_eq!(seed["value"], "7");
    assert_eq!(seed["source"], "command line");
}

#[test]
fn flags_that_gunicorn_keeps_are_shown_and_given_to_a_script_with_their_file() {
    let command = "web: gunicorn --bind 0.0.0.0:$PORT --preload --max-requests 500 wsgi\n";
    let folder = folder_with(&[("wsgi.py", "application = 1\n"), ("Procfile", command)]);
    let line = line_of(&shown(folder.path(), &[]), "kept flags");
    assert_eq!(line, "kept flags --preload --max-requests=500 (Procfile)");
    let text = shown(folder.path(), &["--lang", "ja"]);
    assert!(text.lines().any(|line| line.starts_with("本番のフラグ")), "{text}");
    let rows: serde_json::Value = serde_json::from_str(&shown(folder.path(), &["--json"])).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["what"] == "kept flags").unwrap();
    let fact = serde_json::json!({
        "what": "kept_flags",
        "value": ["--preload", "--max-requests=500"],
        "source": { "from": "deployed_flags", "places": [{ "file": "Procfile" }] },
    });
    assert_eq!(row["fact"], fact);
}

#[test]
fn looking_at_an_app_changes_nothing_in_its_folder() {
    let folder = folder_with(&[RUN]);
    shown(folder.path(), &[]);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["config.ru"]);
}

/// Files, and what is said of them.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn an_app_that_cannot_be_tuned_ends_with_code_2_and_the_way_out() {
    let rows: &[Row] = &[
        (&[], &["sweetspot: no app found: there is no config.ru", "--app DIR"]),
        (
            &[("shop/config.ru", ""), ("admin/config.ru", "")],
            &["2 apps found", "admin, shop; choose one, such as --app admin"],
        ),
        (
            &[("app.rb", "require \"sinatra\"\n")],
            &["looks like a Sinatra app", "run Sinatra::Application"],
        ),
        (&[("package.json", "{}")], &["looks like a Node.js app", "--entry server.js"]),
        (
            &[RUN, ("Gemfile", ""), ("Gemfile.lock", "GEM\n  specs:\n    falcon (0.4)\n")],
            &["names the server falcon, which is not supported", "bundle install"],
        ),
        (
            &[RUN, ("Gemfile", ""), ("Gemfile.lock", "GEM\n  specs:\n    rack (3.0.0)\n")],
            &["does not name puma, unicorn or thin; add gem \"puma\"", "--server puma"],
        ),
        (&[RUN, ("Gemfile", "")], &["no lock file Gemfile.lock", "bundle install"]),
    ];
    for (files, expected) in rows {
        let folder = folder_with(files);
        let error = refused(folder.path(), &[]);
        for part in *expected {
            assert!(error.contains(part), "{files:?}\n{error}");
        }
    }
}

#[test]
fn puma_that_is_not_installed_is_said_before_anything_starts() {
    let folder = folder_with(&[RUN]);
    let mut command = program(folder.path());
    let ended = ended(command.args(["tune", "--dry-run"]).env("PATH", ""));
    ended.assert_code(2);
    let error = ended.stderr;
    assert!(error.contains("puma is not in any folder of PATH; install it:"), "{error}");
}

#[test]
fn a_unicorn_app_is_planned_in_workers_and_refused_threads_in_plain_words() {
    let folder = folder_with(&[RUN, ("config/unicorn.rb", "worker_processes 2\n")]);
    let text = shown(folder.path(), &[]);
    assert_eq!(line_of(&text, "server"), "server unicorn (found in the app)");
    assert!(text.contains("\nworkers ") && !text.contains("thread"), "{text}");
    let error = refused(folder.path(), &["--threads", "1,2"]);
    let expected = "--threads '1,2': Unicorn runs one thread in each worker and cannot run more";
    assert!(error.contains(expected), "{error}");
    shown(folder.path(), &["--threads", "1,2", "--server", "puma"]);
}

#[test]
fn a_wrong_plan_file_is_named_with_key_line_and_way_out() {
    for (plan, expected) in [
        ("\nworker = 2\n", "sweetspot.toml line 2: unknown key 'worker' (did you mean 'workers'?)"),
        ("workers = \"4..1\"", "sweetspot.toml line 1: workers = '4..1': 4..1 ends before it"),
        ("\n\nworkers = 0", "sweetspot.toml line 3: workers = '0': 0 is impossible"),
        ("threads = []", "sweetspot.toml line 1: threads = '': the list is empty; write"),
        ("cpus = nan", "sweetspot.toml line 1: cpus = 'nan': NaN is not a number of cores"),
        ("budget = 600", "sweetspot.toml line 1: budget is a whole number, but should be"),
        ("slo = p95", "sweetspot.toml line 1: "),
    ] {
        let folder = folder_with(&[RUN, ("sweetspot.toml", plan)]);
        let error = refused(folder.path(), &[]);
        assert!(error.contains(expected), "{plan}\n{error}");
    }
}

#[test]
fn a_wrong_flag_is_named_with_its_value_and_way_out() {
    let folder = folder_with(&[RUN, ("mix", "GET /\n\nGRAB /\n")]);
    for (arguments, expected) in [
        (&["--workers", "0..2"], "--workers '0..2': 0 is impossible"),
        (&["--slo", "p95<fast"], "--slo 'p95<fast': 'fast' in 'p95<fast' is no latency limit"),
        (&["--budget", "5s"], "--budget '5s': it must lie between 20s and 24h"),
        (&["--targets", "mix"], "mix line 3: 'GRAB' is no method"),
        (&["--targets", "none"], "could not read "),
        (&["--app", "none"], "there is no folder "),
        (&["-o", "pdf"], "'pdf' is no report; write FORMAT or FORMAT=PATH"),
        (&["--place", "mars"], "--place 'mars': it is unknown; choose local or kubernetes"),
    ] {
        let error = refused(folder.path(), arguments);
        assert!(error.contains(expected), "{arguments:?}\n{error}");
    }
    let error = refused(folder.path(), &["none.toml"]);
    assert!(error.contains("there is no plan none.toml; name a plan file or a folder"), "{error}");
}

#[test]
fn a_plan_that_may_not_be_read_is_named() {
    // A folder in the place of the file is refused to everybody, also to root.
    let folder = folder_with(&[RUN, ("sweetspot.toml/inside", "")]);
    let error = refused(folder.path(), &[]);
    assert!(error.contains("could not read sweetspot.toml: "), "{error}");
}

#[test]
fn the_help_has_headings_and_an_example() {
    let ended = sweetspot(Path::new("."), &["tune", "--help"]);
    ended.assert_code(0);
    let text = ended.stdout;
    for part in
        ["What is tuned:", "What it may use:", "Examples:\n  sweetspot tune ", "--slo <GOAL>"]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn what_will_be_done_to_an_app_elsewhere_is_shown_before_it_is_done() {
    let folder = folder_with(&[]);
    let elsewhere = ["--url", "http://10.0.0.7", "--cpus", "2", "--memory", "2GiB"];
    let by = ["--apply", "deploy s3cret {workers} {threads}", "--restore", "undo s3cret"];
    let text = shown(folder.path(), &[&elsewhere[..], &by].concat());
    let steps = text.split("\n\n").nth(1).unwrap_or_default();
    let expected = "each start  your command (--apply) is run\n\
                    at the end  your command (--restore) is run\n";
    assert_eq!(steps, expected, "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    let json = shown(folder.path(), &[&elsewhere[..], &by, &["--json"]].concat());
    let lines: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let step = &lines.last().unwrap()["step"];
    let last =
        serde_json::json!({"when": "at_end", "fact": "run_own_command", "flag": "--restore"});
    assert_eq!(step, &last);
}
