//! uvicorn: an event loop a worker; one worker alone is one process without a parent.
//!
//! In: an app and a configuration. Out: commands, files and rules for reading what uvicorn shows.
//! Must not run, read or write anything.

mod inspection;
mod settings;

use std::path::PathBuf;

use super::command_line;
use super::command_line::text;
use super::knobs::{Knob, Knobs, Values};
use super::python;
use super::{
    About, Adapter, App, CommandLine, FlagNames, Framework, Inspection, InspectionError, KeptFlag,
    Launch, Listen, ProcessFacts, Recipe, Recommended, Takes,
};
use crate::terms::{Configuration, Role, Settings};

/// uvicorn.
pub struct Uvicorn;

const ABOUT: About = About {
    name: "uvicorn",
    title: "uvicorn",
    programs: &["uvicorn"],
    runs: &[Framework::Asgi],
    install: &["pip install uvicorn", "apt install uvicorn"],
    flag_names: FlagNames {
        workers: &["--workers"],
        through: &["fastapi"],
        kept: KEPT,
        ..FlagNames::NONE
    },
    // It has no file of its own: everything is said on the command line.
    knobs: Knobs { usual_file: None, list: KNOBS },
    causes: python::failure::CAUSES,
    ..About::NONE
};

/// What can be tried of it.
const KNOBS: &[Knob] = &[
    Knob::new("loop", Values::OneOf(&["auto", "asyncio", "uvloop"]), as_flag),
    Knob::new("http", Values::OneOf(&["auto", "h11", "httptools"]), as_flag),
    Knob::new("backlog", Values::Count, as_flag),
    Knob::new("timeout_keep_alive", Values::Count, as_flag),
];

fn as_flag(name: &str, value: &str) -> String {
    format!("--{} {value}", name.replace('_', "-"))
}

/// The folder that modules are looked for in: uvicorn is told that of ours, and ours the app's.
const APP_DIR: &str = "--app-dir";

/// The flags that are kept. Not `--limit-max-requests`: nothing here starts again what ends by it.
const KEPT: &[KeptFlag] = &[
    KeptFlag::new("--loop", Takes::Word).of_knob("loop"),
    KeptFlag::new("--http", Takes::Word).of_knob("http"),
    KeptFlag::new("--ws", Takes::Word),
    KeptFlag::new("--lifespan", Takes::Word),
    KeptFlag::new("--interface", Takes::Word),
    KeptFlag::new("--root-path", Takes::Word),
    KeptFlag::new("--proxy-headers", Takes::Nothing),
    KeptFlag::new("--no-proxy-headers", Takes::Nothing),
    KeptFlag::new("--forwarded-allow-ips", Takes::Word),
    KeptFlag::new("--limit-concurrency", Takes::Word),
    KeptFlag::new("--backlog", Takes::Word).of_knob("backlog"),
    KeptFlag::new("--timeout-keep-alive", Takes::Word).of_knob("timeout_keep_alive"),
    KeptFlag::new("--h11-max-incomplete-event-size", Takes::Word),
    KeptFlag::new("--env-file", Takes::File),
    KeptFlag::new(APP_DIR, Takes::Folders),
];

/// The module in the scratch folder that loads the app.
const MODULE: &str = "sweetspot_uvicorn";

/// Options as variables that would make it listen elsewhere, start again by itself or be silent.
const NOT_INHERITED: &[&str] = &[
    "UVICORN_FD",
    "UVICORN_UDS",
    "UVICORN_RELOAD",
    "UVICORN_DEBUG",
    "UVICORN_FACTORY",
    "UVICORN_SSL_KEYFILE",
    "UVICORN_SSL_CERTFILE",
];

impl Adapter for Uvicorn {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn is_event_loop(&self, _has_threads: bool) -> bool {
        true
    }

    fn inspect(&self, app: &App) -> Option<CommandLine> {
        let arguments = [app.entry.clone()];
        Some(python::inspect(app, &ABOUT, include_str!("inspect.py"), &arguments))
    }

    fn read_inspection(&self, _app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
        inspection::read(stdout)
    }

    fn launch(&self, launch: Launch<'_>) -> Recipe {
        let (arguments, env) = (arguments(launch), python::production(launch));
        let command = command_line::start(launch.app, arguments, env, NOT_INHERITED);
        Recipe {
            files: vec![(format!("{MODULE}.py").into(), module(launch.app))],
            ready_line: Some(python::ready_line(launch.configuration)),
            // It starts none again: one is enough.
            failure_line: Some(python::failing_workers(1)),
            ..Recipe::of(vec![command], launch.listen, libc::SIGTERM)
        }
    }

    fn role(&self, configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        let is_spawned = process.title.contains("multiprocessing.spawn");
        match (process.is_root, configuration.workers.get()) {
            (true, 1) => Role::Worker,
            (true, _) => Role::Master,
            // Beside them there is one that looks after what they share.
            (false, 2..) if is_spawned && !process.title.contains("resource_tracker") => {
                Role::Worker
            }
            (false, _) => Role::Other,
        }
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        settings::of(recommended)
    }
}

/// What is called for the app, where the entry is a call of it: `main:create_app()`.
fn factory(entry: &str) -> Option<&str> {
    entry.strip_suffix("()")
}

fn arguments(Launch { app, configuration, listen, scratch }: Launch<'_>) -> Vec<String> {
    let mut arguments = vec![app.program(&ABOUT).to_string()];
    let mut flag = |name: &str, value: String| arguments.extend([name.to_string(), value]);
    flag(APP_DIR, text(scratch));
    flag("--workers", configuration.workers.to_string());
    match listen {
        Listen::Port(port) => {
            flag("--host", "127.0.0.1".into());
            flag("--port", port.to_string());
        }
        Listen::Socket(path) => flag("--uds", text(path)),
    }
    arguments.push("--no-access-log".into());
    let kept = app.kept_flags(KEPT).into_iter();
    arguments.extend(kept.filter(|flag| modules_in(flag).is_none()));
    for line in ABOUT.knobs.lines(app) {
        arguments.extend(line.split(' ').map(String::from));
    }
    arguments.push(format!("{MODULE}:app"));
    arguments
}

/// The folder that this flag names for the app's modules.
fn modules_in(flag: &str) -> Option<&str> {
    flag.strip_prefix(APP_DIR)?.strip_prefix('=')
}

/// Where the app's modules are.
fn modules(app: &App) -> PathBuf {
    let named = app.start_flags.iter().rev().find_map(|flag| modules_in(flag));
    named.map_or_else(|| app.folder.clone(), |below| app.folder.join(below))
}

fn module(app: &App) -> String {
    // Paths last: nothing is looked for in them.
    include_str!("app.py")
        .replace(
            "if IS_FACTORY:",
            match factory(&app.entry) {
                Some(_) => "if True:",
                None => "if False:",
            },
        )
        .replace("\"ENTRY\"", &python::literal(factory(&app.entry).unwrap_or(&app.entry)))
        .replace("\"FOLDER\"", &python::quoted(&app.folder))
        .replace("\"MODULES\"", &python::quoted(&modules(app)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::server::tests::{assert_roles, on_port, on_socket};

    fn app() -> App {
        App::new("/srv/shop", Framework::Asgi, "main:app")
    }

    fn launch(app: &App, workers: u16) -> Recipe {
        on_port(&Uvicorn, app, workers, 1)
    }

    #[test]
    fn the_command_line_says_where_and_how_many() {
        let recipe = launch(&app(), 3);
        assert_eq!(
            recipe.commands[0].arguments.join(" "),
            "uvicorn --app-dir /tmp/scratch --workers 3 --host 127.0.0.1 --port 4000 \
             --no-access-log sweetspot_uvicorn:app"
        );
        assert_eq!(recipe.commands[0].env["WEB_CONCURRENCY"], "3");
        let behind = on_socket(&Uvicorn, &app(), 1, 1);
        let line = behind.commands[0].arguments.join(" ");
        assert!(line.contains("--uds /tmp/scratch/app.sock") && !line.contains("--port"), "{line}");
    }

    #[test]
    fn the_module_hands_the_app_on() {
        let (name, text) = &launch(&app(), 1).files[0];
        assert_eq!(name, Path::new("sweetspot_uvicorn.py"));
        assert!(text.contains("import_from_string(\"main:app\")\n    if False:"), "{text}");
        assert!(text.contains("sys.path.insert(0, \"/srv/shop\")"), "{text}");
        let factory = App { entry: "main:create_app()".into(), ..app() };
        let text = &launch(&factory, 1).files[0].1;
        assert!(text.contains("import_from_string(\"main:create_app\")\n    if True:"), "{text}");
    }

    #[test]
    fn flags_of_its_command_are_kept_but_for_those_of_knobs_that_are_tried() {
        let start_flags =
            ["--app-dir=src", "--loop=uvloop", "--root-path=/api"].map(String::from).into();
        let mut app = App { start_flags, ..app() };
        let line = |app: &App| launch(app, 1).commands[0].arguments.join(" ");
        let (kept, own) = (line(&app), " --loop=uvloop --root-path=/api sweetspot_uvicorn:app");
        assert!(kept.ends_with(&format!(" --no-access-log{own}")), "{kept}");
        let text = &launch(&app, 1).files[0].1;
        let modules = "sys.path.insert(0, \"/srv/shop/src\")\nsys.path.append(\"/srv/shop\")\n";
        assert!(text.contains(modules), "{text}");
        app.changed.settings.insert("loop".into(), "asyncio".into());
        let (tried, own) = (line(&app), " --root-path=/api --loop asyncio sweetspot_uvicorn:app");
        assert!(tried.ends_with(&format!(" --no-access-log{own}")), "{tried}");
    }

    #[test]
    fn one_worker_is_the_only_process_and_several_have_a_parent() {
        let line = "/usr/bin/python3 /usr/bin/uvicorn --workers 2";
        let spawned = "/usr/bin/python3 -c from multiprocessing.spawn import spawn_main; \
                       spawn_main(tracker_fd=5, pipe_handle=7) --multiprocessing-fork";
        let tracker =
            "/usr/bin/python3 -c from multiprocessing.resource_tracker import main;main(4)";
        assert_roles(
            &Uvicorn,
            &[
                (1, true, line, Role::Worker),
                (1, false, spawned, Role::Other),
                (2, true, line, Role::Master),
                (2, false, spawned, Role::Worker),
                (2, false, tracker, Role::Other),
            ],
        );
    }

    #[test]
    fn one_worker_that_cannot_load_the_app_is_enough() {
        let recipe = launch(&app(), 3);
        assert_eq!(recipe.ready_line.unwrap().count, 3);
        let failed = recipe.failure_line.unwrap();
        assert_eq!(failed.count, 1);
        assert!(failed.matches("sweetspot: failed: the app cannot be loaded"));
    }
}
