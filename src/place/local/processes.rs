//! The tree of processes as /proc shows it, and how all of a branch is ended.
//!
//! In: process ids. Out: their descendants. Must not know what the processes are.

use std::fs;
use std::io;

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, wait, waitpid};

/// A process's place among the others.
#[derive(Clone, Copy)]
struct Kin {
    pid: u32,
    parent: u32,
    session: u32,
}

/// `None` when there is no such process.
fn kin(pid: u32) -> Option<Kin> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may itself contain spaces and brackets.
    let (_, after_name) = stat.rsplit_once(')')?;
    // State, parent, process group, session.
    let mut fields = after_name.split_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    Some(Kin { pid, parent, session: fields.nth(1)?.parse().ok()? })
}

/// Every process there is, by process id.
fn all() -> Vec<Kin> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut all: Vec<Kin> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(kin)
        .collect();
    all.sort_unstable_by_key(|kin| kin.pid);
    all
}

/// Every process below `root`, `root` itself not included; parents before their children.
///
/// A look at /proc takes time, and a process whose parent ends meanwhile can be missed: look again
/// until a certain sign says that nothing is left.
pub fn descendants(root: u32) -> Vec<u32> {
    with_descendants(vec![root]).split_off(1)
}

/// These processes, then every one below any of them, as [`descendants`] finds it.
pub fn with_descendants(roots: Vec<u32>) -> Vec<u32> {
    let all = all();
    let mut found = roots;
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        // What is found already is skipped: a reused id must not make a circle.
        let is_new_child = |kin: &&Kin| kin.parent == pid && !found.contains(&kin.pid);
        let children: Vec<u32> = all.iter().filter(is_new_child).map(|kin| kin.pid).collect();
        found.extend(children);
        next += 1;
    }
    found
}

/// The children of `parent` that are in this session or were started with `variable` (`NAME=value`)
/// in their environment.
pub fn children_of(parent: u32, session: u32, variable: &str) -> Vec<u32> {
    let carries = |pid: u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|v| v == variable.as_bytes()))
    };
    let belongs = |kin: &Kin| kin.session == session || carries(kin.pid);
    let children = all().into_iter().filter(|kin| kin.parent == parent);
    children.filter(belongs).map(|kin| kin.pid).collect()
}

/// Sends a signal; a process that has ended already is fine.
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
            for pid in descendants(self.0.id()) {
                drop(signal(pid, libc::SIGKILL));
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
        assert_eq!(descendants(running.0.id()), vec![grandchild]);
        assert!(descendants(std::process::id()).contains(&grandchild));
        assert_eq!(descendants(grandchild), Vec::<u32>::new());
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
    }
}
