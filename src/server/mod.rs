//! How each app server spells workers x threads: a folder each, and a row in [`ADAPTERS`].
//!
//! In: an [`App`] and a configuration. Out: recipes (what to run, how to see that it is ready,
//! which process is what, how to stop it, how its users write the setting down). Must not run, read
//! or write anything: `place` does.

pub mod advice;
pub mod puma;
mod rack;
pub mod unicorn;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::terms::{BootFailureKind, Configuration, Cores, Role, Settings};

/// The app servers we know. Where an app would do for several, the first of them is taken.
pub static ADAPTERS: &[&dyn Adapter] = &[&puma::Puma, &unicorn::Unicorn];

/// What is so of a server whatever the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// As users write it: `puma`. Its gem and the program that starts it have the same name.
    pub name: &'static str,
    /// As it is written in sentences: `Puma`.
    pub title: &'static str,
    /// The server's own configuration in an app's folder: where it is looked for, first come first
    /// served.
    pub config_files: &'static [&'static str],
    /// A worker can have several threads; else it has one, and there is nothing to choose.
    pub has_threads: bool,
    /// Commands that install it, any of which will do: `gem install puma`.
    pub install: &'static [&'static str],
}

/// What kind of app it is, as far as it changes what we do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framework {
    Rails,
    Sinatra,
    /// Anything else with a `config.ru`.
    Rack,
}

/// An app in its folder. The folder is never written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// Absolute.
    pub folder: PathBuf,
    pub framework: Framework,
    /// `config.ru`, relative to the folder.
    pub rackup: PathBuf,
    /// The server's own configuration file, relative to the folder, when there is one.
    pub server_config: Option<PathBuf>,
    /// Run through `bundle exec`.
    pub is_bundled: bool,
    /// Path with which the app says that it is there, such as `/`.
    pub ready_path: String,
}

/// Where the server should listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Loopback port.
    Port(u16),
    Socket(PathBuf),
}

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// Program first.
    pub arguments: Vec<String>,
    /// On top of what is inherited.
    pub env: BTreeMap<String, String>,
    /// Variables that must not be inherited.
    pub env_removed: Vec<String>,
    pub folder: PathBuf,
}

/// How one configuration is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    pub command: CommandLine,
    /// Files to write into the scratch folder first: name and content.
    pub files: Vec<(PathBuf, String)>,
    /// A log line that each worker prints once it serves; counted. `None`: the first good reply is
    /// enough.
    pub ready_line: Option<ReadyLine>,
    /// Log lines that say that it won't come up, though the process lives on; counted.
    pub failure_line: Option<ReadyLine>,
    pub graceful_stop: GracefulStop,
}

/// Readiness by log lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyLine {
    /// All of these texts stand in the line, in this order.
    pub contains: Vec<String>,
    /// Lines needed.
    pub count: u16,
}

impl ReadyLine {
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

/// How the server is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GracefulStop {
    /// As in signal(7).
    pub signal: i32,
    /// After this it is ended for certain.
    pub wait: Duration,
}

/// One process below the server, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFacts<'a> {
    /// The process we started, and not one of its descendants.
    pub is_root: bool,
    /// Command line joined by spaces (servers write their title there).
    pub title: &'a str,
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
    /// Which variables change it.
    pub obeys: Obeys,
    /// Sentences about what could surprise: "threads 0:5 are run as 5:5".
    pub remarks: Vec<String>,
}

/// The environment variables that an app's own settings follow; `None` where they hold a fixed
/// number, or one that follows no variable we know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Obeys {
    pub workers: Option<String>,
    /// The most threads of a worker.
    pub max_threads: Option<String>,
    pub min_threads: MinThreads,
}

/// Where the least threads of a worker come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MinThreads {
    /// A variable, often the same as for the most.
    Variable(String),
    /// Always so many; the most cannot be set below that.
    Fixed(u16),
}

impl Default for MinThreads {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

/// The output of an inspection that cannot be understood.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("could not read the app's own server settings: {message}")]
pub struct InspectionError {
    pub kind: BootFailureKind,
    pub message: String,
}

/// An app server.
pub trait Adapter: Sync {
    /// Its names, files and abilities.
    fn about(&self) -> &'static About;

    /// As users write it: `puma`.
    fn name(&self) -> &'static str {
        self.about().name
    }

    /// A command that prints the app's own settings, and changes nothing.
    fn inspect(&self, app: &App) -> CommandLine;

    /// Reads what [`inspect`](Self::inspect)'s command printed.
    ///
    /// # Errors
    /// The output is not what that command prints.
    fn read_inspection(&self, stdout: &str) -> Result<Inspection, InspectionError>;

    /// How to start `configuration`; `scratch` is a folder of ours.
    fn launch(
        &self,
        app: &App,
        configuration: Configuration,
        listen: &Listen,
        scratch: &std::path::Path,
    ) -> Recipe;

    /// What a process below the server is.
    fn role(&self, configuration: Configuration, process: ProcessFacts<'_>) -> Role;

    /// The setting as this server's users write it down, in the way that this app obeys; `cores`
    /// are those it was measured on.
    fn settings(
        &self,
        app: &App,
        inspection: &Inspection,
        configuration: Configuration,
        cores: Cores,
    ) -> Settings;

    /// The cause of a failed boot, from the server's own last lines.
    fn recognise_failure(&self, last_lines: &[String]) -> BootFailureKind;
}

/// The adapter of this name.
pub fn find(name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.name() == name)
}
