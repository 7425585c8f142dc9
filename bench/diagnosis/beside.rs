//! What makes a situation beside the server: neighbours, and workers that stand still for a while.
//!
//! In: cores or process ids. Out: guards. When they are dropped everything is as it was before.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use crate::Result;
use crate::bonds::Bonds;

/// Computes without a pause.
pub const BUSY: &[&str] = &["sh", "-c", "while :; do :; done"];

/// Holds 200 MB and does nothing.
pub const ASLEEP: &[&str] = &["ruby", "-e", "kept = 'x' * 200_000_000; sleep; kept"];

/// A process that is none of the server's. Ended when it is dropped, and by the kernel should the
/// bench be killed.
pub struct Neighbour(Child);

impl Neighbour {
    /// Starts it on these cores.
    pub fn start(command: &[&str], cores: Vec<u16>) -> Result<Self> {
        let [program, arguments @ ..] = command else { return Err("an empty command".into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        // A session of its own, as a service or another user's shell has: the kernel may share the
        // cores among sessions.
        // SAFETY: between fork and exec only a system call is made.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            });
        }
        Bonds::for_life(cores).bind(&mut command);
        let child =
            command.spawn().map_err(|error| format!("could not start {program}: {error}"))?;
        Ok(Self(child))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // It may have ended by itself; what is not there can't be ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
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
            send(*pid, libc::SIGSTOP).map_err(|error| format!("could not stop {pid}: {error}"))?;
        }
        Ok(still)
    }
}

impl Drop for StandingStill {
    fn drop(&mut self) {
        for pid in &self.0 {
            // One that has ended needs no waking.
            drop(send(*pid, libc::SIGCONT));
        }
    }
}

fn send(pid: u32, signal: libc::c_int) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: no pointer is passed.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
