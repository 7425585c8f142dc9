//! An app that runs elsewhere, as a plan has it.
//!
//! In and out: values.

use std::fmt;
use std::path::{Path, PathBuf};

use super::traffic::Url;
use crate::place::ecs::{Reserved, ServiceName};
use crate::place::remote::Host;
use crate::terms::{Bytes, Configuration, Cores, PlanSource};

/// An app that runs elsewhere, and how it is changed.
#[derive(Clone, PartialEq)]
pub struct Remote {
    /// Where it answers: without user, path and query.
    pub url: Url,
    pub commands: Commands,
    /// What it runs with before anything is changed; `None`: it is not said.
    pub today: Option<Configuration>,
    /// Its address may be one of the internet's.
    pub allows_public: bool,
    pub by: Platform,
    /// Sends the loads; `None`: this machine does.
    pub from: Option<Host>,
    /// What its platform says that it may use; `None`: the plan has to.
    pub has: Option<(Cores, Bytes)>,
    /// Which release of it ran when its platform was asked, by that one's name for it; `None`:
    /// nobody has asked.
    pub release: Option<String>,
    /// What a whole task of it reserves; `None`: it is no service of ECS, or nobody has asked.
    pub reserved: Option<Reserved>,
}

/// Whose commands change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Platform {
    /// The user's, which may hold secrets and are not stored.
    Any,
    Kamal {
        destination: Option<String>,
    },
    /// AWS's, for a service of ECS.
    Ecs(ServiceName),
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    shell_quoted(&path.display().to_string())
}

/// A text as a shell takes it. None of a path or a name holds a byte that it could not be told.
pub fn shell_quoted(text: &str) -> String {
    shlex::try_quote(text).map_or_else(|_| String::new(), |it| it.into_owned())
}

/// Commands for a shell, which may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Commands {
    /// Gives the app a setting.
    pub apply: String,
    /// Succeeds once it runs with it; `None`: once the other has ended.
    pub ready: Option<String>,
    /// Succeeds after a load where the app still runs with it; only where the commands are ours.
    pub check: Option<String>,
    /// Prints which release of the app runs, in the last line; `None`: its platform is asked in
    /// another way, or has no name for that.
    pub release: Option<String>,
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
    /// The number of workers that the user's own variable says, where nothing else has a place for
    /// it; `None`: any number can be tried, or what stands for today's is the only one.
    pub only_workers: Option<u16>,
}

impl AskedRemote {
    /// The app, with what its platform says that it may use.
    pub fn within(&self, has: Option<(Cores, Bytes)>) -> Remote {
        Remote { has, ..self.remote.clone() }
    }
}
