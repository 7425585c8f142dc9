use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::plan::{Plan, Surroundings, Typed, resolve};
use crate::report::Language;
use crate::report::planned;
use crate::server::Proxy;
use crate::terms::PlanSource;

/// A folder without anything that is recognised, and programs `serve`, `sh` and `nginx` in `PATH`.
struct Here {
    _folder: tempfile::TempDir,
    surroundings: Surroundings,
}

impl Here {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (app, programs) = (folder.path().join("app"), folder.path().join("programs"));
        fs::create_dir_all(app.join("bin")).unwrap();
        fs::create_dir(&programs).unwrap();
        for (program, mode) in [
            (programs.join("serve"), 0o755),
            (programs.join("sh"), 0o755),
            (programs.join("nginx"), 0o755),
            (app.join("bin/serve"), 0o755),
            (app.join("bin/plain"), 0o644),
            (app.join("here"), 0o755),
        ] {
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        }
        let surroundings = Surroundings::of_test(app, [programs]);
        Self { _folder: folder, surroundings }
    }

    fn plan(&self, typed: &Typed) -> Plan {
        resolve(typed, &self.surroundings).unwrap()
    }

    fn refused(&self, typed: &Typed) -> String {
        resolve(typed, &self.surroundings).unwrap_err().to_string()
    }
}

fn start(command: &str) -> Typed {
    Typed::default().with(Key::Start, command)
}

fn with_env(command: &str, env: &[&str]) -> Typed {
    start(command).with_all(Key::Env, env.iter().copied())
}

fn line(plan: &Plan, what: &str) -> Option<(String, PlanSource)> {
    let rows = plan.records.iter().map(|it| (planned::row_of(it, Language::English), it));
    let (row, record) = rows.into_iter().find(|(row, _)| row.what == what)?;
    Some((row.value, record.source.clone()))
}

#[test]
fn a_command_makes_a_plan_of_a_folder_that_nothing_is_known_of() {
    let here = Here::new();
    let plan = here.plan(&start("serve '-n my app' -w {workers} -p {port}"));
    assert_eq!(plan.server, FOR_COMMANDS.name());
    let command = plan.app.command.as_ref().unwrap();
    assert_eq!(command.words, ["serve", "-n my app", "-w", "{workers}", "-p", "{port}"]);
    assert_eq!((command.stop_signal, command.today), (15, Configuration::new(1, 1).unwrap()));
    assert!(plan.workers.len() > 1);
    assert!(!plan.has_threads && line(&plan, "threads").is_none());
    assert_eq!(line(&plan, "server"), Some(("command serve".into(), PlanSource::Flag)));
    assert_eq!(line(&plan, "environment").unwrap().0, "the app's own");
    let app = line(&plan, "app").unwrap().0;
    assert!(app.ends_with("/app (started by a command)"), "{app}");
    assert_eq!(plan.app.proxy, Proxy::None);
}

#[test]
fn threads_are_tried_where_the_command_has_a_place_for_them() {
    let here = Here::new();
    let plan = here.plan(&with_env("serve {port}", &["RAILS_MAX_THREADS={threads}"]));
    assert!(plan.has_threads);
    assert_eq!(plan.threads.len(), 6);
    assert_eq!(plan.threads_source, PlanSource::Flag, "nobody has to be asked");
}

#[test]
fn without_a_place_for_workers_there_is_one_number_of_them() {
    let here = Here::new();
    let counts = |plan: &Plan| plan.workers.iter().map(|count| count.get()).collect::<Vec<_>>();
    assert_eq!(counts(&here.plan(&start("serve {port}"))), [1]);
    let fixed = start("serve {port}").with(Key::Workers, "3");
    let plan = here.plan(&fixed);
    assert_eq!(counts(&plan), [3]);
    assert_eq!(plan.app.command.unwrap().today.workers.get(), 3);
    let named = here.plan(&with_env("serve {port}", &["WEB_CONCURRENCY=2"]));
    assert_eq!(counts(&named), [2]);
    let range = start("serve {port}").with(Key::Workers, "1..3");
    assert_eq!(
        here.refused(&range),
        "--workers '1..3': the command has no {workers} to fill in, so nothing would change; write \
         {workers} where the number belongs, or in a variable such as --env \
         WEB_CONCURRENCY={workers}"
    );
    let threads = start("serve {port}").with(Key::Threads, "1,2");
    assert!(here.refused(&threads).contains("has no {threads} to fill in"));
}

#[test]
fn a_socket_puts_nginx_in_front() {
    let here = Here::new();
    let plan = here.plan(&start("serve unix:{socket}"));
    assert_eq!(plan.app.proxy, Proxy::Nginx);
    assert_eq!(line(&plan, "proxy"), Some(("nginx".into(), PlanSource::Default)));
    let none = start("serve {socket}").with(Key::Proxy, "none");
    assert!(here.refused(&none).contains("a command with {socket} needs nginx"));
    let nginx = start("serve {port}").with(Key::Proxy, "nginx");
    assert!(here.refused(&nginx).contains("write {socket} in the command in place of {port}"));
}

#[test]
fn a_command_that_cannot_start_a_server_is_refused_with_the_way_out() {
    let here = Here::new();
    for (command, expected) in [
        ("", "--start: it is empty"),
        ("serve '{port}", "a quotation mark in it is never closed"),
        ("serve -w {wrokers} {port}", "{wrokers} is no place that can be filled in (did you mean"),
        ("serve -w {wrokers} {port}", "{workers}, {threads}, {port}, {socket}"),
        ("serve {print} {port}", "{print} is no place that can be filled in"),
        ("serve", "write {port} where the port belongs"),
        ("serve", "--env PORT={port}"),
        ("serve {port} {socket}", "both {port} and {socket}"),
        ("serve {port} && serve", "no shell is started, so '&&' would be a plain word"),
        ("serve {port} | cat", "so '|' would"),
        ("serve -p $PORT", "no shell is started, so $PORT would stay as it is"),
        ("KEY=s3cret serve {port}", "give it as --env 'KEY=...'"),
        ("srve {port}", "srve is not in any folder of PATH, nor in "),
        ("here {port}", "looked for only as ./here"),
        ("bin/none {port}", "bin/none is not in any folder"),
        ("bin/plain {port}", "bin/plain is no program that may be run"),
    ] {
        let error = here.refused(&start(command));
        assert!(error.starts_with("--start: ") && error.contains(expected), "{command}: {error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[test]
fn commands_of_many_kinds_are_taken() {
    let here = Here::new();
    for typed in [
        start("bin/serve {port}"),
        start("./here {port}"),
        start("sh -c 'exec serve -p $PORT'"),
        start("sh -c 'cd web && exec serve -p {port}'"),
        start("serve --json '{\"a\": 1}' {port}"),
        with_env("serve", &["PORT={port}"]),
        with_env("serve {port}", &["GREETING=Hello {name}"]),
        start("serve {port}").with(Key::Server, "command"),
    ] {
        here.plan(&typed);
    }
    let slip = here.refused(&with_env("serve {port}", &["POOL={thread}"]));
    assert!(slip.contains("did you mean {threads}?"), "{slip}");
}

#[test]
fn what_cannot_stand_beside_a_command_is_named() {
    let here = Here::new();
    for (typed, expected) in [
        (
            start("serve {port}").with(Key::Server, "puma"),
            "--server 'puma': the command of --start is the server",
        ),
        (Typed::default().with(Key::Server, "command"), "a command is needed"),
        (
            start("serve {port}").with(Key::Entry, "app:app"),
            "--entry 'app:app': the command of --start says by itself what it runs",
        ),
        (
            Typed::default().with(Key::StopSignal, "INT"),
            "--stop-signal 'INT': it is for a command of yours",
        ),
        (start("serve {port}").with_path(Key::App, "none"), "there is no folder "),
    ] {
        let error = here.refused(&typed);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn signals_are_read_by_name_and_number() {
    for (name, expected) in [
        ("TERM", 15),
        ("SIGINT", 2),
        ("quit", 3),
        ("HUP", 1),
        ("usr1", 10),
        ("sigusr2", 12),
        ("15", 15),
    ] {
        assert_eq!(stop_signal(name), Ok(expected), "{name}");
    }
    for name in ["TREM", "0", "32", "-1", "", "SIG"] {
        let error = stop_signal(name).unwrap_err().to_string();
        assert!(error.contains("TERM, INT, QUIT, HUP, USR1, USR2"), "{name}: {error}");
    }
}

#[test]
fn the_plan_file_says_the_same() {
    let here = Here::new();
    let file = "start = \"serve -w {workers}\"\nstop_signal = \"QUIT\"\n[env]\nPORT = \"{port}\"\n\
                WEB_CONCURRENCY = 2\n";
    fs::write(here.surroundings.folder.join("sweetspot.toml"), file).unwrap();
    let plan = here.plan(&Typed::default().with(Key::Env, "KEY=s3cret"));
    let command = plan.app.command.as_ref().unwrap();
    assert_eq!((command.stop_signal, command.today.workers.get()), (3, 2));
    assert_eq!(plan.app.env.len(), 3);
    let variables = line(&plan, "variables").unwrap();
    let names = "KEY, PORT, WEB_CONCURRENCY (values not shown)";
    assert_eq!(variables, (names.to_string(), PlanSource::Flag));
    assert_eq!(line(&plan, "server").unwrap().1, PlanSource::PlanFile { line: 1 });
}
