//! Which processes belong to the server: the root, whatever descends from it, and whatever is in
//! its control group.
//!
//! In: a root pid. Out: open [`Process`]es. A process once found stays ours when its parent ends
//! and it is handed to another one.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::{LookDepth, Process, Resources, States, read_at_start, tick_ns};
use super::text::{self, Stat};
use super::watched::Watched;

/// All process ids that `/proc` shows, in no particular order.
///
/// # Errors
/// `/proc` cannot be listed.
pub fn all_pids() -> io::Result<Vec<u32>> {
    let names = fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.to_str()?.parse().ok()).collect())
}

/// The parent of a process; `None` when it is gone, also when only its end waits to be collected.
pub fn parent(pid: u32) -> Option<u32> {
    parent_with(pid, &mut [0; 1024])
}

fn parent_with(pid: u32, buffer: &mut [u8]) -> Option<u32> {
    alive(pid, buffer).map(|seen| seen.parent)
}

/// How long a process has been there; `None`: it has ended, or was never there.
pub fn age(pid: u32) -> Option<Duration> {
    let began = alive(pid, &mut [0; 1024])?.start_ticks;
    Some(Duration::from_nanos(ticks_since_boot().saturating_sub(began) * tick_ns()))
}

/// `None` when it is gone, also when only its end waits to be collected.
fn alive(pid: u32, buffer: &mut [u8]) -> Option<Stat<'_>> {
    let file = File::open(format!("/proc/{pid}/stat")).ok()?;
    let seen = read_at_start(&file, buffer).and_then(text::stat);
    seen.filter(|seen| !matches!(seen.state, b'Z' | b'X'))
}

/// Clock ticks since the machine's boot, as `start_ticks` counts.
pub(super) fn ticks_since_boot() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64) / tick_ns()
}

/// The processes of the server, kept up to date.
pub(super) struct Tree {
    roots: Vec<u32>,
    adopter: Option<u32>,
    cgroup: Option<PathBuf>,
    pub processes: Vec<Process>,
    /// Processes that were looked at and are not ours, so that a host with many costs little.
    strangers: HashSet<u32>,
    loadavg: Option<File>,
    machine: Option<File>,
    newest_pid: Option<u64>,
    began_ticks: u64,
    pub resources: Resources,
    scans: u32,
    /// Since the last thorough one.
    looks: u32,
}

/// Thread states are read at an interval's end, and once in this many looks after that.
const LOOKS_A_STATE: u32 = 5;

/// Reading the states of fewer threads than this costs no more than asking the machine.
const MANY_THREADS: usize = 64;

/// Once in this many scans all strangers are looked at again: their ids may have been given out
/// anew.
const SCANS_A_GENERATION: u32 = 25;

impl Tree {
    /// Nothing is looked at yet.
    pub fn new(watched: &Watched) -> Self {
        Self {
            roots: watched.roots.clone(),
            adopter: watched.adopter,
            cgroup: watched.cgroup.clone(),
            processes: Vec::new(),
            strangers: HashSet::new(),
            loadavg: File::open("/proc/loadavg").ok(),
            machine: File::open("/proc/stat").ok(),
            newest_pid: None,
            began_ticks: ticks_since_boot(),
            resources: Resources::of_this_process(),
            scans: 0,
            looks: 0,
        }
    }

    /// Looks at all processes, and for new ones. The kernel tells the newest id it gave out: while
    /// that stays the same there is no new process or thread, and the search is left out unless
    /// `thorough`.
    pub fn look(&mut self, thorough: bool, buffer: &mut [u8]) {
        let newest = self.loadavg.as_ref().and_then(|file| read_at_start(file, buffer));
        let newest = newest.and_then(text::newest_pid).filter(|&pid| pid > 0);
        let may_be_new = thorough || newest.is_none() || newest != self.newest_pid;
        self.newest_pid = newest;
        self.looks = if thorough { 0 } else { self.looks + 1 };
        // A new thread has a new id as well, and shows in its process's file; one that ended is
        // noticed when it is looked at.
        let depth = LookDepth {
            reads_stat: may_be_new,
            states: match self.looks.is_multiple_of(LOOKS_A_STATE) {
                true => self.states(buffer),
                false => States::Nothing,
            },
        };
        for process in self.processes.iter_mut().filter(|process| !process.is_gone) {
            process.look(depth, &mut self.resources, buffer);
        }
        if may_be_new {
            self.find(buffer);
        }
    }

    /// Of many threads it is worth asking the machine first: when it runs nothing but us and
    /// nothing waits for a disk, all of them sleep.
    fn states(&self, buffer: &mut [u8]) -> States {
        let threads: usize = self.processes.iter().map(Process::threads).sum();
        if threads < MANY_THREADS {
            return States::Read;
        }
        let machine = self.machine.as_ref().and_then(|file| read_at_start(file, buffer));
        match machine.and_then(text::running_and_blocked) {
            Some((..=1, 0)) => States::AllAsleep,
            _ => States::Read,
        }
    }

    /// Forgets the processes that have ended; call it when their last use was handed out.
    pub fn forget_ended(&mut self) {
        self.processes.retain(|process| !process.is_gone);
    }

    fn find(&mut self, buffer: &mut [u8]) {
        self.scans += 1;
        if self.scans.is_multiple_of(SCANS_A_GENERATION) {
            self.strangers.clear();
        }
        let Ok(mut pids) = all_pids() else { return };
        let known = self.processes.iter().filter(|p| !p.is_gone).map(|p| p.pid);
        let ours: HashSet<u32> = known.chain(self.adopter).collect();
        self.strangers.retain(|pid| pids.contains(pid));
        pids.retain(|pid| !ours.contains(pid) && !self.strangers.contains(pid));
        let parents: Vec<(u32, u32)> =
            pids.iter().filter_map(|&pid| Some((pid, parent_with(pid, buffer)?))).collect();
        let mut members = self.cgroup.as_deref().map(group_members).unwrap_or_default();
        members.extend(&self.roots);
        for pid in descendants(&parents, &ours, &members) {
            self.add(pid, buffer);
        }
        let added: HashSet<u32> = self.processes.iter().map(|process| process.pid).collect();
        let looked_at = parents.iter().map(|(pid, _)| *pid);
        self.strangers.extend(looked_at.filter(|pid| !added.contains(pid)));
    }

    fn add(&mut self, pid: u32, buffer: &mut [u8]) {
        // A process that began after we did is counted from its birth: nothing of it is missed.
        let began = self.began_ticks;
        let is_root = self.roots.contains(&pid);
        let since_birth = |start: u64| start > began;
        // One that ended between the listing and now is as if it had never been seen.
        if let Ok(process) = Process::open(pid, is_root, since_birth, &mut self.resources, buffer) {
            self.processes.push(process);
        }
    }
}

/// Which of the processes in `parents` are ours: members, and those below ours. In order of pid.
fn descendants(parents: &[(u32, u32)], ours: &HashSet<u32>, members: &HashSet<u32>) -> Vec<u32> {
    let new = parents.iter().map(|(pid, _)| pid).filter(|pid| members.contains(pid));
    let mut found = below(ours.iter().chain(new).copied().collect(), parents);
    found.drain(..ours.len());
    found.sort_unstable();
    found
}

/// These processes, then every one below any of them; parents before their children. `parents`:
/// processes and the parent of each, in any order.
pub fn below(processes: Vec<u32>, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = processes;
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        for &(pid, parent) in parents {
            // What is found already is skipped: a reused id must not make a circle.
            if parent == above && !found.contains(&pid) {
                found.push(pid);
            }
        }
        next += 1;
    }
    found
}

/// The processes of a control group and of the groups inside it, in order of pid.
pub fn group_processes(folder: &Path) -> Vec<u32> {
    let mut members: Vec<u32> = group_members(folder).into_iter().collect();
    members.sort_unstable();
    members
}

fn group_members(folder: &Path) -> HashSet<u32> {
    let mut members = HashSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // A group that was removed, or one whose processes are not shown, has no members for us.
        let procs = fs::read(folder.join("cgroup.procs")).unwrap_or_default();
        let pids = text::lines(&procs).filter_map(text::number).map(|pid| pid as u32);
        members.extend(pids.filter(|&pid| pid != 0));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        folders.extend(entries.filter(is_folder).map(|entry| entry.path()));
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_new_processes_is_found_whatever_the_order_of_their_ids() {
        let parents = [(50, 40), (40, 900), (900, 10), (60, 1), (61, 60)];
        let found = descendants(&parents, &HashSet::from([10]), &HashSet::new());
        assert_eq!(found, [40, 50, 900]);
    }

    #[test]
    fn the_root_and_members_of_the_group_are_ours_without_an_ancestor() {
        let parents = [(7, 1), (8, 1), (9, 8)];
        let found = descendants(&parents, &HashSet::new(), &HashSet::from([8, 77]));
        assert_eq!(found, [8, 9]);
    }
}
