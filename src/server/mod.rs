//! How each app server spells workers x threads: a folder each, and a row in [`ADAPTERS`].
//!
//! In: an [`App`] and a configuration. Out: recipes (what to run, how to see that it is ready,
//! which process is what, how to stop it, how its users write the setting down). Must not run, read
//! or write anything: `place` does.

mod about;
pub(crate) mod advice;
pub mod command;
mod command_line;
mod failure;
mod filled;
mod flags;
mod gunicorn;
pub mod hosts;
mod inspection;
mod knobs;
mod manifest;
mod nginx;
mod node;
mod obeys;
mod php_fpm;
pub mod pods;
mod printed;
mod proxy;
mod puma;
mod python;
mod rack;
mod run_as;
pub mod scaling;
mod seen;
mod thin;
mod unicorn;
mod uvicorn;
mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::command::CommandTemplate;
use crate::terms::{
    BootFailureKind, Bytes, Configuration, Cores, ProcessFacts, Remark, Role, Settings,
    SettingsError, WorkerStats,
};

pub use self::about::About;
pub use self::failure::{other_port_taken, own_message};
pub use self::flags::{FlagNames, Flags, KeptFlag, Takes};
pub use self::inspection::is_report;
pub use self::knobs::{Changed, KnobError, Knobs, check_setting, ignored, in_the_way, settings};
pub use self::obeys::{MinThreads, Obeys};
pub use self::printed::{Printed, printed};
pub use self::proxy::{Ports, Proxy};
pub use self::python::assigned as assigned_in_python;
pub use self::rack::environments;
pub use self::rack::probe::{
    OPTIONS as PROBE_OPTIONS, socket as probe_socket, standing_alone as probe_standing_alone,
};
pub use self::run_as::RunAs;
pub use self::seen::{has_one_thread, is_serving, recognise_failure, role, serves_requests};
pub use self::variables::Variables;
pub use crate::terms::Framework;

/// The app servers we know. Where an app would do for several, the first of them is taken.
pub static ADAPTERS: &[&dyn Adapter] = &[
    &puma::Puma,
    &unicorn::Unicorn,
    &thin::Thin,
    // Before gunicorn, which runs ASGI apps too, in workers that are uvicorn's.
    &uvicorn::Uvicorn,
    &gunicorn::Gunicorn,
    &node::Node,
    &php_fpm::PhpFpm,
    &command::Command,
];

/// The one that runs whatever command the user gives.
pub static FOR_COMMANDS: &dyn Adapter = &command::Command;

/// The one whose pods run in a cluster, which starts them itself.
pub static FOR_PODS: &dyn Adapter = &pods::Pods;

/// An app in its folder. The folder is never written to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct App {
    /// Absolute.
    pub folder: PathBuf,
    pub framework: Framework,
    /// What the server is told to run, relative to the folder: `config.ru`,
    /// `shop.wsgi:application`, `server.js`; of a PHP app its pages' folder (`.` or `public`).
    pub entry: String,
    /// The server's own configuration file, relative to the folder, when there is one.
    pub server_config: Option<PathBuf>,
    /// Run through `bundle exec`.
    pub is_bundled: bool,
    /// Path with which the app says that it is there, such as `/`.
    pub ready_path: String,
    /// Variables of the user's for the app; those that a recipe sets come before them.
    pub env: Variables,
    pub proxy: Proxy,
    /// The server's program, where it is not the first of [`About::programs`].
    pub program: Option<String>,
    /// What the command that deploys it gives its server.
    pub flags: Option<Flags>,
    /// What stands before its entry in its command: all, of an app that is no server's, else the
    /// flags that its server keeps, a word each.
    pub start_flags: Vec<String>,
    /// The arguments behind its entry, of an app that is no server's.
    pub start_arguments: Vec<String>,
    /// The variables that its command gives it, of an app that is no server's before its language's
    /// program, else by the server's flags; those in `env` come before them.
    pub start_env: Variables,
    /// A command of the user's that starts it; for [`FOR_COMMANDS`] alone.
    pub command: Option<CommandTemplate>,
    /// A Deployment in whose pods it runs; for [`FOR_PODS`] alone.
    pub pods: Option<pods::PodTemplate>,
    /// The kind of its workers, where its server has several and the app's own settings name one.
    pub worker_kind: Option<String>,
    /// Whom its processes belong to; `None`: to whoever we are.
    pub run_as: Option<RunAs>,
    /// A script of ours counts inside its processes what requests cost; only where
    /// [`About::runs_ruby`].
    pub is_probed: bool,
    /// Hosts that its folder has files of.
    pub hosts: Vec<hosts::Host>,
    /// What is tried for a while on top of all this.
    pub changed: Changed,
}

impl App {
    /// The kind of workers that the command which deploys it gives.
    pub fn commands_kind(&self) -> Option<String> {
        self.flags.as_ref()?.kind.clone()
    }

    /// An app that starts from `entry`, without settings of its own, asked for at `/`.
    pub fn new(folder: impl Into<PathBuf>, framework: Framework, entry: &str) -> Self {
        Self {
            folder: folder.into(),
            framework,
            entry: entry.to_string(),
            ready_path: "/".to_string(),
            ..Self::default()
        }
    }

    /// The program that starts its server: one of its own, or that which the server is known by.
    pub fn program<'a>(&'a self, about: &About) -> &'a str {
        let known = about.programs.first().copied().unwrap_or(about.name);
        self.program.as_deref().unwrap_or(known)
    }

    /// Its server's configuration file as it is called there; without one, where most have theirs.
    pub fn config_file(&self, usual: &str) -> String {
        self.server_config.as_deref().map_or_else(|| usual.to_string(), command_line::text)
    }
}

/// Where the server should listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Loopback port.
    Port(u16),
    Socket(PathBuf),
}

/// What is to be started.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    pub app: &'a App,
    pub configuration: Configuration,
    pub listen: &'a Listen,
    /// A folder of ours.
    pub scratch: &'a Path,
}

/// A configuration of an app, to be written down as its users do.
#[derive(Debug, Clone, Copy)]
pub struct Recommended<'a> {
    pub app: &'a App,
    pub inspection: &'a Inspection,
    pub configuration: Configuration,
    /// Those that it was measured on.
    pub cores: Cores,
    /// As much as it was measured with.
    pub memory: Bytes,
    /// What the others of its pods were seen to do once one was gone: the rate, requests/s, and the
    /// rest in words.
    pub a_pod_less: Option<(f64, &'a str)>,
}

impl Recommended<'_> {
    /// The variables that give the app exactly this configuration; `None` when they cannot.
    fn env(&self) -> Option<BTreeMap<String, String>> {
        let Configuration { workers, threads } = self.configuration;
        let obeys = &self.inspection.obeys;
        let mut env = BTreeMap::from([(obeys.workers.clone()?, workers.to_string())]);
        match &obeys.max_threads {
            Some(name) => drop(env.insert(name.clone(), threads.to_string())),
            None if self.inspection.current.threads == threads => {}
            None => return None,
        }
        Some(env)
    }
}

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// Program first.
    pub arguments: Vec<String>,
    /// On top of what is inherited.
    pub env: Variables,
    /// Variables that must not be inherited.
    pub env_removed: Vec<String>,
    pub folder: PathBuf,
}

impl CommandLine {
    /// One that inherits all variables as they are.
    pub fn new(arguments: Vec<String>, folder: &Path) -> Self {
        let (env, env_removed) = (Variables::default(), Vec::new());
        Self { arguments, env, env_removed, folder: folder.to_path_buf() }
    }
}

/// How one configuration is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Not empty; started in this order. Most servers are one process that makes the others.
    pub commands: Vec<CommandLine>,
    /// Where the server answers.
    pub upstream: Upstream,
    /// A proxy in front, started after the server and stopped before it.
    pub proxy: Option<CommandLine>,
    /// Files to write into the scratch folder first: name and content.
    pub files: Vec<(PathBuf, String)>,
    /// A log line that each worker prints once it serves; counted. `None`: nothing that it prints
    /// says so, it is ready when it has given a good reply and its processes have come to rest.
    pub ready_line: Option<ReadyLine>,
    /// Log lines that say that it won't come up, though the process lives on; counted.
    pub failure_line: Option<ReadyLine>,
    /// Asks it to finish its requests and end, as in signal(7).
    pub stop_signal: i32,
    /// Where it says something of its own workers.
    pub stats: Option<Stats>,
}

/// Where a server that runs can be asked for its own figures, by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    pub socket: PathBuf,
    pub path: String,
}

/// Where a server answers, and in which protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// At each of these in turn.
    Http(Vec<Listen>),
    /// PHP pages below `root`; what is no file there is answered by `index`, relative to it.
    FastCgi { socket: PathBuf, root: PathBuf, index: String },
}

/// Readiness by log lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyLine {
    /// All of these texts stand in the line, in this order.
    pub contains: Vec<String>,
    /// Lines needed.
    pub count: u16,
}

impl Recipe {
    /// Processes that answer there, and that this signal ends gracefully.
    pub fn of(commands: Vec<CommandLine>, listen: &Listen, stop_signal: i32) -> Self {
        Self {
            commands,
            upstream: Upstream::Http(vec![listen.clone()]),
            proxy: None,
            files: Vec::new(),
            ready_line: None,
            failure_line: None,
            stop_signal,
            stats: None,
        }
    }

    /// The unix socket on which the server answers, if it is one; the first of several.
    pub fn socket(&self) -> Option<&Path> {
        match &self.upstream {
            Upstream::Http(places) => places.iter().find_map(|place| match place {
                Listen::Socket(path) => Some(path.as_path()),
                Listen::Port(_) => None,
            }),
            Upstream::FastCgi { socket, .. } => Some(socket),
        }
    }
}

impl ReadyLine {
    /// As many lines as `count` says in which these texts stand, in this order.
    pub fn of(contains: &[&str], count: u16) -> Self {
        Self { contains: contains.iter().map(ToString::to_string).collect(), count }
    }

    /// Is `line` one of those that are counted?
    pub fn matches(&self, line: &str) -> bool {
        let mut rest = line;
        self.contains.iter().all(|text| {
            let found = rest.split_once(text.as_str());
            rest = found.map_or("", |(_, after)| after);
            found.is_some()
        })
    }
}

impl ProcessFacts<'_> {
    /// Its role where the first process is a master and makes workers with such titles.
    fn role_below_master(&self, is_workers_title: impl Fn(&str) -> bool) -> Role {
        match self.is_root {
            true => Role::Master,
            false if is_workers_title(self.title) => Role::Worker,
            false => Role::Other,
        }
    }
}

/// What an app's own settings say, before we change anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// As the app runs today.
    pub current: Configuration,
    /// The server's version.
    pub server_version: String,
    /// The language's version.
    pub runtime_version: String,
    /// It is a Ruby whose compiler YJIT was left out when it was built.
    pub lacks_yjit: bool,
    /// Its own file says that it is not to be loaded before its workers are forked.
    pub is_never_preloaded: bool,
    /// Which variables change it.
    pub obeys: Obeys,
    /// What could surprise.
    pub remarks: Vec<Remark>,
}

impl Inspection {
    /// The settings of an app of which no more is known.
    pub fn of(current: Configuration) -> Self {
        Self {
            current,
            server_version: String::new(),
            runtime_version: String::new(),
            lacks_yjit: false,
            is_never_preloaded: false,
            obeys: Obeys::default(),
            remarks: Vec::new(),
        }
    }
}

/// An app's settings that cannot be read or run.
#[derive(Debug, PartialEq)]
pub struct InspectionError {
    pub kind: BootFailureKind,
    pub why: SettingsError,
}

impl From<SettingsError> for InspectionError {
    fn from(why: SettingsError) -> Self {
        Self { kind: BootFailureKind::Exited, why }
    }
}

/// Who takes a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepts {
    /// A worker with a free thread: all wait at one queue.
    Free,
    /// Any worker, whether it has a thread free or not.
    Any,
    /// Any worker where workers have several threads, else one that is free.
    AnyWithThreads,
    /// The workers in turn, as the proxy before them has it.
    InTurn,
}

/// An app server.
pub trait Adapter: Sync {
    /// Its names, files and abilities.
    fn about(&self) -> &'static About;

    /// As users write it: `puma`.
    fn name(&self) -> &'static str {
        self.about().name
    }

    /// Can a worker of this app have several threads?
    fn has_threads(&self, _app: &App) -> bool {
        self.about().has_threads
    }

    /// Does a worker work on as many requests at once as come, however few threads it has?
    /// `has_threads`: does this app's have threads to choose?
    fn is_event_loop(&self, _has_threads: bool) -> bool {
        false
    }

    /// Who takes a new connection, in a version (its first two numbers).
    fn accepts(&self, _version: (u32, u32)) -> Accepts {
        Accepts::Free
    }

    /// False: nothing is known of how it works.
    fn is_known(&self) -> bool {
        !self.about().programs.is_empty()
    }

    /// The kind of worker that this text of its own configuration file names, where that decides
    /// what can be chosen.
    fn worker_kind(&self, _config: &str) -> Option<String> {
        None
    }

    /// A command that prints the app's own settings, and changes nothing. `None`: nothing need be
    /// run, an empty output is read.
    fn inspect(&self, app: &App) -> Option<CommandLine>;

    /// Reads what [`inspect`](Self::inspect)'s command printed.
    ///
    /// # Errors
    /// The output is not what that command prints.
    fn read_inspection(&self, app: &App, stdout: &str) -> Result<Inspection, InspectionError>;

    /// How a configuration is started, without a proxy. A server whose workers each have an address
    /// adds to a socket's name.
    fn launch(&self, launch: Launch<'_>) -> Recipe;

    /// What a process below the server is.
    fn role(&self, configuration: Configuration, process: ProcessFacts<'_>) -> Role;

    /// A configuration as this server's users write it down, in the way that this app follows.
    fn settings(&self, recommended: Recommended<'_>) -> Settings;

    /// Reads what it says at [`Recipe::stats`]; empty when that is something else.
    fn read_stats(&self, _body: &str) -> Vec<WorkerStats> {
        Vec::new()
    }
}

/// How to start `configuration` so that clients reach it at the front port, through the app's proxy
/// if it has one.
pub fn recipe(
    app: &App,
    adapter: &dyn Adapter,
    configuration: Configuration,
    ports: Ports,
    scratch: &Path,
) -> Recipe {
    let listen = &app.proxy.upstream(ports, scratch);
    let behind = adapter.launch(Launch { app, configuration, listen, scratch });
    let mut recipe = app.proxy.in_front_of(behind, ports, scratch, app);
    // Before the probe, which adds to a variable and keeps what stands there.
    for command in &mut recipe.commands {
        command.env.extend(app.changed.env.clone());
    }
    if app.is_probed {
        rack::probe::add_to(&mut recipe, app, scratch);
    }
    recipe.commands.iter_mut().for_each(|command| add_env(app, command));
    recipe
}

/// The command that prints the app's own settings; `None`: nothing need be run.
pub fn inspect(app: &App, adapter: &dyn Adapter) -> Option<CommandLine> {
    let mut command = adapter.inspect(app)?;
    add_env(app, &mut command);
    Some(command)
}

/// Reads what [`inspect`]'s command printed, or nothing where there is none.
///
/// # Errors
/// The output is not what that command prints.
pub fn read_inspection(
    app: &App,
    adapter: &dyn Adapter,
    stdout: &str,
) -> Result<Inspection, InspectionError> {
    let mut inspection = adapter.read_inspection(app, stdout)?;
    app.flags.iter().for_each(|flags| flags.apply_to(&mut inspection, adapter.has_threads(app)));
    Ok(inspection)
}

/// The environment that an app runs in, such as `production`, and the user's own variable that says
/// so; `None`: nothing says which.
pub fn environment(app: &App) -> Option<(&str, Option<&'static str>)> {
    let (names, default): (&[&'static str], _) = match app.framework {
        Framework::Node => (&["NODE_ENV"], Some("production")),
        // Without its variable an app's own files say it, such as `.env`.
        Framework::Php => (&["APP_ENV"], None),
        Framework::Other => (&["RACK_ENV", "RAILS_ENV", "APP_ENV", "NODE_ENV"], None),
        _ => (&rack::ENVIRONMENT, Some("production")),
    };
    let own = names.iter().find_map(|name| Some((app.env.get(*name)?.as_str(), Some(*name))));
    own.or(default.map(|default| (default, None)))
}

/// The user's own variables, below the recipe's.
fn add_env(app: &App, command: &mut CommandLine) {
    let of_recipe = std::mem::replace(&mut command.env, app.env.clone());
    command.env.extend(of_recipe);
}

/// The adapter of this name.
pub fn find(name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().chain([FOR_PODS]).find(|adapter| adapter.name() == name)
}

#[cfg(test)]
mod tests;
