//! An app that runs elsewhere, as a plan has it.
//!
//! In and out: values.

use std::fmt;
use std::path::PathBuf;

use super::traffic::Url;
use crate::terms::{Configuration, PlanSource};

/// An app that runs elsewhere, and how it is changed.
#[derive(Clone, PartialEq, Eq)]
pub struct Remote {
    /// Where it answers: without user, path and query.
    pub url: Url,
    pub commands: Commands,
    /// What it runs with before anything is changed; `None`: it is not said.
    pub today: Option<Configuration>,
    /// Its address may be one of the internet's.
    pub allows_public: bool,
    /// Its commands are Kamal's, and no secrets.
    pub by_kamal: bool,
    /// Kamal's destination.
    pub destination: Option<String>,
}

/// Commands for a shell, which may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Commands {
    /// Gives the app a setting.
    pub apply: String,
    /// Succeeds once it runs with it; `None`: once the other has ended.
    pub ready: Option<String>,
    /// Gives a shell where it runs; `None`: nothing is seen of what it uses.
    pub observe: Option<String>,
    /// Puts it back.
    pub restore: String,
    /// Files that they need, to be written before: absolute paths and texts.
    pub files: Vec<(PathBuf, String)>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote {{ url: {}, commands: [hidden] }}", self.url)
    }
}

/// An app elsewhere as it was asked for, with where that came from.
pub struct AskedRemote {
    pub remote: Remote,
    pub source: PlanSource,
}
