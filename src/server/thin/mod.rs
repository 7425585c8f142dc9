//! Thin: each worker is a server of its own, with an event loop and, if it is told so, a pool of
//! threads; nginx in front shares requests out.
//!
//! In: an app and a configuration. Out: commands, files and rules for reading what Thin shows. Must
//! not run, read or write anything.

mod inspection;
mod settings;

use std::collections::BTreeMap;

use super::command_line;
use super::command_line::text;
use super::filled::filled;
use super::rack;
use super::{
    About, Accepts, Adapter, App, CommandLine, FlagNames, Inspection, InspectionError, Launch,
    Listen, ProcessFacts, ReadyLine, Recipe, Recommended, Upstream,
};
use crate::terms::{Configuration, Role, Settings};

/// Thin, as many processes as there are workers.
pub struct Thin;

const ABOUT: About = About {
    name: "thin",
    title: "Thin",
    programs: &["thin"],
    // Thin is told its file with -C and looks for none: these are what its users call it.
    config_files: &["config/thin/production.yml", "thin.yml", "config/thin.yml"],
    runs: rack::APPS,
    has_threads: true,
    needs_proxy: true,
    install: &["gem install thin", "apt install thin"],
    flag_names: FlagNames { config: &["-C", "--config"], ..FlagNames::NONE },
    causes: rack::failure::CAUSES,
    ..About::NONE
};

/// The file in the scratch folder that is given to Thin, and reads the app's own.
const SETTINGS: &str = "thin.yml";

/// The file in the scratch folder that Thin loads before the app.
const OVERLAY: &str = "overlay.rb";

impl Adapter for Thin {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn accepts(&self, _version: (u32, u32)) -> Accepts {
        Accepts::InTurn
    }

    fn inspect(&self, app: &App) -> Option<CommandLine> {
        Some(rack::inspect(app, include_str!("inspect.rb")))
    }

    fn read_inspection(&self, app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
        inspection::read(app, stdout)
    }

    fn launch(&self, launch: Launch<'_>) -> Recipe {
        let workers = launch.configuration.workers.get();
        let place = |worker| place_of(launch.listen, worker);
        let places: Vec<Listen> = (0..workers).map(place).collect();
        let command = |listen: &Listen| {
            let launch = Launch { listen, ..launch };
            command_line::start(launch.app, arguments(launch), environment(launch), &[])
        };
        let commands = places.iter().map(command).collect();
        Recipe {
            upstream: Upstream::Http(places),
            files: vec![
                (SETTINGS.into(), own_settings(launch)),
                (OVERLAY.into(), include_str!("overlay.rb").into()),
            ],
            ready_line: Some(ReadyLine::of(&["sweetspot: Thin listens on "], workers)),
            // A process that cannot load the app ends: no line says it. On SIGTERM requests would
            // be cut off; it looks once a second whether it was asked to end.
            ..Recipe::of(commands, launch.listen, libc::SIGQUIT)
        }
    }

    fn role(&self, _configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        if process.is_root { Role::Worker } else { Role::Other }
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        settings::of(recommended)
    }
}

/// Where this worker listens, counted from 0.
fn place_of(listen: &Listen, worker: u16) -> Listen {
    match listen {
        Listen::Port(port) => Listen::Port(port.saturating_add(worker)),
        Listen::Socket(path) => Listen::Socket(format!("{}.{worker}", path.display()).into()),
    }
}

/// With one thread the app is called by the event loop itself, as Thin does unless it is told
/// otherwise: one request at a time.
fn is_threaded(configuration: Configuration) -> bool {
    configuration.threads.get() > 1
}

fn arguments(Launch { app, configuration, listen, scratch }: Launch<'_>) -> Vec<String> {
    let mut arguments = rack::through_bundler(app);
    arguments.extend([ABOUT.name, "start"].map(String::from));
    let mut flag = |name: &str, value: String| arguments.extend([name.to_string(), value]);
    flag("--config", text(&scratch.join(SETTINGS)));
    match listen {
        Listen::Port(port) => {
            flag("--address", "127.0.0.1".into());
            flag("--port", port.to_string());
        }
        Listen::Socket(path) => flag("--socket", text(path)),
    }
    flag("--rackup", app.entry.clone());
    flag("--environment", rack::environment(app).into());
    if is_threaded(configuration) {
        flag("--threadpool-size", configuration.threads.to_string());
        arguments.push("--threaded".into());
    }
    arguments
}

/// The variables by convention as well as the flags: the app's database pool reads these.
fn environment(launch: Launch<'_>) -> BTreeMap<String, String> {
    let mut env = rack::production(launch);
    env.insert("WEB_CONCURRENCY".into(), launch.configuration.workers.to_string());
    for name in ["RAILS_MAX_THREADS", "MAX_THREADS"] {
        env.insert(name.into(), launch.configuration.threads.to_string());
    }
    env
}

fn own_settings(Launch { app, scratch, .. }: Launch<'_>) -> String {
    let own = app.server_config.as_deref().map_or_else(
        || "{}".to_string(),
        |config| {
            let path = rack::quoted(&app.folder.join(config));
            format!(
                "YAML.load(ERB.new(File.read(\"{path}\"))\
                 .tap {{ |own| own.filename = \"{path}\" }}.result, filename: \"{path}\")"
            )
        },
    );
    let words = [("SCRATCH", rack::quoted(scratch)), ("OWN_SETTINGS", own)];
    filled(include_str!("overlay.yml"), &words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;
    use crate::server::tests::{assert_causes, assert_roles, on_socket};
    use crate::terms::BootFailureKind;

    fn app() -> App {
        App {
            server_config: Some("config/thin.yml".into()),
            is_bundled: true,
            ..App::new("/srv/shop", Framework::Rails, "config.ru")
        }
    }

    fn launch(app: &App, workers: u16, threads: u16) -> Recipe {
        on_socket(&Thin, app, workers, threads)
    }

    #[test]
    fn every_worker_is_a_process_with_a_socket_of_its_own() {
        let recipe = launch(&app(), 3, 5);
        assert_eq!(recipe.commands.len(), 3);
        assert_eq!(
            recipe.commands[2].arguments.join(" "),
            "bundle exec thin start --config /tmp/scratch/thin.yml \
             --socket /tmp/scratch/app.sock.2 --rackup config.ru --environment production \
             --threadpool-size 5 --threaded"
        );
        let sockets = [0, 1, 2].map(|at| format!("/tmp/scratch/app.sock.{at}"));
        let sockets = sockets.map(|path| Listen::Socket(path.into())).to_vec();
        assert_eq!(recipe.upstream, Upstream::Http(sockets));
        assert_eq!(recipe.ready_line.unwrap().count, 3);
        for command in &recipe.commands {
            assert_eq!(command.env["WEB_CONCURRENCY"], "3");
            assert_eq!(command.env["RAILS_MAX_THREADS"], "5");
            assert_eq!(command.env["RACK_ENV"], "production");
        }
    }

    #[test]
    fn one_thread_is_the_event_loop_itself() {
        let app = App { is_bundled: false, ..app() };
        let line = launch(&app, 1, 1).commands[0].arguments.join(" ");
        assert!(line.starts_with("thin start "), "{line}");
        assert!(!line.contains("thread"), "{line}");
    }

    #[test]
    fn the_apps_own_settings_are_read_by_the_file_that_is_given_to_thin() {
        let app = App { folder: "/srv/a\"b#{c}".into(), ..app() };
        let settings = &launch(&app, 1, 1).files[0].1;
        assert!(settings.contains(r#"File.read("/srv/a\"b\#{c}/config/thin.yml")"#), "{settings}");
        assert!(settings.contains(r#"["/tmp/scratch/overlay.rb", "#), "{settings}");
        let without = &launch(&App { server_config: None, ..app }, 1, 1).files[0].1;
        assert!(without.contains("own = ({} || {})"), "{without}");
        for text in [settings, without] {
            assert!(!text.contains("OWN_SETTINGS") && !text.contains("SCRATCH"), "{text}");
        }
    }

    #[test]
    fn what_was_started_is_a_worker_and_what_it_starts_is_not() {
        let title = "/usr/bin/ruby /usr/bin/thin start --socket /tmp/scratch/app.sock.0";
        assert_roles(&Thin, &[(2, true, title, Role::Worker), (2, false, title, Role::Other)]);
    }

    #[test]
    fn causes_are_recognised_in_what_thin_prints() {
        assert_causes(
            &Thin,
            &[
                (
                    "eventmachine.rb:531:in `start_tcp_server': no acceptor (port is in use or \
                 requires root privileges) (RuntimeError)",
                    BootFailureKind::PortTaken,
                ),
                ("bundler: command not found: thin", BootFailureKind::NotInstalled),
                ("config.ru:1:in `boot': boom at boot (RuntimeError)", BootFailureKind::Exited),
            ],
        );
    }
}
