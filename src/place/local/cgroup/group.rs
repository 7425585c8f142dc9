//! A control group that was made, its limits, and writing to its files.
//!
//! In: folders. Out: what is enforced there, and a certain end.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::monitor::{GroupFolders, groups};
use crate::terms::LimitRefusal;

/// Limits; `None`: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Processor time, in cores.
    pub cores: Option<f64>,
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// What one folder itself is held to.
    pub(super) fn of(folder: &Path) -> Self {
        Self {
            cores: groups::quota_in(folder),
            memory_bytes: groups::memory_limit_in(folder).map(|limit| limit.0),
        }
    }

    /// The tighter of both, limit by limit.
    #[must_use]
    pub fn tighter(self, other: Self) -> Self {
        Self {
            cores: least(self.cores, other.cores, f64::min),
            memory_bytes: least(self.memory_bytes, other.memory_bytes, u64::min),
        }
    }
}

fn least<T>(a: Option<T>, b: Option<T>, min: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(min(a, b)),
        (a, b) => a.or(b),
    }
}

/// A control group made for a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its folders, one in each tree used.
    pub folders: Vec<PathBuf>,
    /// Where processor time is limited and counted.
    pub cpu: Option<PathBuf>,
    /// Where memory is limited and counted.
    pub memory: Option<PathBuf>,
    /// Where all of its processes can be killed at once.
    pub kill: Option<PathBuf>,
    /// Controllers that were switched on for it in the folders above.
    pub switched_on: Vec<SwitchedOn>,
    /// What was wanted and is not enforced, and why.
    pub not_enforced: Vec<NotEnforced>,
}

/// A controller that a folder did not give to those below it before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchedOn {
    pub folder: PathBuf,
    pub controller: String,
}

/// A limit that the machine does not let us set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotEnforced {
    pub limit: LimitName,
    pub why: LimitRefusal,
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitName {
    Cores,
    Memory,
}

/// Removing a group is retried for so long: its last processes may still be on their way out.
const REMOVAL: Duration = Duration::from_secs(2);

impl Group {
    /// The files that a process writes `0` to in order to join.
    pub fn join_files(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.join("cgroup.procs")).collect()
    }

    /// Kills all of its processes at once, where the kernel can.
    pub fn kill(&self) {
        if let Some(folder) = &self.kill {
            // Whether it worked shows in the processes, which the caller looks at anyway.
            let _ = set(folder, "cgroup.kill", "1");
        }
    }

    /// Its folders, as they are watched.
    pub fn watched(&self) -> GroupFolders {
        let counts = |folder: &&PathBuf| folder.join("cpu.stat").exists();
        // Version 2 counts processor time in every group, also where it limits nothing.
        let unified = self.kill.as_ref().filter(counts).cloned();
        GroupFolders { cpu: self.cpu.clone(), memory: self.memory.clone(), unified }
    }

    /// How many processes were killed because memory ran out; 0 when nothing counts them.
    pub fn out_of_memory_kills(&self) -> u64 {
        self.memory.as_deref().and_then(groups::out_of_memory_kills).unwrap_or(0)
    }

    /// Removes it; its processes must have ended.
    ///
    /// # Errors
    /// A folder could not be removed in time.
    pub fn remove(&self) -> io::Result<()> {
        let deadline = Instant::now() + REMOVAL;
        let mut result = Ok(());
        for folder in &self.folders {
            loop {
                match fs::remove_dir(folder) {
                    Ok(()) => break,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    Err(_) if Instant::now() < deadline => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    Err(error) => {
                        result = Err(error);
                        break;
                    }
                }
            }
        }
        self.switched_on.iter().for_each(switch_off);
        result
    }

    /// A group that takes part in nothing, with what was wanted as not enforced.
    pub fn none(wanted: Limits, why: &LimitRefusal) -> Self {
        let mut group = Self::default();
        group.give_up(wanted, why);
        group
    }

    pub(super) fn give_up(&mut self, wanted: Limits, why: &LimitRefusal) {
        let cores = wanted.cores.map(|_| LimitName::Cores);
        let memory = wanted.memory_bytes.map(|_| LimitName::Memory);
        for limit in cores.into_iter().chain(memory) {
            self.not_enforced.push(NotEnforced { limit, why: why.clone() });
        }
    }
}

/// What a group's files hold where its controller limits and weighs nothing.
const UNLIMITED: [(&str, &str, &str); 6] = [
    ("cpu", "cpu.max", "max"),
    ("cpu", "cpu.weight", "100"),
    ("memory", "memory.max", "max"),
    ("memory", "memory.high", "max"),
    ("memory", "memory.low", "0"),
    ("memory", "memory.min", "0"),
];

/// Leaves a folder as it was found, unless a group below it makes use of the controller by now.
pub(super) fn switch_off(it: &SwitchedOn) {
    let entries = fs::read_dir(&it.folder).into_iter().flatten().flatten();
    let is_used = |folder: PathBuf| {
        let holds = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        let files = UNLIMITED.iter().filter(|(controller, ..)| *controller == it.controller);
        files.into_iter().any(|(_, file, usual)| {
            holds(file).split_whitespace().next().is_some_and(|found| found != *usual)
        })
    };
    if !entries.into_iter().any(|entry| is_used(entry.path())) {
        // What cannot be switched off limits nobody.
        let _ = set(&it.folder, "cgroup.subtree_control", &format!("-{}", it.controller));
    }
}

/// Writes a value into a control file that is there; the error names the file.
pub(super) fn set(folder: &Path, file: &str, value: &str) -> io::Result<()> {
    let path = folder.join(file);
    let written = fs::OpenOptions::new().write(true).truncate(true).open(&path);
    written
        .and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Can this process write to `path`?
pub(super) fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}
