//! What is watched.
//!
//! In and out: values.

use std::path::PathBuf;

use super::group_use::GroupFolders;
use super::stats::StatsSource;
use crate::terms::{ProcessFacts, Role};

/// Tells a process's role.
pub type RoleOf = Box<dyn Fn(ProcessFacts<'_>) -> Role + Send>;

/// What to watch.
pub struct Watched {
    /// The processes that the server was started with, its first one first; their descendants are
    /// found anew at each look. Not empty.
    pub roots: Vec<u32>,
    /// A process all of whose children are the server's; `None`: there is none.
    pub adopter: Option<u32>,
    pub role: RoleOf,
    /// The loopback port or unix socket whose listen queue is looked at.
    pub port: Option<u16>,
    pub socket: Option<PathBuf>,
    /// The server's control group folder (version 2, or version 1's cpu controller) when it has
    /// its own.
    pub cgroup: Option<PathBuf>,
    /// The control group whose own figures are told, all folders of it; `cgroup` says which
    /// processes are the server's.
    pub group: GroupFolders,
    /// A socket at which the server's own processes tell what they do, to be made here; the folder
    /// is there.
    pub probe: Option<PathBuf>,
    /// Where the server says something of its own workers.
    pub stats: Option<StatsSource>,
}

impl Watched {
    /// These processes and what is below them, and nothing else that would have to be known.
    pub fn processes(roots: Vec<u32>, role: RoleOf) -> Self {
        let group = GroupFolders::default();
        let (adopter, port, socket, cgroup, probe, stats) = (None, None, None, None, None, None);
        Self { roots, adopter, role, port, socket, cgroup, group, probe, stats }
    }
}
