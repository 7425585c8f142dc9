//! PHP-FPM: a master that forks workers, each of which answers one request at a time, in FastCGI;
//! nginx in front speaks HTTP and answers what is a file.
//!
//! In: an app and a configuration. Out: commands, files and rules for reading what PHP-FPM shows.
//! Must not run, read or write anything.

mod failure;
mod inspection;
mod settings;

use std::path::{Path, PathBuf};

use super::command_line;
use super::command_line::{shell, text};
use super::filled::filled;
use super::{
    About, Adapter, App, CommandLine, Framework, Inspection, InspectionError, Launch, Listen,
    ProcessFacts, ReadyLine, Recipe, Recommended, Upstream,
};
use crate::terms::{Configuration, Role, Settings};

/// PHP-FPM, with a fixed number of workers.
pub struct PhpFpm;

const ABOUT: About = About {
    name: "php-fpm",
    title: "PHP-FPM",
    // Debian has each version under a name of its own.
    programs: &[
        "php-fpm",
        "php-fpm8.5",
        "php-fpm8.4",
        "php-fpm8.3",
        "php-fpm8.2",
        "php-fpm8.1",
        "php-fpm8.0",
        "php-fpm7.4",
    ],
    // It is told its file and looks for none in an app's folder: these are what its users call it.
    config_files: &[
        "fpm_custom.conf",
        "docker/php-fpm.conf",
        "docker/php-fpm/www.conf",
        "php-fpm.conf",
        "config/php-fpm.conf",
    ],
    runs: &[Framework::Php],
    needs_proxy: true,
    install: &["apt install php-fpm"],
    causes: failure::CAUSES,
    ..About::NONE
};

/// The file in the scratch folder that is given to PHP-FPM.
const CONFIG: &str = "php-fpm.conf";

/// Listening sockets of somebody else's PHP-FPM.
const NOT_INHERITED: &[&str] = &["FPM_SOCKETS"];

/// The page that answers for what is no file.
const INDEX: &str = "index.php";

impl Adapter for PhpFpm {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, app: &App) -> Option<CommandLine> {
        let own = app.server_config.as_deref().map(text);
        let script = include_str!("inspect.sh");
        let arguments = shell(script, [app.program(&ABOUT).to_string()].into_iter().chain(own));
        Some(CommandLine::new(arguments, &app.folder))
    }

    fn read_inspection(&self, app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
        inspection::read(app, stdout)
    }

    fn launch(&self, launch: Launch<'_>) -> Recipe {
        let Launch { app, configuration, listen, scratch } = launch;
        // By convention the number of workers: an app's own settings may name it.
        let env = [("WEB_CONCURRENCY".to_string(), configuration.workers.to_string())].into();
        let socket = match listen {
            Listen::Socket(path) => path.clone(),
            Listen::Port(_) => scratch.join("php-fpm.sock"),
        };
        let command = command_line::start(app, arguments(app, scratch), env, NOT_INHERITED);
        Recipe {
            files: files(app, configuration, &socket),
            upstream: Upstream::FastCgi { socket, root: pages(app), index: INDEX.into() },
            // Printed once all workers have been forked.
            ready_line: Some(ReadyLine::of(&["NOTICE: ready to handle connections"], 1)),
            // On SIGTERM requests would be cut off.
            ..Recipe::of(vec![command], listen, libc::SIGQUIT)
        }
    }

    fn role(&self, _configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        // A worker that has just been forked still has its master's title.
        let begins = ["php-fpm: pool ", "php-fpm: master process"];
        process.role_below_master(|title| begins.iter().any(|begin| title.starts_with(begin)))
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        settings::of(recommended)
    }
}

/// The folder that everybody may read.
fn pages(app: &App) -> PathBuf {
    match app.entry.as_str() {
        "." => app.folder.clone(),
        below => app.folder.join(below),
    }
}

/// The app's own settings have to be looked through where they are: PHP-FPM would open what they
/// name, and start their other pools as well.
fn arguments(app: &App, scratch: &Path) -> Vec<String> {
    let program = app.program(&ABOUT).to_string();
    match &app.server_config {
        Some(own) => shell(include_str!("start.sh"), [program, text(own), text(scratch)]),
        None => {
            // Where root runs it there is no other user to run it as.
            let flags = ["--nodaemonize", "--allow-to-run-as-root", "--fpm-config"];
            let mut arguments = vec![program];
            arguments.extend(flags.map(String::from));
            arguments.push(text(&scratch.join(CONFIG)));
            arguments
        }
    }
}

fn files(app: &App, configuration: Configuration, socket: &Path) -> Vec<(PathBuf, String)> {
    let words = [
        ("WORKERS", configuration.workers.to_string()),
        ("SOCKET", text(socket).replace('\\', "\\\\").replace('"', "\\\"")),
    ];
    let overlay = filled(include_str!("overlay.conf"), &words);
    match app.server_config {
        Some(_) => vec![
            ("own.awk".into(), include_str!("own.awk").into()),
            ("overlay.conf".into(), overlay),
        ],
        None => vec![(CONFIG.into(), overlay)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::{assert_roles, on_socket};

    fn app() -> App {
        App {
            program: Some("php-fpm8.2".into()),
            ..App::new("/srv/shop", Framework::Php, "public")
        }
    }

    fn launch(app: &App, workers: u16) -> Recipe {
        on_socket(&PhpFpm, app, workers, 1)
    }

    #[test]
    fn of_a_long_file_of_settings_only_what_is_read_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        let manual = "; pm.max_children = 99 is what many have\n".repeat(3000);
        let own = format!(
            "{manual}[www]\nuser = app\n{manual} pm.max_children=7 ; today\nenv[KEY] = s3cret\n\
             [blog]\npm = static\npm.max_spare_servers = 2\n{manual}"
        );
        std::fs::write(folder.path().join("php-fpm.conf"), own).unwrap();
        let app = App {
            // Stands in for PHP-FPM.
            program: Some("echo".into()),
            server_config: Some("php-fpm.conf".into()),
            ..App::new(folder.path(), Framework::Php, ".")
        };
        let command = PhpFpm.inspect(&app).unwrap();
        let mut process = std::process::Command::new(&command.arguments[0]);
        process.args(&command.arguments[1..]).current_dir(&command.folder);
        let printed = String::from_utf8(process.output().unwrap().stdout).unwrap();
        let (version, settings) = printed.split_once('\n').unwrap();
        let expected = "sweetspot-settings\n[www]\nuser = app\n pm.max_children=7 ; today\n\
                        [blog]\npm = static\n";
        assert_eq!((version, settings), ("--version", expected));
        let printed = format!("PHP 8.2.35 (fpm-fcgi)\n{settings}");
        let inspection = PhpFpm.read_inspection(&app, &printed).unwrap();
        assert_eq!(inspection.current, Configuration::new(7, 1).unwrap());
    }

    #[test]
    fn the_number_of_workers_is_fixed_and_all_that_is_printed_is_seen() {
        let recipe = launch(&app(), 4);
        assert_eq!(
            recipe.commands[0].arguments.join(" "),
            "php-fpm8.2 --nodaemonize --allow-to-run-as-root \
             --fpm-config /tmp/scratch/php-fpm.conf"
        );
        let config = &recipe.files[0].1;
        for line in [
            "listen = \"/tmp/scratch/app.sock\"",
            "pm = static",
            "pm.max_children = 4",
            "php_admin_flag[display_errors] = off",
            "php_admin_value[fastcgi.logging] = 1",
        ] {
            assert!(config.contains(&format!("\n{line}\n")), "{line} is missing in:\n{config}");
        }
        let root = Path::new("/srv/shop/public").to_path_buf();
        let (socket, index) = ("/tmp/scratch/app.sock".into(), "index.php".to_string());
        assert_eq!(recipe.upstream, Upstream::FastCgi { socket, root, index });
    }

    #[test]
    fn the_apps_own_settings_come_first_and_the_overlay_has_the_last_word() {
        let app = App { server_config: Some("config/php-fpm.conf".into()), ..app() };
        let recipe = launch(&app, 2);
        let arguments = &recipe.commands[0].arguments;
        assert_eq!(arguments[..2], ["sh", "-euc"]);
        assert_eq!(arguments[4..], ["php-fpm8.2", "config/php-fpm.conf", "/tmp/scratch"]);
        let names: Vec<_> = recipe.files.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["own.awk", "overlay.conf"]);
        let at = |text: &str| arguments[2].find(text).unwrap();
        assert!(at("own.awk") < at("overlay.conf\" >>"), "{}", arguments[2]);
    }

    #[test]
    fn roles_follow_from_the_title() {
        assert_roles(
            &PhpFpm,
            &[
                (2, true, "php-fpm: master process (/tmp/scratch/php-fpm.conf)", Role::Master),
                (2, false, "php-fpm: pool app", Role::Worker),
                (2, false, "php-fpm: master process (/tmp/scratch/php-fpm.conf)", Role::Worker),
                (2, false, "convert in.png out.png", Role::Other),
            ],
        );
    }
}
