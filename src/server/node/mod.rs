//! Node.js: one process, or a cluster of them: the app's own, or one that we put around it.
//!
//! In: an app and a configuration. Out: commands, files and rules for reading what Node shows. Must
//! not run, read or write anything.

mod failure;
mod inspection;
mod settings;

use std::collections::BTreeMap;
use std::path::Path;

use super::command_line;
use super::command_line::{port, text};
use super::{
    About, Adapter, App, CommandLine, Framework, Inspection, InspectionError, Launch, Listen,
    ProcessFacts, ReadyLine, Recipe, Recommended,
};
use crate::terms::{Configuration, Role, Settings};

/// Node.js.
pub struct Node;

const ABOUT: About = About {
    name: "node",
    title: "Node.js",
    programs: &["node", "nodejs"],
    runs: &[Framework::Node],
    install: &["apt install nodejs"],
    causes: failure::CAUSES,
    ..About::NONE
};

/// Loaded into every process.
const WATCH: &str = "sweetspot_watch.js";

/// Starts the app, or makes its workers where it does not.
const PRIMARY: &str = "sweetspot_primary.js";

/// Titles that the processes are given.
const PRIMARY_TITLE: &str = "node: primary";
const WORKER_TITLE: &str = "node: worker";

/// Somebody else's cluster, and a debugger's port.
const NOT_INHERITED: &[&str] = &["NODE_UNIQUE_ID", "NODE_CHANNEL_FD", "NODE_DEBUG"];

impl Adapter for Node {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn is_event_loop(&self, _has_threads: bool) -> bool {
        true
    }

    fn inspect(&self, app: &App) -> Option<CommandLine> {
        let script = format!("{}\n{}", include_str!("looks.js"), include_str!("inspect.js"));
        let arguments = [app.program(&ABOUT).into(), "-e".into(), script, app.entry.clone()];
        Some(CommandLine {
            // What they load could print or listen.
            env_removed: vec!["NODE_OPTIONS".into()],
            ..CommandLine::new(arguments.into(), &app.folder)
        })
    }

    fn read_inspection(&self, _app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
        inspection::read(stdout)
    }

    fn launch(&self, launch: Launch<'_>) -> Recipe {
        let Launch { app, configuration, listen, .. } = launch;
        let workers = configuration.workers.get();
        let (arguments, env) = (arguments(launch), environment(launch));
        let command = command_line::start(app, arguments, env, NOT_INHERITED);
        Recipe {
            files: vec![
                (WATCH.into(), watch(listen)),
                (PRIMARY.into(), primary(app, configuration)),
            ],
            ready_line: Some(ReadyLine::of(&["sweetspot: worker ", " is ready"], workers)),
            // Where the app makes its workers, it may make none in place of those that ended.
            failure_line: Some(ReadyLine::of(&["sweetspot: failed: "], workers)),
            ..Recipe::of(vec![command], listen, libc::SIGTERM)
        }
    }

    fn role(&self, configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        let is_primary = process.title.starts_with(PRIMARY_TITLE);
        match (process.is_root, configuration.workers.get()) {
            (true, 1) if !is_primary => Role::Worker,
            (true, _) => Role::Master,
            (false, _) if process.title.starts_with(WORKER_TITLE) => Role::Worker,
            (false, _) => Role::Other,
        }
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        settings::of(recommended)
    }
}

fn arguments(Launch { app, scratch, .. }: Launch<'_>) -> Vec<String> {
    let (watch, primary) = (scratch.join(WATCH), scratch.join(PRIMARY));
    let ours = ["--require".into(), text(&watch), text(&primary)];
    let program = [app.program(&ABOUT).to_string()].into_iter();
    let words = program.chain(app.start_flags.clone()).chain(ours);
    // A cluster hands its own arguments on to its workers.
    words.chain(app.start_arguments.clone()).collect()
}

fn environment(Launch { app, configuration, listen, .. }: Launch<'_>) -> BTreeMap<String, String> {
    let environment = app.env.get("NODE_ENV").map_or("production", String::as_str);
    let variables = [
        ("NODE_ENV", environment.to_string()),
        ("PORT", port(listen).to_string()),
        ("WEB_CONCURRENCY", configuration.workers.to_string()),
    ];
    let script = app.start_env.iter().filter(|(name, _)| !app.env.contains_key(*name));
    let script = script.map(|(name, value)| (name.clone(), value.clone()));
    script.chain(variables.map(|(name, value)| (name.to_string(), value))).collect()
}

/// A text as it is written in JavaScript, where JSON's form does.
fn literal(path: &Path) -> String {
    serde_json::Value::from(text(path)).to_string()
}

fn watch(listen: &Listen) -> String {
    // Not every app that listens on a port can be told a path: it is made to listen on the socket.
    let socket = match listen {
        Listen::Port(_) => "null".to_string(),
        Listen::Socket(path) => literal(path),
    };
    include_str!("watch.js")
        .replace("OUR_PORT;", &format!("{};", port(listen)))
        .replace("OUR_SOCKET;", &format!("{socket};"))
}

fn primary(app: &App, configuration: Configuration) -> String {
    let text = include_str!("primary.js")
        .replace("OUR_WORKERS;", &format!("{};", configuration.workers))
        .replace("OUR_ENTRY;", &format!("{};", literal(&app.folder.join(&app.entry))));
    format!("{}\n{text}", include_str!("looks.js"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::{assert_roles, on_port, on_socket};
    use crate::server::{self, Ports};
    use crate::terms::NodeRemark;

    fn app() -> App {
        App::new("/srv/shop", Framework::Node, "server.js")
    }

    /// With the variables of the user's own.
    fn recipe(app: &App) -> Recipe {
        let (ports, scratch) = (Ports { front: 4000, behind: 4001 }, Path::new("/tmp/scratch"));
        server::recipe(app, &Node, Configuration::new(1, 1).unwrap(), ports, scratch)
    }

    #[test]
    fn the_primary_knows_the_app_and_how_many_workers_it_makes() {
        let recipe = on_port(&Node, &app(), 3, 1);
        assert_eq!(
            recipe.commands[0].arguments.join(" "),
            "node --require /tmp/scratch/sweetspot_watch.js /tmp/scratch/sweetspot_primary.js"
        );
        let start_flags = vec!["-r".into(), "dotenv/config".into()];
        let flagged = on_port(&Node, &App { start_flags, ..app() }, 3, 1);
        let arguments = flagged.commands[0].arguments.join(" ");
        assert!(arguments.starts_with("node -r dotenv/config --require /tmp"), "{arguments}");
        let start_arguments = vec!["serve".into()];
        let argued = on_port(&Node, &App { start_arguments, ..app() }, 3, 1);
        let arguments = argued.commands[0].arguments.join(" ");
        assert!(arguments.ends_with("/sweetspot_primary.js serve"), "{arguments}");
        let primary = &recipe.files[1].1;
        assert!(primary.contains("const ENTRY = \"/srv/shop/server.js\";"), "{primary}");
        assert!(primary.contains("const NUMBER = 3;"), "{primary}");
    }

    fn inspected(app: &App) -> Inspection {
        let command = Node.inspect(app).unwrap();
        let mut process = std::process::Command::new(&command.arguments[0]);
        process.args(&command.arguments[1..]).current_dir(&command.folder);
        process.env_remove("WEB_CONCURRENCY");
        let printed = String::from_utf8(process.output().unwrap().stdout).unwrap();
        Node.read_inspection(app, &printed).unwrap()
    }

    #[test]
    fn todays_workers_are_those_that_a_cluster_makes_without_the_variable() {
        let folder = tempfile::tempdir().unwrap();
        let app = App::new(folder.path(), Framework::Node, "server.js");
        for (count, workers) in [
            ("process.env.WEB_CONCURRENCY || 4", 4),
            ("parseInt(process.env.WEB_CONCURRENCY || '4', 10)", 4),
            ("parseInt(process.env.WEB_CONCURRENCY, 10) || 4", 4),
            ("Number(process.env['WEB_CONCURRENCY'] ?? \"3\")", 3),
            ("parseInt(process.env.WEB_CONCURRENCY, 10)", 1),
        ] {
            let text = format!("const cluster = require('cluster');\nconst count = {count};\n");
            std::fs::write(folder.path().join("server.js"), text).unwrap();
            let current = inspected(&app).current;
            assert_eq!(current, Configuration::new(workers, 1).unwrap(), "{count}");
        }
    }

    #[test]
    fn a_cluster_that_a_module_of_the_apps_own_makes_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let app = App::new(folder.path(), Framework::Node, "server.js");
        std::fs::create_dir(folder.path().join("src")).unwrap();
        let asks = "const cluster = require('node:cluster');\nlog(cluster.isWorker);\n";
        let follows = "cluster.fork(process.env.WEB_CONCURRENCY || 3);\n";
        for (module, workers, variable) in [
            (asks.to_string(), 1, None),
            (format!("{asks}for (const count of '12') cluster.fork(count);\n"), 1, None),
            (format!("{asks}{follows}"), 3, Some("WEB_CONCURRENCY")),
        ] {
            for (name, text) in [
                ("server.js", "import run from './src/app.js';\n"),
                ("src/app.js", "const { start } = require(\"./workers\");\n"),
                ("src/workers.js", module.as_str()),
            ] {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            let inspection = inspected(&app);
            assert_eq!(inspection.current, Configuration::new(workers, 1).unwrap(), "{module}");
            assert_eq!(inspection.obeys.workers.as_deref(), variable, "{module}");
            let one_process = NodeRemark::OneProcessToday.into();
            assert_eq!(inspection.remarks.contains(&one_process), module == asks, "{module}");
        }
    }

    #[test]
    fn of_a_cluster_that_a_package_makes_one_worker_is_left_where_one_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let app = App::new(folder.path(), Framework::Node, "server.js");
        let package = folder.path().join("node_modules/clustered");
        std::fs::create_dir_all(&package).unwrap();
        let text = "const cluster = require('cluster');\nif (cluster.isWorker) process.exit();\n\
                    const made = [1, 2, 3].map(() => cluster.fork().id);\n\
                    console.log(new Set(made).size);\n";
        std::fs::write(package.join("index.js"), text).unwrap();
        std::fs::write(folder.path().join("server.js"), "require('clustered');\n").unwrap();
        let (name, primary) = &on_port(&Node, &app, 1, 1).files[1];
        std::fs::write(folder.path().join(name), primary).unwrap();
        let mut node = std::process::Command::new("node");
        let printed = node.arg(name).current_dir(folder.path()).output().unwrap().stdout;
        assert_eq!(String::from_utf8(printed).unwrap(), "1\n");
    }

    #[test]
    fn the_app_is_told_port_environment_and_workers() {
        let env = &on_port(&Node, &app(), 3, 1).commands[0].env;
        assert_eq!(env["NODE_ENV"], "production");
        assert_eq!((env["PORT"].as_str(), env["WEB_CONCURRENCY"].as_str()), ("4000", "3"));
        let own = App { env: [("NODE_ENV".into(), "staging".into())].into(), ..app() };
        let env = &on_port(&Node, &own, 1, 1).commands[0].env;
        assert_eq!(env["NODE_ENV"], "staging");
        let start_env = [("NODE_PATH".into(), "dist".into()), ("A".into(), "script".into())].into();
        let scripted = App { env: [("A".into(), "own".into())].into(), start_env, ..app() };
        let env = &recipe(&scripted).commands[0].env;
        assert_eq!((env["NODE_PATH"].as_str(), env["A"].as_str()), ("dist", "own"));
    }

    #[test]
    fn behind_a_proxy_its_port_becomes_the_socket() {
        let recipe = on_socket(&Node, &app(), 1, 1);
        assert_eq!(recipe.commands[0].env["PORT"], "50505");
        let watch = &recipe.files[0].1;
        assert!(watch.contains("const PORT = 50505;\nconst SOCKET = \"/tmp/scratch/app.sock\";"));
        let plain = &on_port(&Node, &app(), 1, 1).files[0].1;
        assert!(plain.contains("const PORT = 4000;\nconst SOCKET = null;"), "{plain}");
    }

    #[test]
    fn roles_follow_from_the_titles() {
        assert_roles(
            &Node,
            &[
                (1, true, "node --require /tmp/w.js /srv/shop/server.js", Role::Worker),
                // The app makes a worker, and only one.
                (1, true, "node: primary", Role::Master),
                (1, false, "node: worker", Role::Worker),
                (2, true, "node --require /tmp/w.js /tmp/primary.js", Role::Master),
                (2, true, "node: primary", Role::Master),
                (2, false, "node: worker", Role::Worker),
                (2, false, "node render.js", Role::Other),
            ],
        );
    }
}
