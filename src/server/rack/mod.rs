//! What Ruby's app servers have in common: Bundler, the production environment, Ruby's own text.
//!
//! In: an app. Out: parts of recipes. Only computes.

pub mod failure;
pub mod inspection;

use std::collections::BTreeMap;
use std::path::Path;

use super::{App, CommandLine, Framework, Listen, ReadyLine};
use crate::terms::{Configuration, Cores, Workers};

/// What would make a server listen elsewhere, or report to a supervisor of its own.
const NOT_INHERITED: &[&str] = &[
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
];

/// The beginning of a command line: `bundle exec` for an app with a Gemfile.
pub fn through_bundler(app: &App) -> Vec<String> {
    if app.is_bundled { vec!["bundle".into(), "exec".into()] } else { Vec::new() }
}

/// What keeps Bundler from writing into the app's folder.
pub fn never_written(app: &App) -> BTreeMap<String, String> {
    let frozen = app.is_bundled.then(|| ("BUNDLE_FROZEN".to_string(), "true".to_string()));
    frozen.into_iter().collect()
}

/// A command that runs `script`, behind what all inspections have in common, with the server's own
/// configuration file as its argument.
pub fn inspect(app: &App, script: &str) -> CommandLine {
    let mut arguments = through_bundler(app);
    // Ruby joins them, a line each.
    let scripts = ["ruby", "-e", include_str!("inspect.rb"), "-e", script, "--"];
    arguments.extend(scripts.map(String::from));
    arguments.extend(app.server_config.as_deref().map(text));
    CommandLine {
        arguments,
        env: never_written(app),
        env_removed: Vec::new(),
        folder: app.folder.clone(),
    }
}

/// A command that starts a server; `not_inherited` besides [`NOT_INHERITED`].
pub fn start(
    app: &App,
    arguments: Vec<String>,
    env: BTreeMap<String, String>,
    not_inherited: &[&str],
) -> CommandLine {
    let env_removed = NOT_INHERITED.iter().chain(not_inherited).map(ToString::to_string).collect();
    CommandLine { arguments, env, env_removed, folder: app.folder.clone() }
}

/// Log lines of workers that cannot load the app, which are started again without end; once may be
/// an accident, so one more failure than there are workers is needed.
pub fn failing_workers(texts: &[&str], configuration: Configuration) -> ReadyLine {
    ReadyLine {
        contains: texts.iter().map(ToString::to_string).collect(),
        count: configuration.workers.get().saturating_add(1),
    }
}

/// Lines for a configuration file that keep the ratio of workers to cores elsewhere; `directive` is
/// the server's word for the number of workers.
pub fn same_ratio(directive: &str, workers: Workers, cores: Cores) -> [String; 4] {
    [
        String::new(),
        format!("# The same ratio on a machine of another size (this one has {cores} cores):"),
        "#   require \"etc\"".into(),
        format!(
            "#   {directive} [({workers} * Etc.nprocessors / {:?}).round, 1].max",
            // Always with a point: Ruby would round a whole number down.
            cores.get()
        ),
    ]
}

/// The environment of an app in production that writes nothing into its folder.
pub fn production(app: &App, listen: &Listen, scratch: &Path) -> BTreeMap<String, String> {
    let mut env = never_written(app);
    let mut set = |name: &str, value: String| {
        env.insert(name.to_string(), value);
    };
    for name in ["RACK_ENV", "RAILS_ENV", "APP_ENV"] {
        set(name, "production".into());
    }
    if let Listen::Port(port) = listen {
        set("PORT", port.to_string());
    }
    if app.framework == Framework::Rails {
        set("RAILS_LOG_TO_STDOUT", "1".into());
        // Its cache would otherwise be written below the app's own tmp/.
        set("BOOTSNAP_CACHE_DIR", text(&scratch.join("bootsnap")));
    }
    env
}

/// A path as an argument.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A path as it stands between double quotes in Ruby.
pub fn quoted(path: &Path) -> String {
    text(path).replace('\\', "\\\\").replace('"', "\\\"").replace('#', "\\#")
}
