//! What `sweetspot watch` does: finds a running server's processes and shows what they use.
//!
//! In: a pid, an address or a control group, and how often and how long. Out: a [`WatchSecond`] an
//! interval, for its display. Must not print, and must not touch what it watches.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::monitor::sockets::{self, Listener};
use crate::monitor::{
    self, CoreChoice, GroupFolders, LOOK_EVERY, RoleOf, Sampler, Watched, groups,
};
use crate::terms::{MonitorSecond, ProcessMemory, Role, Stated, StopSignal, WatchSecond};

/// Where a server can listen.
pub use crate::monitor::sockets::ListenAddress;

/// What the user points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Pid(u32),
    Listen(ListenAddress),
    /// A control group's folder.
    Cgroup(PathBuf),
}

/// What to watch, how often and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSettings {
    pub subject: Subject,
    /// Length of one interval.
    pub interval: Duration,
    /// Intervals to show; `None` until stopped.
    pub count: Option<u64>,
    /// Ends after this much time, with a shorter last interval; `None` until stopped.
    pub duration: Option<Duration>,
}

/// Why nothing can be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    #[error(
        "there is no process {pid}; `ps -ef` lists those that run, --listen finds one by address"
    )]
    NoSuchProcess { pid: u32 },
    #[error(
        "process {pid} belongs to another user and /proc hides it; run as that user or with \
         CAP_SYS_PTRACE"
    )]
    Hidden { pid: u32 },
    #[error("nothing listens on {address}; {}", what_listens(.listening))]
    NobodyListens { address: ListenAddress, listening: Vec<ListenAddress> },
    #[error(
        "something listens on {address}, but which process may not be seen: it belongs to {}",
        whose(*.user)
    )]
    HolderHidden { address: ListenAddress, user: Option<u32> },
    #[error("{} is no control group (there is no cgroup.procs in it)", .folder.display())]
    NoControlGroup { folder: PathBuf },
    #[error("the control group {} has no process in it", .folder.display())]
    EmptyControlGroup { folder: PathBuf },
    #[error("could not read /proc: {0}")]
    Proc(#[source] io::Error),
    /// Whoever shows the intervals could not.
    #[error("could not write: {0}")]
    Output(#[from] io::Error),
}

fn what_listens(listening: &[ListenAddress]) -> String {
    if listening.is_empty() {
        return "nothing else does either".to_string();
    }
    let names: BTreeSet<String> = listening.iter().map(ToString::to_string).collect();
    let shown: Vec<&str> = names.iter().map(String::as_str).take(12).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("these do: {}{more}", shown.join(", "))
}

fn whose(user: Option<u32>) -> String {
    let name = user.map_or_else(|| "another user".to_string(), |id| format!("user id {id}"));
    let own = rustix::process::geteuid();
    if own.is_root() || user == Some(own.as_raw()) {
        format!("{name}, probably in another container; run there, or name it with --pid")
    } else {
        format!("{name}; run as that user or with CAP_SYS_PTRACE, or name it with --pid")
    }
}

/// How watching ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As many intervals, or as much time, as asked for.
    Complete,
    /// The user stopped it.
    Stopped,
    /// No process is left to watch.
    NoneLeft,
}

/// Memory is walked this often at most, because walking holds the process's memory lock.
const MEMORY_EVERY: Duration = Duration::from_secs(5);

/// Finds the processes behind a subject: those that hold the socket or are in the group, none below
/// another.
///
/// # Errors
/// There is none, or it may not be seen.
pub fn find(subject: &Subject) -> Result<Watched, WatchError> {
    match subject {
        Subject::Pid(pid) => find_pid(*pid),
        Subject::Listen(address) => find_listener(address),
        Subject::Cgroup(folder) => find_group(folder),
    }
}

fn find_pid(pid: u32) -> Result<Watched, WatchError> {
    if monitor::parent(pid).is_none() {
        // The clock of a process can be read even where /proc hides it.
        return Err(match monitor::cpu_clock_ns(pid) {
            Some(_) if pid != 0 && !Path::new(&format!("/proc/{pid}")).exists() => {
                WatchError::Hidden { pid }
            }
            _ => WatchError::NoSuchProcess { pid },
        });
    }
    Ok(server_of_others(vec![pid], GroupFolders::of(&groups::of(pid))))
}

fn find_listener(address: &ListenAddress) -> Result<Watched, WatchError> {
    let listeners = sockets::listeners(None).map_err(WatchError::Proc)?;
    let serving: Vec<&Listener> = listeners.iter().filter(|one| one.serves(address)).collect();
    if serving.is_empty() {
        let listening = listeners.iter().filter(|one| is_alike(&one.address, address));
        let listening = listening.map(|one| one.address.clone()).collect();
        return Err(WatchError::NobodyListens { address: address.clone(), listening });
    }
    let inodes = serving.iter().map(|one| one.inode).collect();
    let holders = sockets::holders(&inodes).map_err(WatchError::Proc)?;
    let parents = holders.iter().map(|&pid| (pid, monitor::parent(pid).unwrap_or(0))).collect();
    let roots = roots(&parents);
    if roots.is_empty() {
        let user = serving.iter().find_map(|one| one.user);
        return Err(WatchError::HolderHidden { address: address.clone(), user });
    }
    let (port, socket) = match address {
        ListenAddress::Tcp { port, .. } => (Some(*port), None),
        ListenAddress::Unix(path) => (None, Some(path.clone())),
    };
    let group = GroupFolders::of(&groups::of(roots[0]));
    Ok(Watched { port, socket, ..server_of_others(roots, group) })
}

fn is_alike(one: &ListenAddress, other: &ListenAddress) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

fn find_group(folder: &Path) -> Result<Watched, WatchError> {
    if !folder.join("cgroup.procs").is_file() {
        return Err(WatchError::NoControlGroup { folder: folder.to_path_buf() });
    }
    let members = monitor::group_processes(folder);
    let parents = members.iter().map(|&pid| (pid, monitor::parent(pid).unwrap_or(0))).collect();
    let roots = roots(&parents);
    if roots.is_empty() {
        return Err(WatchError::EmptyControlGroup { folder: folder.to_path_buf() });
    }
    let cgroup = Some(folder.to_path_buf());
    Ok(Watched { cgroup, ..server_of_others(roots, GroupFolders::one(folder)) })
}

/// A server that somebody else started. `group` is that whose figures are shown.
fn server_of_others(roots: Vec<u32>, group: GroupFolders) -> Watched {
    let role: RoleOf = Box::new(|seen| role_from_title(seen.is_root, seen.title));
    Watched { group, ..Watched::processes(roots, role) }
}

/// Of these processes (pid to parent) the ones that are not below another one, in order of pid. The
/// init process holds sockets for services that it starts on demand; it is meant only when it is
/// alone.
fn roots(parents: &HashMap<u32, u32>) -> Vec<u32> {
    const INIT: u32 = 1;
    let is_alone = parents.len() == 1;
    let counts = |pid: u32| parents.contains_key(&pid) && (is_alone || pid != INIT);
    let mut roots: Vec<u32> = parents
        .iter()
        .filter(|&(&pid, &parent)| counts(pid) && !counts(parent))
        .map(|(&pid, _)| pid)
        .collect();
    roots.sort_unstable();
    roots
}

/// The role of a process of a server that we did not start: its title says so, or its place.
pub fn role_from_title(is_root: bool, title: &str) -> Role {
    let title = title.to_ascii_lowercase();
    let says =
        |word: &str| title.split(|c: char| !c.is_ascii_alphanumeric()).any(|one| one == word);
    if says("worker") || title.contains("php-fpm: pool") {
        Role::Worker
    } else if is_root {
        Role::Master
    } else {
        Role::Other
    }
}

/// Watches until the count or time is reached, the user stops it, or no process is left. Calls
/// `show` with every interval.
///
/// # Errors
/// The subject cannot be found, or `show` failed.
pub fn run(
    settings: &WatchSettings,
    stop: &StopSignal,
    show: &mut dyn FnMut(&WatchSecond) -> io::Result<()>,
) -> Result<Ended, WatchError> {
    let watched = find(&settings.subject)?;
    let is_one_tree = watched.roots.len() == 1;
    let origin = Instant::now();
    let mut sampler = Sampler::start(watched, CoreChoice::All);
    // What no clock will ever show is no end.
    let end = settings.duration.and_then(|duration| origin.checked_add(duration));
    let mut memory = Memory::walk(&mut sampler);
    let mut shown = 0;
    while settings.count.is_none_or(|count| shown < count) {
        let interval_end = sampler.interval_start().checked_add(settings.interval);
        let interval_end = interval_end.into_iter().chain(end).min();
        let is_stopped = wait(&mut sampler, interval_end, stop);
        let mut second = sampler.close(origin);
        let is_over = sampler.is_over();
        memory.renew(&mut sampler);
        if is_one_tree {
            fill_in_roles(&mut second, &mut memory.last);
        }
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let blind_spots = sampler.blind_spots().into_iter().map(Stated::Fact).collect();
        show(&WatchSecond { time, second, memory: memory.last.clone(), blind_spots })?;
        shown += 1;
        match () {
            () if is_stopped => return Ok(Ended::Stopped),
            () if is_over => return Ok(Ended::NoneLeft),
            () if end.is_some_and(|end| Instant::now() >= end) => return Ok(Ended::Complete),
            () => {}
        }
    }
    Ok(Ended::Complete)
}

/// Looks until the interval's end, if it has one; true when the user stopped it, false also when
/// nothing is left.
fn wait(sampler: &mut Sampler, end: Option<Instant>, stop: &StopSignal) -> bool {
    loop {
        if stop.is_raised() {
            return true;
        }
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() || sampler.is_over() {
            return false;
        }
        std::thread::sleep(left.min(LOOK_EVERY));
        // The interval's end is a look of its own.
        if left > LOOK_EVERY {
            sampler.look(false);
        }
    }
}

/// A server whose titles say nothing: one process alone serves, and below a root its children do.
fn fill_in_roles(second: &mut MonitorSecond, memory: &mut [ProcessMemory]) {
    name_workers(second);
    for one in memory {
        let process = second.processes.iter().find(|process| process.pid == one.pid);
        one.role = process.map_or(one.role, |process| process.role);
    }
}

/// One process alone serves, and where no title says more, all below the root do.
pub fn name_workers(second: &mut MonitorSecond) {
    if second.processes.iter().any(|process| process.role == Role::Worker) {
        return;
    }
    let is_alone = second.processes.len() == 1;
    let mut workers = 0;
    for process in &mut second.processes {
        if is_alone || process.role == Role::Other {
            process.role = Role::Worker;
            process.index = Some(workers);
            workers += 1;
        }
    }
}

/// Memory as last walked.
struct Memory {
    last: Vec<ProcessMemory>,
    walked_at: Instant,
    pause: Duration,
}

impl Memory {
    fn walk(sampler: &mut Sampler) -> Self {
        let start = Instant::now();
        let last = sampler.memory();
        // A walk that takes long is repeated less often: at most a thousandth of the time.
        let pause = MEMORY_EVERY.max(start.elapsed() * 1000);
        Self { last, walked_at: Instant::now(), pause }
    }

    fn renew(&mut self, sampler: &mut Sampler) {
        if self.walked_at.elapsed() >= self.pause {
            *self = Self::walk(sampler);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_holder_that_is_below_no_other_holder() {
        for (what, parents, expected) in [
            ("a master and its workers", vec![(10, 1), (11, 10), (12, 10)], vec![10]),
            ("two servers on one port", vec![(30, 7), (20, 7), (21, 20)], vec![20, 30]),
            ("started on demand by init", vec![(1, 0), (40, 1)], vec![40]),
            ("init alone", vec![(1, 0)], vec![1]),
            ("nobody", vec![], vec![]),
        ] {
            assert_eq!(roots(&parents.into_iter().collect()), expected, "{what}");
        }
    }

    #[test]
    fn roles_are_told_from_the_titles_servers_give_themselves() {
        for (is_root, title, expected) in [
            (true, "puma 5.6.5 (tcp://127.0.0.1:9292) [shop]", Role::Master),
            (false, "puma: cluster worker 0: 77 [shop]", Role::Worker),
            (false, "unicorn worker[3] -c unicorn.rb", Role::Worker),
            (true, "nginx: master process /usr/sbin/nginx", Role::Master),
            (false, "nginx: worker process", Role::Worker),
            (false, "php-fpm: pool www", Role::Worker),
            (false, "sh -c co-workers", Role::Other),
        ] {
            assert_eq!(role_from_title(is_root, title), expected, "{title}");
        }
    }

    #[test]
    fn a_time_that_no_clock_shows_has_no_end() {
        let settings = |interval: Duration, count: Option<u64>| WatchSettings {
            subject: Subject::Pid(std::process::id()),
            interval,
            count,
            duration: Some(Duration::MAX),
        };
        let (stop, mut shown) = (StopSignal::default(), 0);
        let brief = settings(Duration::from_millis(1), Some(1));
        let ended = run(&brief, &stop, &mut |_| {
            shown += 1;
            Ok(())
        });
        assert_eq!((ended.unwrap(), shown), (Ended::Complete, 1));
        stop.raise();
        let ended = run(&settings(Duration::MAX, None), &stop, &mut |_| Ok(()));
        assert_eq!(ended.unwrap(), Ended::Stopped);
    }

    #[test]
    fn nobody_listens_says_what_does() {
        let address: ListenAddress = ":3000".parse().unwrap();
        let listening = vec!["127.0.0.1:5432".parse().unwrap(), "0.0.0.0:80".parse().unwrap()];
        let error = WatchError::NobodyListens { address, listening };
        let expected = "nothing listens on :3000; these do: 0.0.0.0:80, 127.0.0.1:5432";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_pid_that_nobody_has_is_named_in_the_error() {
        // Above the largest id that Linux gives out.
        let error = find(&Subject::Pid(1 << 23)).err().unwrap();
        assert!(error.to_string().contains("8388608"), "{error}");
        assert!(find(&Subject::Pid(std::process::id())).is_ok());
    }
}
