//! A process that this program waits for. What it is given and what it prints are files in memory:
//! nobody has to write or read them meanwhile.
//!
//! In: bytes, or a process that was started. Out: how it ended. Starts none by itself.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::parent_id;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, set_parent_process_death_signal, waitid,
};

/// Between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// For a process to end that was asked to.
const TO_END: Duration = Duration::from_secs(2);

/// A file for what a process prints. Unlike a pipe it takes what a daemon that is left behind goes
/// on printing.
pub fn in_memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// The standard input of a process that is given these bytes, which it may read more than once;
/// nothing where there are none.
pub fn given(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = in_memory("input")?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

/// Asks the kernel to kill this process when the one that started it ends. Allowed between fork and
/// exec.
pub fn die_with(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before we asked.
    if parent_id() == parent { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// Waits for the end of a process; `None`: it was given up and ended, as [`end`] does it.
/// `is_given_up`: asked at each look.
pub fn end_of(
    child: &mut Child,
    mut is_given_up: impl FnMut() -> bool,
) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if is_given_up() {
            end(child);
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// Ends a process that leads a session of its own, and what it started in that session's first
/// process group, gracefully and then for certain.
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
