//! What the server's control group counted between two moments: CPU time, memory, pressure.
//!
//! In: the group's folders. Out: a [`GroupUse`]. Reads both versions of control groups; a file that
//! is not there is a figure that is `None`.

use std::fs;
use std::path::{Path, PathBuf};

use super::groups::{self, ControlGroups};
use super::text;
use crate::terms::GroupUse;

/// The folders of one control group, one in each tree that has it; on a machine with version 2
/// alone they are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupFolders {
    /// Where processor time is limited or counted.
    pub cpu: Option<PathBuf>,
    /// Where memory is limited and counted.
    pub memory: Option<PathBuf>,
    /// Version 2's, which counts processor time and pressure also where it limits nothing.
    pub unified: Option<PathBuf>,
}

impl GroupFolders {
    /// The one folder of a group, whatever it governs.
    pub fn one(folder: &Path) -> Self {
        let folder = Some(folder.to_path_buf());
        Self { cpu: folder.clone(), memory: folder.clone(), unified: folder }
    }

    /// Of the groups a process is in, those below the top: at the top is the whole machine.
    pub fn of(groups: &ControlGroups) -> Self {
        let below_the_top = |group: &Option<groups::Group>| {
            let group = group.as_ref().filter(|group| group.way_up().nth(1).is_some())?;
            Some(group.folder.clone())
        };
        Self {
            cpu: below_the_top(&groups.cpu),
            memory: below_the_top(&groups.memory),
            unified: below_the_top(&groups.unified),
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Counts from one call to the next.
pub(super) struct GroupCounters {
    folders: GroupFolders,
    /// The totals at the last call, and the memory limit when counting began.
    before: GroupUse,
}

impl GroupCounters {
    /// Begins to count; `None` without a group.
    pub fn start(folders: GroupFolders) -> Option<Self> {
        if folders.is_empty() {
            return None;
        }
        let memory_limit_bytes = folders.memory.as_deref().and_then(smallest_limit);
        let before = GroupUse { memory_limit_bytes, ..totals(&folders) };
        Some(Self { folders, before })
    }

    /// What was used since the last call.
    pub fn used(&mut self) -> GroupUse {
        let memory_limit_bytes = self.before.memory_limit_bytes;
        let now = GroupUse { memory_limit_bytes, ..totals(&self.folders) };
        let used = now.since(&self.before);
        self.before = now;
        used
    }
}

/// On the group and those around it.
fn smallest_limit(folder: &Path) -> Option<u64> {
    let groups = folder.ancestors().take_while(|folder| folder.join("cgroup.procs").exists());
    groups.filter_map(groups::memory_limit_in).min().map(|limit| limit.0)
}

/// What the files say at this moment, but for the limit. The names of version 2 first, then those
/// of version 1 that count the groups inside too.
fn totals(folders: &GroupFolders) -> GroupUse {
    let memory = |name: &str| fs::read(folders.memory.as_ref()?.join(name)).ok();
    let number = |name: &str| text::first_number(&memory(name)?);
    let stat = memory("memory.stat").unwrap_or_default();
    let named =
        |new: &[u8], old: &[u8]| text::labelled(&stat, new).or_else(|| text::labelled(&stat, old));
    let memory_limit_hits = match memory("memory.events") {
        Some(events) => text::labelled(&events, b"\nmax "),
        None => number("memory.failcnt"),
    };
    let pressure_s = |name: &str| {
        let text = fs::read(folders.unified.as_ref()?.join(name)).ok()?;
        Some(text::pressure_us(&text)? as f64 / 1e6)
    };
    GroupUse {
        cpu_s: cpu_ns(folders).map(|ns| ns as f64 / 1e9),
        memory_bytes: number("memory.current").or_else(|| number("memory.usage_in_bytes")),
        anonymous_bytes: named(b"\nanon ", b"\ntotal_rss "),
        swap_bytes: number("memory.swap.current").or_else(|| named(b"\nswap ", b"\ntotal_swap ")),
        memory_limit_bytes: None,
        memory_limit_hits,
        refaulted_pages: refaulted(&stat),
        out_of_memory_kills: folders.memory.as_deref().and_then(groups::out_of_memory_kills),
        cpu_pressure_s: pressure_s("cpu.pressure"),
        memory_pressure_s: pressure_s("memory.pressure"),
        io_pressure_s: pressure_s("io.pressure"),
    }
}

/// Of files and of memory without one; the first names are version 2's. `None` before Linux 5.9,
/// which does not tell them apart.
fn refaulted(stat: &[u8]) -> Option<u64> {
    let sum = |file: &[u8], anonymous: &[u8]| {
        Some(text::labelled(stat, file)? + text::labelled(stat, anonymous)?)
    };
    sum(b"\ntotal_workingset_refault_file ", b"\ntotal_workingset_refault_anon ")
        .or_else(|| sum(b"\nworkingset_refault_file ", b"\nworkingset_refault_anon "))
}

/// Version 2 counts in microseconds, version 1 in nanoseconds.
fn cpu_ns(folders: &GroupFolders) -> Option<u64> {
    let stat = |folder: &PathBuf| {
        let text = fs::read(folder.join("cpu.stat")).ok()?;
        Some(text::labelled(&text, b"\nusage_usec ")? * 1000)
    };
    let account =
        |folder: &PathBuf| text::first_number(&fs::read(folder.join("cpuacct.usage")).ok()?);
    let first = folders.unified.as_ref().and_then(stat);
    first.or_else(|| folders.cpu.as_ref().and_then(|folder| stat(folder).or(account(folder))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, files);
        folder
    }

    fn write(folder: &tempfile::TempDir, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
    }

    #[test]
    fn version_2_gives_cpu_memory_and_pressure_since_the_last_call() {
        let stat = |refaults: u64| {
            format!(
                "anon 3000\nfile 2000\nworkingset_refault_anon 7\n\
                 workingset_refault_file {refaults}\n"
            )
        };
        let group = folder(&[
            ("cgroup.procs", ""),
            ("cpu.stat", "usage_usec 1000000\nuser_usec 1\n"),
            ("memory.current", "5000\n"),
            ("memory.max", "8000\n"),
            ("memory.stat", &stat(100)),
            ("memory.events", "low 0\nhigh 0\nmax 4\noom 0\noom_kill 0\n"),
            ("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n"),
        ]);
        let mut counters = GroupCounters::start(GroupFolders::one(group.path())).unwrap();
        write(
            &group,
            &[
                ("cpu.stat", "usage_usec 2500000\nuser_usec 1\n"),
                ("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n"),
                ("memory.stat", &stat(500)),
                ("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n"),
            ],
        );
        let used = counters.used();
        assert_eq!((used.cpu_s, used.memory_pressure_s), (Some(1.5), Some(0.25)));
        assert_eq!((used.memory_bytes, used.anonymous_bytes), (Some(5000), Some(3000)));
        assert_eq!((used.memory_limit_bytes, used.memory_limit_hits), (Some(8000), Some(5)));
        assert_eq!((used.out_of_memory_kills, used.cpu_pressure_s), (Some(1), None));
        assert_eq!(used.refaulted_pages, Some(400));
        assert_eq!(counters.used().cpu_s, Some(0.0));
    }

    #[test]
    fn version_1_says_the_same_in_other_files() {
        let cpu = folder(&[("cpuacct.usage", "2000000000\n")]);
        let memory = folder(&[
            ("memory.usage_in_bytes", "5000\n"),
            (
                "memory.stat",
                "cache 1\nrss 2\ntotal_cache 9\ntotal_rss 3000\ntotal_swap 7\n\
              workingset_refault_anon 1\nworkingset_refault_file 2\n\
              total_workingset_refault_anon 5\ntotal_workingset_refault_file 6\n",
            ),
            ("memory.failcnt", "3\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ]);
        let folders = GroupFolders {
            cpu: Some(cpu.path().to_path_buf()),
            memory: Some(memory.path().to_path_buf()),
            unified: None,
        };
        let mut counters = GroupCounters::start(folders).unwrap();
        write(&cpu, &[("cpuacct.usage", "2250000000\n")]);
        write(&memory, &[("memory.failcnt", "13\n")]);
        let used = counters.used();
        assert_eq!((used.cpu_s, used.memory_limit_hits), (Some(0.25), Some(10)));
        assert_eq!((used.anonymous_bytes, used.swap_bytes), (Some(3000), Some(7)));
        assert_eq!((used.out_of_memory_kills, used.refaulted_pages), (Some(0), Some(0)));
    }

    #[test]
    fn without_a_group_there_is_nothing_to_count() {
        assert!(GroupCounters::start(GroupFolders::default()).is_none());
        let missing = Path::new("/no/such/group");
        let mut counters = GroupCounters::start(GroupFolders::one(missing)).unwrap();
        assert_eq!(counters.used(), GroupUse::default());
    }
}
