//! Unicorn: a master that forks workers with one thread each.
//!
//! In: an app and a configuration. Out: commands, files and rules for reading what Unicorn shows.
//! Must not run, read or write anything.

mod inspection;
mod settings;

use std::collections::BTreeMap;

use super::command_line;
use super::command_line::text;
use super::filled::filled;
use super::knobs::{Knob, Knobs, Values};
use super::rack;
use super::{
    About, Adapter, App, CommandLine, FlagNames, Inspection, InspectionError, Launch, Listen,
    ProcessFacts, ReadyLine, Recipe, Recommended,
};
use crate::terms::{Configuration, Role, Settings};

/// Unicorn.
pub struct Unicorn;

const ABOUT: About = About {
    name: "unicorn",
    title: "Unicorn",
    programs: &["unicorn"],
    // Unicorn is told its file with -c and looks for none: these are what its users call it.
    config_files: &["config/unicorn/production.rb", "config/unicorn.rb", "unicorn.rb"],
    runs: rack::APPS,
    install: &["gem install unicorn", "apt install unicorn"],
    flag_names: FlagNames { config: &["-c", "--config-file"], ..FlagNames::NONE },
    knobs: Knobs { usual_file: Some("config/unicorn.rb"), list: KNOBS },
    causes: rack::failure::CAUSES,
    ..About::NONE
};

/// What can be tried of it.
const KNOBS: &[Knob] = &[
    Knob::new("preload_app", Values::Switch, rack::directive),
    Knob::new("check_client_connection", Values::Switch, rack::directive),
];

/// The file in the scratch folder that is given to Unicorn, and reads the app's own.
const OVERLAY: &str = "unicorn.rb";

/// Sockets and workers of somebody else's Unicorn.
const NOT_INHERITED: &[&str] = &["UNICORN_FD", "UNICORN_WORKER"];

/// By convention the number of workers: app's settings read these.
const VARIABLES: [&str; 3] = ["WEB_CONCURRENCY", "UNICORN_WORKERS", "UNICORN_PROCESSES"];

impl Adapter for Unicorn {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, app: &App) -> Option<CommandLine> {
        Some(rack::inspect(app, include_str!("inspect.rb")))
    }

    fn read_inspection(&self, app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
        inspection::read(app, stdout)
    }

    fn launch(&self, launch: Launch<'_>) -> Recipe {
        let (arguments, env) = (arguments(launch), environment(launch));
        let command = command_line::start(launch.app, arguments, env, NOT_INHERITED);
        let workers = launch.configuration.workers.get();
        Recipe {
            files: vec![(OVERLAY.into(), overlay(launch))],
            ready_line: Some(ReadyLine::of(&["worker=", " ready"], workers)),
            failure_line: Some(rack::failing_workers(&REAPED, launch.configuration)),
            // On SIGTERM requests would be cut off.
            ..Recipe::of(vec![command], launch.listen, libc::SIGQUIT)
        }
    }

    fn role(&self, _configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        process.role_below_master(|title| title.starts_with("unicorn worker["))
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        settings::of(recommended)
    }
}

/// A master says this of a worker that has ended.
const REAPED: [&str; 2] = ["reaped #<Process::Status", "worker="];

fn arguments(Launch { app, scratch, .. }: Launch<'_>) -> Vec<String> {
    let mut arguments = rack::through_bundler(app);
    let overlay = text(&scratch.join(OVERLAY));
    arguments.extend([ABOUT.name, "-E", rack::environment(app), "-c", &overlay].map(String::from));
    arguments.push(app.entry.clone());
    arguments
}

/// The variables by convention as well as the overlay: logic inside the app's own settings reads
/// these before the overlay has its say.
fn environment(launch: Launch<'_>) -> BTreeMap<String, String> {
    let mut env = rack::production(launch);
    let workers = launch.configuration.workers.to_string();
    env.extend(VARIABLES.map(|name| (name.to_string(), workers.clone())));
    env
}

fn overlay(Launch { app, configuration, listen, scratch }: Launch<'_>) -> String {
    let own = app.server_config.as_deref().map_or_else(String::new, |config| {
        let path = rack::quoted(&app.folder.join(config));
        format!("instance_eval(File.read(\"{path}\"), \"{path}\")")
    });
    let address = match listen {
        Listen::Port(port) => format!("127.0.0.1:{port}"),
        Listen::Socket(path) => rack::quoted(path),
    };
    let words = [
        ("worker_processes WORKERS", format!("worker_processes {}", configuration.workers)),
        ("SCRATCH", rack::quoted(scratch)),
        ("ADDRESS", address),
        ("OWN_SETTINGS", own),
        ("KNOBS", ABOUT.knobs.lines(app).join("\n")),
    ];
    filled(include_str!("overlay.rb"), &words)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::server::Framework;
    use crate::server::tests::{assert_causes, assert_roles, on_port};
    use crate::terms::BootFailureKind;

    fn app() -> App {
        App {
            server_config: Some("config/unicorn.rb".into()),
            is_bundled: true,
            ..App::new("/srv/shop", Framework::Rails, "config.ru")
        }
    }

    fn launch(app: &App, workers: u16) -> Recipe {
        on_port(&Unicorn, app, workers, 1)
    }

    #[test]
    fn the_overlay_is_the_only_configuration_file_and_reads_the_apps_own() {
        let recipe = launch(&app(), 4);
        assert_eq!(
            recipe.commands[0].arguments.join(" "),
            "bundle exec unicorn -E production -c /tmp/scratch/unicorn.rb config.ru"
        );
        let (name, overlay) = &recipe.files[0];
        assert_eq!(name, Path::new("unicorn.rb"));
        let own = "/srv/shop/config/unicorn.rb";
        for line in [
            format!("instance_eval(File.read(\"{own}\"), \"{own}\")").as_str(),
            "worker_processes 4",
            "listen \"127.0.0.1:4000\", ",
            "pid \"/tmp/scratch/unicorn.pid\"",
        ] {
            assert!(overlay.contains(&format!("\n{line}")), "{line} is missing in:\n{overlay}");
        }
        let at = |text: &str| overlay.find(text).unwrap();
        assert!(at("instance_eval") < at("worker_processes 4"), "the overlay has the last word");
    }

    #[test]
    fn an_app_without_settings_of_its_own_gets_the_overlay_alone() {
        let app = App { server_config: None, is_bundled: false, ..app() };
        let recipe = launch(&app, 2);
        assert_eq!(recipe.commands[0].arguments[0], "unicorn");
        assert!(!recipe.files[0].1.contains("instance_eval"), "{}", recipe.files[0].1);
        for placeholder in ["OWN_SETTINGS", "ADDRESS", "SCRATCH", "WORKERS"] {
            assert!(!recipe.files[0].1.contains(placeholder), "{placeholder}");
        }
    }

    #[test]
    fn variables_say_the_same_as_the_overlay() {
        let env = launch(&app(), 3).commands[0].env.clone();
        for name in ["WEB_CONCURRENCY", "UNICORN_WORKERS", "UNICORN_PROCESSES"] {
            assert_eq!(env[name], "3", "{name}");
        }
        for name in ["RACK_ENV", "RAILS_ENV", "APP_ENV"] {
            assert_eq!(env[name], "production", "{name}");
        }
        assert_eq!(env["PORT"], "4000");
    }

    #[test]
    fn a_folder_with_ruby_syntax_in_its_name_stays_a_name() {
        let app = App { folder: "/srv/a\"b#{c}".into(), ..app() };
        let overlay = &launch(&app, 1).files[0].1;
        assert!(overlay.contains(r#"File.read("/srv/a\"b\#{c}/config/unicorn.rb")"#), "{overlay}");
    }

    #[test]
    fn every_worker_has_to_say_that_it_is_ready() {
        let ready = launch(&app(), 3).ready_line.unwrap();
        assert_eq!(ready.count, 3);
        assert!(ready.matches("I, [2026-11-21T02:00:00.123456 #72]  INFO -- : worker=0 ready"));
        for other in ["master process ready", "worker=0 spawned pid=72", "worker=0 spawning..."] {
            assert!(!ready.matches(&format!("I, [x #71]  INFO -- : {other}")), "{other}");
        }
    }

    #[test]
    fn workers_that_end_again_and_again_are_counted() {
        let failure = launch(&app(), 2).failure_line.unwrap();
        assert_eq!(failure.count, 3);
        let reaped = "E, [x #71] ERROR -- : reaped #<Process::Status: pid 72 exit 1> worker=0";
        assert!(failure.matches(reaped));
    }

    #[test]
    fn a_graceful_stop_is_not_the_signal_that_cuts_requests_off() {
        assert_eq!(launch(&app(), 2).stop_signal, 3);
    }

    #[test]
    fn roles_follow_from_the_title() {
        assert_roles(
            &Unicorn,
            &[
                (1, true, "ruby /usr/bin/unicorn -E production", Role::Master),
                (1, true, "unicorn master -E production -c /tmp/u.rb config.ru", Role::Master),
                (1, false, "unicorn worker[0] -E production -c /tmp/u.rb config.ru", Role::Worker),
                // Forked a moment ago.
                (1, false, "unicorn master -E production -c /tmp/u.rb config.ru", Role::Other),
                (1, false, "node server-side-rendering.js", Role::Other),
            ],
        );
    }

    #[test]
    fn known_causes_are_recognised_in_what_unicorn_prints() {
        assert_causes(
            &Unicorn,
            &[
                (
                    "E, [x #71] ERROR -- : adding listener failed addr=127.0.0.1:4000 (in use)\n",
                    BootFailureKind::Exited,
                ),
                (
                    "socket_helper.rb:1:in `bind': Address already in use - bind(2) for \
                 127.0.0.1:4000 (Errno::EADDRINUSE)",
                    BootFailureKind::PortTaken,
                ),
                ("bundler: command not found: unicorn", BootFailureKind::NotInstalled),
                ("boom at boot (RuntimeError)", BootFailureKind::Exited),
            ],
        );
    }
}
