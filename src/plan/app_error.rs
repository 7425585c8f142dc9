//! Why no app could be taken from a folder, with the way out.
//!
//! In and out: values; beside them what reads a file of the app, where that may go wrong.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::server::{ADAPTERS, About, FOR_COMMANDS};

/// Why no app could be taken from a folder.
#[derive(Debug, Error)]
pub enum AppError {
    #[error("there is no folder {}; name the app's folder with --app", folder.display())]
    NoFolder { folder: PathBuf },
    #[error("{} is no folder; name the app's folder with --app", path.display())]
    NotAFolder { path: PathBuf },
    #[error("could not look into {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "no app found: there is no config.ru in {} nor in the folders below it (two deep), and no \
         Python or Node.js app; go to the app's folder, name it with --app DIR, say what the \
         server should run with --entry, or give the command that starts it with --start",
        folder.display()
    )]
    NoApp { folder: PathBuf },
    #[error(
        "{} apps found in {}: {}; choose one, such as --app {}",
        apps.len(), folder.display(), joined(apps), apps[0].display()
    )]
    SeveralApps {
        folder: PathBuf,
        /// Relative to the folder, sorted; two or more.
        apps: Vec<PathBuf>,
    },
    #[error(
        "{} itself has no app that is recognised, but these below it have: {}; choose one, such as \
         --app {}, or say what the server should run here with --entry",
        folder.display(), joined(apps), apps[0].display()
    )]
    AppsBelow {
        folder: PathBuf,
        /// Relative to the folder, sorted; not empty.
        apps: Vec<PathBuf>,
    },
    #[error(
        "{} looks like a {kind} app, but there is no config.ru, which app servers start from; \
         create {} with these two lines:\n\n    {}\n    {}\n",
        evidence.display(), rackup.display(), lines[0], lines[1]
    )]
    NoRackup { evidence: PathBuf, kind: &'static str, rackup: PathBuf, lines: [String; 2] },
    #[error(
        "{} looks like a {kind} app, which none of the servers supported now runs ({}); give the \
         command that starts it with --start, or name another app with --app DIR",
        evidence.display(), all_titles().join(", ")
    )]
    UnsupportedApp { evidence: PathBuf, kind: &'static str },
    #[error(
        "{} looks like a {kind} app, but what the server should run is not to be seen there; name \
         it, such as {example}, or give the command that starts it with --start",
        evidence.display()
    )]
    NoEntry { evidence: PathBuf, kind: &'static str, example: &'static str },
    #[error(
        "{} starts {module}, which is not there; build the app first (often with `npm run build`), \
         or say with --entry what is run",
        package.display()
    )]
    NotBuilt { package: PathBuf, module: String },
    #[error(
        "{} has several apps: {}; choose one, such as --entry {}",
        folder.display(), entries.join(", "), entries[0]
    )]
    SeveralEntries {
        folder: PathBuf,
        /// Two or more.
        entries: Vec<String>,
    },
    #[error("there is no {}, which --entry names; it counts from the app's folder", path.display())]
    EntryMissing { path: PathBuf },
    #[error(
        "{server} does not run this app ({entry}); choose {} with --server, or leave it out",
        listed(fitting, "or")
    )]
    WrongServer { server: &'static str, entry: String, fitting: Vec<&'static str> },
    /// A server that is known by its command alone; `start`: how that looks for this app, where it
    /// is known.
    #[error(
        "{file} starts {server}, which is tuned by its command: give that with --start, and \
         {{port}} and {{workers}} in place of its numbers{}; or see what the app would hold on {}, \
         with --server",
        such_as(start.as_deref()), listed(fitting, "or")
    )]
    OtherServer {
        file: &'static str,
        server: &'static str,
        start: Option<String>,
        fitting: Vec<&'static str>,
    },
    #[error(
        "{} names the server {server}, which is not supported now; give the command that starts it \
         with --start, or, to see what the app would hold on {}, add gem \"{}\" to its Gemfile and \
         run `bundle install`",
        evidence.display(), listed(&known(|about| about.title), "or"), ADAPTERS[0].name()
    )]
    UnsupportedServer { evidence: PathBuf, server: String },
    #[error(
        "{} does not name {}; add gem \"{first}\" to the Gemfile and run `bundle install`, or say \
         --server {first} if the bundle gets it in another way",
        evidence.display(), listed(&known(|about| about.name), "or"), first = ADAPTERS[0].name()
    )]
    ServerNotInBundle { evidence: PathBuf },
    #[error(
        "{} has no lock file {} beside it, and Bundler would write one into the app's folder; run \
         `bundle install` there first",
        gemfile.display(), lock
    )]
    NoLock { gemfile: PathBuf, lock: &'static str },
    #[error("{program} is not in any folder of PATH; install it: `{}`", install.join("`, or `"))]
    NoProgram { program: &'static str, install: &'static [&'static str] },
    #[error(
        "{program} is not in any folder of the PATH that sudo gives; where it is in yours, as with \
         rbenv, asdf or mise, type `sudo env \"PATH=$PATH\"` in place of `sudo`; else install it: \
         `{}`",
        install.join("`, or `")
    )]
    NoProgramBelowSudo { program: &'static str, install: &'static [&'static str] },
}

impl AppError {
    /// As it is for who called sudo: a program that is missing may be in their own folders.
    pub(super) fn below_sudo(self) -> Self {
        match self {
            Self::NoProgram { program, install } => Self::NoProgramBelowSudo { program, install },
            other => other,
        }
    }
}

/// This of every server that a Ruby app can have.
pub(super) fn known(what: fn(&About) -> &'static str) -> Vec<&'static str> {
    let abouts = ADAPTERS.iter().map(|adapter| adapter.about());
    abouts.filter(|about| about.runs_ruby()).map(what).collect()
}

/// `Puma, Unicorn or Thin`.
pub fn listed(names: &[&str], word: &str) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} {word} {last}", first.join(", ")),
        names => names.concat(),
    }
}

fn such_as(command: Option<&str>) -> String {
    command.map(|it| format!(", such as '{it}'")).unwrap_or_default()
}

/// Of every server that is known by name.
fn all_titles() -> Vec<&'static str> {
    let named = ADAPTERS.iter().filter(|adapter| adapter.name() != FOR_COMMANDS.name());
    named.map(|adapter| adapter.about().title).collect()
}

fn joined(apps: &[PathBuf]) -> String {
    apps.iter().map(|app| app.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// A text file of the app; what is not UTF-8 in it does not matter to us.
pub(super) fn read(path: &Path) -> Result<String, AppError> {
    let bytes = fs::read(path)
        .map_err(|source| AppError::Unreadable { path: path.to_path_buf(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
