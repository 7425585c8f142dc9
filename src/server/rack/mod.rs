//! What Ruby's app servers have in common: Bundler, the production environment, Ruby's own text.
//!
//! In: an app. Out: parts of recipes. Only computes.

pub mod failure;
pub mod inspection;

use std::collections::BTreeMap;
use std::path::Path;

use super::{App, CommandLine, Framework, Listen};

/// What would make a server listen elsewhere, or report to a supervisor of its own.
pub const NOT_INHERITED: &[&str] = &[
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

/// A command that runs `script` with the server's own configuration file as its argument.
pub fn inspect(app: &App, script: &str) -> CommandLine {
    let mut arguments = through_bundler(app);
    arguments.extend(["ruby", "-e", script, "--"].map(String::from));
    arguments.extend(app.server_config.as_deref().map(text));
    CommandLine {
        arguments,
        env: never_written(app),
        env_removed: Vec::new(),
        folder: app.folder.clone(),
    }
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
