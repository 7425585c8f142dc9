//! gunicorn: a master that forks workers; with several threads each, or of a kind that the app's
//! own configuration names.
//!
//! In: an app and a configuration. Out: commands, files and rules for reading what gunicorn shows.
//! Must not run, read or write anything.

mod inspection;
mod settings;

use std::collections::BTreeMap;

use super::command_line;
use super::command_line::text;
use super::knobs::{Knob, Knobs, Values};
use super::python;
use super::{
    About, Accepts, Adapter, App, CommandLine, FlagNames, Framework, Inspection, InspectionError,
    KeptFlag, Launch, Listen, ProcessFacts, Recipe, Recommended, Takes,
};
use crate::terms::{Configuration, Role, Settings};

/// gunicorn.
pub struct Gunicorn;

const ABOUT: About = About {
    name: "gunicorn",
    title: "gunicorn",
    programs: &["gunicorn"],
    // gunicorn looks for the first of them only: the others are what its users call it and name
    // with -c.
    config_files: &[
        "gunicorn.conf.py",
        "config/gunicorn.conf.py",
        "config/gunicorn.py",
        "gunicorn_conf.py",
        "gunicorn_config.py",
    ],
    runs: &[Framework::Wsgi, Framework::Asgi],
    has_threads: true,
    install: &["pip install gunicorn", "apt install gunicorn"],
    flag_names: FlagNames {
        workers: &["-w", "--workers"],
        threads: &["--threads"],
        kind: &KIND,
        config: &["-c", "--config"],
        variable: Some("GUNICORN_CMD_ARGS"),
        kept: KEPT,
        ..FlagNames::NONE
    },
    knobs: Knobs { usual_file: Some(settings::USUAL_FILE), list: KNOBS },
    worker_timeout: Some("timeout"),
    causes: python::failure::CAUSES,
    ..About::NONE
};

/// The file in the scratch folder that is given to gunicorn, and reads the app's own.
const OVERLAY: &str = "sweetspot_gunicorn.py";

/// What can be tried of it.
const KNOBS: &[Knob] = &[
    Knob::new("preload_app", Values::Switch, |name, value| {
        let word = if value == "true" { "True" } else { "False" };
        format!("{name} = {word}")
    }),
    Knob::new("backlog", Values::Count, |name, value| format!("{name} = {value}")),
    Knob::new("keepalive", Values::Count, |name, value| format!("{name} = {value}")),
    Knob::new("worker_connections", Values::Count, |name, value| format!("{name} = {value}")),
];

/// Sockets and a master of somebody else's gunicorn.
const NOT_INHERITED: &[&str] = &["GUNICORN_FD", "GUNICORN_PID"];

/// By convention the number of workers and of threads: apps' settings read these.
const WORKERS: [&str; 2] = ["GUNICORN_WORKERS", "GUNICORN_PROCESSES"];
const THREADS: &str = "GUNICORN_THREADS";

/// The flags that name the kind of workers.
const KIND: [&str; 2] = ["-k", "--worker-class"];

/// The flags that are kept: how requests are worked on, and where the app is found. What it writes,
/// where it listens and who it runs as is ours.
const KEPT: &[KeptFlag] = &[
    KeptFlag::new("--preload", Takes::Nothing).of_knob("preload_app"),
    KeptFlag::new("--timeout", Takes::Word).short("-t"),
    KeptFlag::new("--graceful-timeout", Takes::Word),
    KeptFlag::new("--max-requests", Takes::Word),
    KeptFlag::new("--max-requests-jitter", Takes::Word),
    KeptFlag::new("--worker-connections", Takes::Word).of_knob("worker_connections"),
    KeptFlag::new("--keep-alive", Takes::Word).of_knob("keepalive"),
    KeptFlag::new("--backlog", Takes::Word).of_knob("backlog"),
    KeptFlag::new("--limit-request-line", Takes::Word),
    KeptFlag::new("--limit-request-fields", Takes::Word),
    KeptFlag::new("--limit-request-field_size", Takes::Word),
    KeptFlag::new("--no-sendfile", Takes::Nothing),
    KeptFlag::new("--forwarded-allow-ips", Takes::Word),
    KeptFlag::new("--chdir", Takes::OwnFolder),
    KeptFlag::new("--pythonpath", Takes::Folders),
    KeptFlag::new("--env", Takes::Variable).short("-e"),
];

/// The kind of worker that runs ASGI apps, in a package of its own.
const ASGI_WORKER: &str = "uvicorn.workers.UvicornWorker";

/// Do workers of this kind take several threads? `sync` becomes `gthread` with more than one.
fn takes_threads(worker_class: &str) -> bool {
    matches!(
        worker_class,
        "sync"
            | "gthread"
            | "gunicorn.workers.sync.SyncWorker"
            | "gunicorn.workers.gthread.ThreadWorker"
    )
}

impl Adapter for Gunicorn {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    /// Its threads' worker accepts without looking for a free one.
    fn accepts(&self, _version: (u32, u32)) -> Accepts {
        Accepts::AnyWithThreads
    }

    fn has_threads(&self, app: &App) -> bool {
        app.framework == Framework::Wsgi && app.worker_kind.as_deref().is_none_or(takes_threads)
    }

    /// Classes that take no threads are event loops: uvicorn's, gevent, eventlet, tornado.
    fn is_event_loop(&self, has_threads: bool) -> bool {
        !has_threads
    }

    fn worker_kind(&self, config: &str) -> Option<String> {
        python::assigned(config, "worker_class").map(str::to_string)
    }

    fn inspect(&self, app: &App) -> Option<CommandLine> {
        let config = app.server_config.as_deref().map(text).unwrap_or_default();
        let arguments = [vec![app.entry.clone(), config], app.kept_flags(KEPT)].concat();
        Some(python::inspect(app, &ABOUT, include_str!("inspect.py"), &arguments))
    }

    fn read_inspection(&self, app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
        inspection::read(app, self.has_threads(app), stdout)
    }

    fn launch(&self, launch: Launch<'_>) -> Recipe {
        let (arguments, env) = (arguments(launch), environment(launch));
        let command = command_line::start(launch.app, arguments, env, NOT_INHERITED);
        // A worker that cannot load the app ends gunicorn; one that just ends is started again, and
        // once may be an accident.
        let too_many = launch.configuration.workers.get().saturating_add(1);
        Recipe {
            files: vec![(OVERLAY.into(), overlay(launch))],
            ready_line: Some(python::ready_line(launch.configuration)),
            failure_line: Some(python::failing_workers(too_many)),
            ..Recipe::of(vec![command], launch.listen, libc::SIGTERM)
        }
    }

    fn role(&self, _configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        // With the setproctitle package they have titles; without it, they keep the master's
        // command line.
        process.role_below_master(|title| {
            title.starts_with("gunicorn: worker ") || title.contains(OVERLAY)
        })
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        settings::of(recommended, self.has_threads(recommended.app))
    }
}

/// The command line comes before GUNICORN_CMD_ARGS, and that before any file.
fn arguments(Launch { app, configuration, listen, scratch }: Launch<'_>) -> Vec<String> {
    let mut arguments = vec![app.program(&ABOUT).to_string()];
    let mut flag = |name: &str, value: String| arguments.extend([name.to_string(), value]);
    flag("--config", text(&scratch.join(OVERLAY)));
    flag("--bind", python::address(listen));
    flag("--workers", configuration.workers.to_string());
    flag("--threads", configuration.threads.to_string());
    flag("--worker-tmp-dir", text(scratch));
    if let Some(kind) = app.commands_kind() {
        flag(KIND[1], kind);
    }
    arguments.extend(app.kept_flags(KEPT));
    arguments.push(app.entry.clone());
    arguments
}

/// The variables by convention as well as the flags: logic inside the app's own settings, and its
/// database pool, read these and never see the flags.
fn environment(launch: Launch<'_>) -> BTreeMap<String, String> {
    let mut env = python::production(launch);
    let workers = launch.configuration.workers.to_string();
    env.extend(WORKERS.map(|name| (name.to_string(), workers.clone())));
    env.insert(THREADS.to_string(), launch.configuration.threads.to_string());
    env
}

fn overlay(Launch { app, listen, .. }: Launch<'_>) -> String {
    let own = app.server_config.as_deref().map(|config| python::quoted(&app.folder.join(config)));
    let port = match listen {
        Listen::Port(port) => port.to_string(),
        Listen::Socket(_) => "None".into(),
    };
    let usual = match app.framework {
        Framework::Asgi => format!("{{\"worker_class\": \"{ASGI_WORKER}\"}}"),
        _ => "{}".into(),
    };
    let knobs = format!("dict({})", ABOUT.knobs.lines(app).join(", "));
    // A path last: nothing is looked for in it.
    include_str!("overlay.py")
        .replace("SWEETSPOT_KNOBS = {}", &format!("SWEETSPOT_KNOBS = {knobs}"))
        .replace("globals().update(SWEETSPOT_USUAL)", &format!("globals().update({usual})"))
        .replace("= OWN_PORT", &format!("= {port}"))
        .replace("= OWN_FILE", &format!("= {}", own.as_deref().unwrap_or("None")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Flags;
    use crate::server::tests::{assert_roles, on_port, on_socket};

    fn app() -> App {
        App {
            server_config: Some("gunicorn.conf.py".into()),
            ..App::new("/srv/shop", Framework::Wsgi, "shop.wsgi:application")
        }
    }

    fn launch(app: &App, workers: u16, threads: u16) -> Recipe {
        on_port(&Gunicorn, app, workers, threads)
    }

    #[test]
    fn flags_and_variables_say_the_same() {
        let recipe = launch(&app(), 4, 3);
        assert_eq!(
            recipe.commands[0].arguments.join(" "),
            "gunicorn --config /tmp/scratch/sweetspot_gunicorn.py --bind 127.0.0.1:4000 \
             --workers 4 --threads 3 --worker-tmp-dir /tmp/scratch shop.wsgi:application"
        );
        let env = &recipe.commands[0].env;
        for name in ["WEB_CONCURRENCY", "GUNICORN_WORKERS", "GUNICORN_PROCESSES"] {
            assert_eq!(env[name], "4", "{name}");
        }
        assert_eq!(env["GUNICORN_THREADS"], "3");
        assert_eq!(env["PORT"], "4000");
        assert_eq!(env["PYTHONDONTWRITEBYTECODE"], "1");
        assert_eq!(env["FLASK_DEBUG"], "0");
        let flags = Flags { kind: Some("gevent".into()), ..Flags::default() };
        let arguments = &launch(&App { flags: Some(flags), ..app() }, 4, 1).commands[0].arguments;
        assert!(arguments.join(" ").contains(" --worker-class gevent "), "{arguments:?}");
    }

    #[test]
    fn flags_of_its_command_are_kept_but_for_those_of_knobs_that_are_tried() {
        let start_flags = ["--preload", "--max-requests=500"].map(String::from).into();
        let start_env = [
            ("STAGE".into(), "live".into()),
            ("FLASK_DEBUG".into(), "1".into()),
            ("PORT".into(), "80".into()),
            ("OWN".into(), "of the command".into()),
        ]
        .into();
        let env = [("OWN".into(), "of the user".into())].into();
        let mut app = App { start_flags, start_env, env, ..app() };
        let command = &launch(&app, 4, 3).commands[0];
        let line = command.arguments.join(" ");
        let kept = " --threads 3 --worker-tmp-dir /tmp/scratch --preload --max-requests=500 \
                    shop.wsgi:application";
        assert!(line.ends_with(kept), "{line}");
        let env = ["STAGE", "FLASK_DEBUG", "PORT"].map(|name| command.env[name].as_str());
        assert_eq!(env, ["live", "1", "4000"]);
        assert!(!command.env.contains_key("OWN"), "what the user says comes before it");
        let read = Gunicorn.inspect(&app).unwrap().arguments.join(" ");
        let kept = " shop.wsgi:application gunicorn.conf.py --preload --max-requests=500";
        assert!(read.ends_with(kept), "{read}");

        app.changed.settings.insert("preload_app".into(), "false".into());
        let tried = launch(&app, 4, 3);
        let line = tried.commands[0].arguments.join(" ");
        assert!(line.ends_with("/tmp/scratch --max-requests=500 shop.wsgi:application"), "{line}");
        assert!(tried.files[0].1.contains("preload_app = False"), "{}", tried.files[0].1);
    }

    #[test]
    fn a_program_of_the_apps_own_environment_comes_first() {
        let own = "/srv/shop/.venv/bin/gunicorn".to_string();
        let app = App { program: Some(own.clone()), ..app() };
        assert_eq!(launch(&app, 1, 1).commands[0].arguments[0], own);
    }

    #[test]
    fn the_overlay_reads_the_apps_own_file_whatever_its_name() {
        let app = App { folder: "/srv/a\"b".into(), ..app() };
        let overlay = &launch(&app, 1, 1).files[0].1;
        assert!(
            overlay.contains("SWEETSPOT_OWN = \"/srv/a\\\"b/gunicorn.conf.py\"\n"),
            "{overlay}"
        );
        assert!(overlay.contains("SWEETSPOT_PORT = 4000\n"), "{overlay}");
        assert!(overlay.contains("globals().update({})\n"), "{overlay}");
        let none = launch(&App { server_config: None, ..app }, 1, 1);
        assert!(none.files[0].1.contains("SWEETSPOT_OWN = None\n"));
    }

    #[test]
    fn asgi_apps_get_workers_that_run_them_and_nothing_is_said_of_threads() {
        let asgi = App::new("/srv/shop", Framework::Asgi, "main:app");
        assert!(!Gunicorn.has_threads(&asgi));
        let overlay = &launch(&asgi, 1, 1).files[0].1;
        assert!(overlay.contains("{\"worker_class\": \"uvicorn.workers.UvicornWorker\"}"));
        for (kind, expected) in [("gthread", true), ("sync", true), ("gevent", false)] {
            let app = App { worker_kind: Some(kind.into()), ..app() };
            assert_eq!(Gunicorn.has_threads(&app), expected, "{kind}");
            assert_eq!(Gunicorn.is_event_loop(expected), !expected, "{kind}");
        }
        assert!(Gunicorn.has_threads(&app()));
    }

    #[test]
    fn workers_of_uvicorns_are_ready_once_the_app_has_started_up() {
        let asgi = App::new("/srv/shop", Framework::Asgi, "main:app");
        let recipe = on_socket(&Gunicorn, &asgi, 1, 1);
        let config = "KNOWN_SETTINGS = []\nclass Config:\n    set = None\n";
        let server = "class Server:\n    started = False\n    async def startup(self):\n        \
                      self.started = True\n";
        let script = "import asyncio, os\nfrom sweetspot_gunicorn import post_worker_init\n\
                      from uvicorn.server import Server\n\
                      class Sync: pid = 7\nclass UvicornWorker: pid = 8\n\
                      class Own(UvicornWorker): pid = 9\n\
                      post_worker_init(Sync())\npost_worker_init(Own())\n\
                      os.write(2, b'starts up\\n')\nasyncio.run(Server().startup())\n";
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("gunicorn/__init__.py", ""),
            ("gunicorn/config.py", config),
            ("uvicorn/__init__.py", ""),
            ("uvicorn/server.py", server),
            (OVERLAY, recipe.files[0].1.as_str()),
            ("run.py", script),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut python = std::process::Command::new("python3");
        let said = python.arg("run.py").current_dir(folder.path()).output().unwrap().stderr;
        let expected = "sweetspot: worker 7 is ready\nstarts up\nsweetspot: worker 9 is ready\n";
        assert_eq!(String::from_utf8(said).unwrap(), expected);
    }

    #[test]
    fn every_worker_has_to_say_that_it_is_ready_and_those_that_end_are_counted() {
        let recipe = launch(&app(), 3, 1);
        let (ready, failed) = (recipe.ready_line.unwrap(), recipe.failure_line.unwrap());
        assert_eq!((ready.count, failed.count), (3, 4));
        assert!(ready.matches("sweetspot: worker 72 is ready"));
        assert!(failed.matches("sweetspot: failed: worker 72 has ended"));
        let other = "[2026-11-21 04:00:00 +0000] [72] [INFO] Booting worker with pid: 72";
        assert!(!ready.matches(other) && !failed.matches(other));
    }

    #[test]
    fn the_kind_of_worker_is_read_where_it_is_written_plainly() {
        for (config, expected) in [
            ("worker_class = 'gevent'\n", Some("gevent")),
            ("workers = 2\nworker_class=\"gthread\"  # more\n", Some("gthread")),
            ("worker_class = KIND\n", None),
            ("# worker_class = 'gevent'\n", None),
        ] {
            assert_eq!(Gunicorn.worker_kind(config).as_deref(), expected, "{config}");
        }
    }

    #[test]
    fn roles_follow_from_the_title_or_the_command_line() {
        let line = "/usr/bin/python3 /usr/bin/gunicorn --config /tmp/x/sweetspot_gunicorn.py";
        assert_roles(
            &Gunicorn,
            &[
                (1, true, line, Role::Master),
                (1, true, "gunicorn: master [shop.wsgi:application]", Role::Master),
                (1, false, line, Role::Worker),
                (1, false, "gunicorn: worker [shop.wsgi:application]", Role::Worker),
                // Forked a moment ago.
                (1, false, "gunicorn: master [shop.wsgi:application]", Role::Other),
                (1, false, "node render.js", Role::Other),
            ],
        );
    }
}
