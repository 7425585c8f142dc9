//! The tree of processes as /proc shows it, and how all of a branch is ended.
//!
//! In: process ids. Out: their descendants. Must not know what the processes are.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, wait, waitpid,
};
use serde::{Deserialize, Serialize};

use crate::monitor;

/// A process's place among the others.
#[derive(Clone, Copy)]
struct Kin {
    pid: u32,
    parent: u32,
    session: u32,
    /// Clock ticks from the system's start to its own.
    started: u64,
}

/// `None` when there is no such process.
fn kin(pid: u32) -> Option<Kin> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = monitor::stat(&text)?;
    Some(Kin { pid, parent: stat.parent, session: stat.session?, started: stat.start_ticks })
}

/// Every process there is, by process id.
fn all() -> Vec<Kin> {
    let pids = monitor::all_pids().unwrap_or_default();
    let mut all: Vec<Kin> = pids.into_iter().filter_map(kin).collect();
    all.sort_unstable_by_key(|kin| kin.pid);
    all
}

/// Every process below `root`, `root` itself not included; parents before their children.
///
/// A look at /proc takes time, and a process whose parent ends meanwhile can be missed: look again
/// until a certain sign says that nothing is left.
pub fn descendants(root: u32) -> Vec<Process> {
    let all = all();
    below(&all, vec![root]).into_iter().skip(1).filter_map(|pid| process_in(&all, pid)).collect()
}

/// Every process of which this is true, then every one below any of them.
pub fn all_below(is_meant: impl Fn(u32) -> bool) -> Vec<Process> {
    let all = all();
    let roots = all.iter().map(|kin| kin.pid).filter(|pid| is_meant(*pid)).collect();
    below(&all, roots).into_iter().filter_map(|pid| process_in(&all, pid)).collect()
}

fn below(all: &[Kin], roots: Vec<u32>) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all.iter().map(|kin| (kin.pid, kin.parent)).collect();
    monitor::below(roots, &parents)
}

fn process_in(all: &[Kin], pid: u32) -> Option<Process> {
    let kin = all.iter().find(|kin| kin.pid == pid)?;
    Some(Process { pid, started: kin.started })
}

/// This process and those that it was started by.
pub fn own_line() -> Vec<u32> {
    let mut line = vec![std::process::id()];
    while let Some(parent) = line.last().and_then(|pid| monitor::parent(*pid)) {
        if parent == 0 || line.contains(&parent) {
            break;
        }
        line.push(parent);
    }
    line
}

/// The children of `parent` that are in this session or were started with `variable` (`NAME=value`)
/// in their environment.
pub fn children_of(parent: u32, session: u32, variable: &str) -> Vec<u32> {
    let belongs = |kin: &Kin| kin.session == session || carries(kin.pid, variable);
    let children = all().into_iter().filter(|kin| kin.parent == parent);
    children.filter(belongs).map(|kin| kin.pid).collect()
}

/// Was it started with this `NAME=value` in its environment, and has not rewritten it?
pub fn carries(pid: u32, variable: &str) -> bool {
    // An environment ends in what reads as an empty one.
    !variable.is_empty()
        && fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|v| v == variable.as_bytes()))
}

/// A process that was seen; another that has its id by now is not taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    started: u64,
}

impl Process {
    /// `None` when there is no such process.
    pub fn of(pid: u32) -> Option<Self> {
        kin(pid).map(|kin| Self { pid, started: kin.started })
    }

    /// Sends it a signal; one that has ended already is fine.
    ///
    /// # Errors
    /// It belongs to somebody else.
    pub fn signal(self, number: i32) -> io::Result<()> {
        let id = Pid::from_raw(self.pid.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
        let named = Signal::from_named_raw(number).ok_or(io::ErrorKind::InvalidInput)?;
        let handle = pidfd_open(id, PidfdFlags::empty());
        // What a handle is of cannot change any more.
        if matches!(handle, Err(Errno::SRCH)) || Self::of(self.pid) != Some(self) {
            return Ok(());
        }
        match handle.and_then(|handle| pidfd_send_signal(handle, named)) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            // A kernel before 5.3, a container that forbids it, or no descriptor left.
            Err(_) => signal(self.pid, number),
        }
    }
}

/// Sends a signal to whoever has this id, such as a child of ours that was not awaited; one that
/// has ended already is fine.
///
/// # Errors
/// The process belongs to somebody else.
pub fn signal(pid: u32, number: i32) -> io::Result<()> {
    let pid = i32::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: kill takes two integers and touches no memory of ours.
    if unsafe { libc::kill(pid, number) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(error),
    }
}

/// A child that has ended, with its wait status.
pub enum Reaped {
    Child {
        pid: u32,
        status: i32,
    },
    /// There are children, and none has ended.
    StillRunning,
    /// There is no child at all.
    NoChildren,
}

/// Takes one ended child (any with `None`) away, without waiting.
pub fn reap(pid: Option<u32>) -> Reaped {
    let ended = match pid.and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        Some(pid) => waitpid(Some(pid), WaitOptions::NOHANG),
        None => wait(WaitOptions::NOHANG),
    };
    match ended {
        Ok(None) => Reaped::StillRunning,
        Ok(Some((pid, status))) => Reaped::Child {
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            status: status.as_raw(),
        },
        Err(_) => Reaped::NoChildren,
    }
}

/// Makes this process the one that orphans below it are handed to, so that no daemon escapes.
///
/// # Errors
/// The kernel does not know how (before 3.4).
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Ended when dropped, also when the test fails.
    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            for process in descendants(self.0.id()) {
                drop(process.signal(libc::SIGKILL));
            }
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    #[test]
    fn grandchildren_are_found_and_strangers_are_not() {
        let child = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut running = Running(child);
        let mut line = String::new();
        let stdout = running.0.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        let grandchild: u32 = line.trim().parse().unwrap();
        let grandchild = Process::of(grandchild).unwrap();
        assert_eq!(descendants(running.0.id()), [grandchild]);
        assert!(descendants(std::process::id()).contains(&grandchild));
        assert_eq!(descendants(grandchild.pid), []);
    }

    /// No process can be in it. Zero would not do: in a container whose session was opened outside,
    /// /proc shows zero for every process.
    const NO_SESSION: u32 = u32::MAX;

    #[test]
    fn a_child_is_told_by_its_environment() {
        let child = Command::new("sleep").arg("60").env("SWEETSPOT_TEST", "place-1").spawn();
        let running = Running(child.unwrap());
        let own = std::process::id();
        // Right after the start the kernel may still show the environment as empty.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while children_of(own, NO_SESSION, "SWEETSPOT_TEST=place-1").is_empty() {
            assert!(std::time::Instant::now() < deadline, "the child was never found");
            std::thread::yield_now();
        }
        assert_eq!(children_of(own, NO_SESSION, "SWEETSPOT_TEST=place-1"), vec![running.0.id()]);
        assert_eq!(children_of(own, NO_SESSION, "SWEETSPOT_TEST=place"), Vec::<u32>::new());
    }

    #[test]
    fn a_signal_to_a_process_that_is_gone_is_no_error() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(signal(child.id(), libc::SIGTERM).is_ok());
        assert_eq!(Process::of(child.id()), None);
    }

    #[test]
    fn a_process_that_took_over_an_id_is_not_signalled() {
        let mut running = Running(Command::new("sleep").arg("60").spawn().unwrap());
        let process = Process::of(running.0.id()).unwrap();
        Process { started: process.started - 1, ..process }.signal(libc::SIGKILL).unwrap();
        assert!(running.0.try_wait().unwrap().is_none());
        process.signal(libc::SIGKILL).unwrap();
        assert_eq!(running.0.wait().unwrap().code(), None);
    }
}
