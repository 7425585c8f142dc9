//! What makes a situation beside the server: neighbours, and workers that stand still for a while.
//!
//! In: cores or process ids. Out: guards. When they are dropped everything is as it was before.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, setsid};

use crate::common::Result;
use crate::common::bonds::Bonds;
use crate::common::process::Kept;

/// Computes without a pause.
pub const BUSY: &[&str] = &["sh", "-c", "while :; do :; done"];

/// Holds 200 MB and does nothing.
pub const ASLEEP: &[&str] = &["ruby", "-e", "kept = 'x' * 200_000_000; sleep; kept"];

/// Starts a process that is none of the server's, on these cores.
pub fn neighbour(command: &[&str], cores: Vec<u16>) -> Result<Kept> {
    let [program, arguments @ ..] = command else { return Err("an empty command".into()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    // A session of its own, as a service or another user's shell has: the kernel may share the
    // cores among sessions.
    // SAFETY: between fork and exec only a system call is made.
    unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
    Bonds::for_life(cores).bind(&mut command);
    Kept::start(&mut command)
}

/// Workers that stand still until this is dropped, as one does that was just started anew, or that
/// is in a long collection: what comes meanwhile is taken by another.
pub struct StandingStill(Vec<u32>);

impl StandingStill {
    /// All but the first of these.
    ///
    /// # Errors
    /// There is only one, or one can't be stopped.
    pub fn all_but_one(workers: &[u32]) -> Result<Self> {
        let others = workers.get(1..).unwrap_or_default();
        if others.is_empty() {
            return Err("it takes two workers for one to stand still".into());
        }
        // Made first, so that those that stand still go on when another can't be stopped.
        let still = Self(others.to_vec());
        for pid in others {
            send(*pid, Signal::STOP).map_err(|error| format!("could not stop {pid}: {error}"))?;
        }
        Ok(still)
    }
}

impl Drop for StandingStill {
    fn drop(&mut self) {
        for pid in &self.0 {
            // One that has ended needs no waking.
            drop(send(*pid, Signal::CONT));
        }
    }
}

fn send(pid: u32, signal: Signal) -> Result<()> {
    let pid = Pid::from_raw(pid.cast_signed()).ok_or("no process has the number 0")?;
    Ok(kill_process(pid, signal)?)
}
