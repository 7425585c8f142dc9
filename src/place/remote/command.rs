//! A command of the user's, run in a shell: how it ended, and what it printed.
//!
//! In: its text and variables. Out: its end. Processes that it leaves running go on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::terms::{ProcessEnd, StopRequest, StopSignal};

/// Names this program.
const OWN_PROGRAM: &str = "SWEETSPOT";

/// Between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// For a command to end that was asked to.
const TO_END: Duration = Duration::from_secs(2);

/// Bytes of what it printed that are kept, the last ones.
const TAIL: u64 = 64 << 10;

/// A command that has ended, or was ended.
pub struct Ran {
    /// `None`: its time was over.
    pub end: Option<ProcessEnd>,
    /// What it printed on both its outputs, oldest line first.
    pub lines: Vec<String>,
}

impl Ran {
    pub fn is_success(&self) -> bool {
        self.end.as_ref().is_some_and(ProcessEnd::is_success)
    }
}

/// Runs a command to its end, for `patience` at most, or until the user wants to end at once. One
/// press of Ctrl-C does not reach it: what changes an app is not to be cut off halfway. `known_by`:
/// its process is written down there before it begins.
///
/// # Errors
/// No shell can be started.
pub fn run(
    text: &str,
    env: &BTreeMap<String, String>,
    patience: Duration,
    stop: &StopSignal,
    known_by: Option<&File>,
) -> io::Result<Ran> {
    // A file rather than a pipe: a daemon that it leaves behind may go on printing.
    let mut printed = File::from(memfd_create("printed", MemfdFlags::CLOEXEC)?);
    let mut child = shell(text, env, known_by)
        .stdin(Stdio::null())
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?)
        .spawn()?;
    let deadline = Instant::now() + patience;
    let end = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status.into());
        }
        if Instant::now() >= deadline || stop.requested() == StopRequest::Now {
            end(&mut child);
            break None;
        }
        thread::sleep(LOOK);
    };
    Ok(Ran { end, lines: tail(&mut printed)? })
}

/// A shell for a command, in a session of its own: without a terminal, so that what would ask
/// there, such as ssh for a password, fails at once and says why. `known_by`, where its process is
/// written down, has to be open until it has been started.
pub fn shell(text: &str, env: &BTreeMap<String, String>, known_by: Option<&File>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]).envs(env);
    // Ours need it, under whatever name it is typed.
    command.env(OWN_PROGRAM, own_program());
    let known_by = known_by.map(AsRawFd::as_raw_fd);
    let begin = move || {
        rustix::process::setsid()?;
        known_by.map_or(Ok(()), write_down)
    };
    // SAFETY: setsid, getpid and pwrite may be called between fork and exec, and nothing else is.
    unsafe { command.pre_exec(begin) };
    command
}

/// This program's file; where another has taken its place since, the one that runs.
fn own_program() -> PathBuf {
    let found = std::env::current_exe().ok().filter(|file| file.is_file());
    found.unwrap_or_else(|| format!("/proc/{}/exe", std::process::id()).into())
}

/// Writes this process's id, ten digits long, to the beginning of a file. Allocates nothing.
fn write_down(file: RawFd) -> io::Result<()> {
    let mut digits = [b'0'; 10];
    let mut left = rustix::process::getpid().as_raw_nonzero().get();
    for digit in digits.iter_mut().rev() {
        *digit += (left % 10) as u8;
        left /= 10;
    }
    // SAFETY: as `shell` demands it, the file is open in the parent until this process runs.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    rustix::io::pwrite(file, &digits, 0)?;
    Ok(())
}

/// Ends a command and what it started in its session's first process group, gracefully and then for
/// certain.
pub fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    // One that has just ended needs no signal. Not waited for, it keeps its number to itself.
    let _ = kill_process_group(group, Signal::TERM);
    let deadline = Instant::now() + TO_END;
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while Instant::now() < deadline && matches!(waitid(WaitId::Pid(group), ended), Ok(None)) {
        thread::sleep(LOOK);
    }
    let _ = kill_process_group(group, Signal::KILL);
    // Killed, it ends; that it cannot be waited for would mean that it has been already.
    let _ = child.wait();
}

fn tail(file: &mut File) -> io::Result<Vec<String>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.trim_end().to_string());
    Ok(lines.filter(|line| !line.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_for(text: &str, patience: Duration) -> Ran {
        let env = BTreeMap::from([("WORKERS".to_string(), "3".to_string())]);
        run(text, &env, patience, &StopSignal::default(), None).unwrap()
    }

    #[test]
    fn how_it_ended_and_what_it_printed_are_told() {
        let ran = run_for("echo $WORKERS; echo no >&2; exit 7", Duration::from_secs(20));
        assert_eq!(ran.end, Some(ProcessEnd::ExitStatus(7)));
        assert_eq!(
            (ran.lines.as_slice(), ran.is_success()),
            (&["3".into(), "no".into()][..], false)
        );
        assert!(run_for("true", Duration::from_secs(20)).is_success());
        let killed = run_for("kill -9 $$", Duration::from_secs(20));
        assert_eq!(killed.end, Some(ProcessEnd::Signal(9)));
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let text = format!("sleep 600 & echo $! >{}; echo began; wait", pid.display());
        let ran = run_for(&text, Duration::from_secs(3));
        assert_eq!((ran.end, ran.lines), (None, vec!["began".to_string()]));
        let pid = std::fs::read_to_string(pid).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // Whoever adopts it may not have waited for it yet.
        let has_ended = || state().map_or(true, |stat| stat.contains(") Z "));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !has_ended() && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        assert!(has_ended());
    }

    #[test]
    fn a_daemon_that_it_leaves_is_not_waited_for_and_a_second_press_ends_it() {
        let began = Instant::now();
        let ran = run_for("sleep 30 & echo up", Duration::from_secs(20));
        assert!(ran.is_success() && began.elapsed() < Duration::from_secs(15));
        let stop = StopSignal::default();
        stop.raise();
        stop.raise();
        let ran =
            run("sleep 600", &BTreeMap::new(), Duration::from_secs(600), &stop, None).unwrap();
        assert_eq!(ran.end, None);
    }
}
