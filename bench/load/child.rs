//! A program that the bench runs: on one core, in a process group of its own, ended whenever the
//! bench ends.
//!
//! In: a command. Out: what it used, by the kernel's account. Dropping a child that still runs
//! kills its group; should the bench itself be killed, the kernel kills the child.

use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::Result;
use crate::common::bonds::Bonds;

/// What a child used from its start to its end, its own children that it waited for included.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    pub user_s: f64,
    pub system_s: f64,
    pub rss_bytes_max: u64,
    /// `None`: ended by a signal.
    pub exit_code: Option<i32>,
}

/// A child that runs or has just ended.
pub struct Child {
    pid: libc::pid_t,
    is_reaped: bool,
}

impl Child {
    /// Starts a command on this core, in `folder`, with its outputs into files `stdout` and
    /// `stderr` there.
    pub fn start(command: &[String], core: u16, folder: &Path) -> Result<Self> {
        let [program, arguments @ ..] = command else { return Err("an empty command".into()) };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .process_group(0);
        Bonds::for_life(vec![core]).bind(&mut command);
        let child =
            command.spawn().map_err(|error| format!("could not start {program}: {error}"))?;
        Ok(Self { pid: child.id() as libc::pid_t, is_reaped: false })
    }

    /// What it used, once it has ended. To be asked no more after that.
    pub fn try_wait(&mut self) -> Result<Option<Usage>> {
        let mut status = 0;
        // SAFETY: all-zero is a valid `rusage`.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: both live through the call. The pid is our child's and was not waited for.
        let waited =
            unsafe { libc::wait4(self.pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
        match waited {
            0 => return Ok(None),
            -1 => return Err(format!("could not wait: {}", io::Error::last_os_error()).into()),
            _ => self.is_reaped = true,
        }
        Ok(Some(Usage {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            rss_bytes_max: usage.ru_maxrss as u64 * 1024,
            exit_code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        }))
    }

    /// Ends it and whatever it started, at once; it is still to be waited for.
    pub fn kill(&mut self) {
        if !self.is_reaped {
            // SAFETY: no pointer is passed. The child was not waited for, so that its pid and its
            // group's number can belong to nobody else.
            unsafe { libc::kill(-self.pid, libc::SIGKILL) };
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.kill();
            // SAFETY: no pointer but null is passed.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
