//! What the commands that start servers have in common.
//!
//! In: an app. Out: parts of recipes. Only computes.

use std::collections::BTreeMap;
use std::path::Path;

use super::{App, CommandLine, Listen};

/// What would make a server listen elsewhere, or report to a supervisor of its own.
const NOT_INHERITED: &[&str] = &[
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
];

/// What PORT says where the server listens on a socket behind a proxy: settings and apps may insist
/// on a number.
const PORT_BEHIND_PROXY: u16 = 50505;

/// What PORT says.
pub fn port(listen: &Listen) -> u16 {
    match listen {
        Listen::Port(port) => *port,
        Listen::Socket(_) => PORT_BEHIND_PROXY,
    }
}

/// The command that starts a server in its app's folder; `not_inherited` besides what would make
/// any server come up elsewhere.
pub fn start(
    app: &App,
    arguments: Vec<String>,
    env: BTreeMap<String, String>,
    not_inherited: &[&str],
) -> CommandLine {
    let env_removed = NOT_INHERITED.iter().chain(not_inherited).map(ToString::to_string).collect();
    CommandLine { arguments, env: env.into(), env_removed, folder: app.folder.clone() }
}

/// A path as an argument.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The arguments that run a script of ours, which gets these as its own: what has to be looked at
/// where the command runs.
pub fn shell(script: &str, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let shell = ["sh", "-euc", script, "sh"].map(String::from);
    shell.into_iter().chain(arguments).collect()
}
