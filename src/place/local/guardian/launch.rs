//! A command becomes a child of the guardian, inside its control group and on its cores.
//!
//! In: the command, where its output goes, cores and group. Out: a process id.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Gid, Uid, setpriority_process};
use rustix::thread::{CpuSet, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::log_file::LogFile;
use crate::load;
use crate::place::child::die_with;
use crate::place::local::settings::SYSTEM_PROGRAMS;
use crate::server::{CommandLine, RunAs};

/// Set to the guardian's [`mark`] for everything it starts, so that this can be told from other
/// processes even when the guardian is gone.
pub const MARK: &str = "SWEETSPOT_GUARDIAN";

/// What no other guardian has or had: our process id and this moment.
pub fn mark() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// What a process is held to.
#[derive(Clone, Copy)]
pub struct Confined<'a> {
    /// The cores it may use; empty: as inherited.
    pub cpus: &'a [usize],
    pub nice: i32,
    /// Of its control groups.
    pub join_files: &'a [PathBuf],
}

/// Starts the command; the caller takes the child away when it has ended.
pub fn spawn(
    line: &CommandLine,
    mark: &str,
    log: &LogFile,
    confined: Confined<'_>,
    run_as: Option<&RunAs>,
) -> io::Result<u32> {
    let (program, arguments) = line.arguments.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(found(program));
    command
        .args(arguments)
        .current_dir(&line.folder)
        // As a shell there has it; ours may name a folder that this user may not even look at, and
        // Puma ends where it cannot.
        .env("PWD", &line.folder)
        .env_remove("OLDPWD")
        .envs(run_as.map(RunAs::env).into_iter().flatten())
        .envs(line.env.iter())
        .env(MARK, mark)
        .stdin(Stdio::null())
        .stdout(log.output()?)
        .stderr(log.output()?);
    for name in &line.env_removed {
        command.env_remove(name);
    }
    let join_files = c_strings(confined.join_files)?;
    let nice = confined.nice;
    // Where the kernel cannot be told of one of them, the server runs on all.
    let may_confine = confined.cpus.iter().all(|cpu| *cpu < CpuSet::MAX_CPU);
    let cpus = if may_confine { confined.cpus.to_vec() } else { Vec::new() };
    let guardian = std::process::id();
    let ids = run_as.map(Ids::of);
    let prepare = move || {
        join(&join_files)?;
        load::confine(&cpus)?;
        step_behind(nice);
        unblock_signals()?;
        // After what takes root: joining groups, and lowering a limit that was raised.
        if let Some(ids) = &ids {
            ids.take_on()?;
        }
        die_with(guardian)
    };
    // SAFETY: what runs between fork and exec only makes system calls, on memory prepared before.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn().map_err(|error| named(&error, program, run_as))?;
    Ok(child.id())
}

/// A program by its path where only [`SYSTEM_PROGRAMS`] have it, else as it was.
fn found(program: &str) -> PathBuf {
    let in_folders = |folders: &mut dyn Iterator<Item = PathBuf>| {
        folders.map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    if program.contains('/') || in_folders(&mut std::env::split_paths(&path)).is_some() {
        return program.into();
    }
    in_folders(&mut SYSTEM_PROGRAMS.iter().map(PathBuf::from)).unwrap_or_else(|| program.into())
}

fn named(error: &io::Error, program: &str, run_as: Option<&RunAs>) -> io::Error {
    let user = run_as.map(|user| format!(", as the user {}", user.name)).unwrap_or_default();
    io::Error::new(error.kind(), format!("{program}: {error}{user}"))
}

/// A user as the kernel knows it.
struct Ids {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Ids {
    fn of(user: &RunAs) -> Self {
        let groups = user.groups.iter().map(|&gid| Gid::from_raw(gid)).collect();
        Self { uid: Uid::from_raw(user.uid), gid: Gid::from_raw(user.gid), groups }
    }

    /// This process is that user's from now on, without a way back. Allowed between fork and exec.
    fn take_on(&self) -> io::Result<()> {
        set_thread_groups(&self.groups)?;
        set_thread_res_gid(self.gid, self.gid, self.gid)?;
        set_thread_res_uid(self.uid, self.uid, self.uid)?;
        Ok(())
    }
}

/// Joins control groups. Allowed between fork and exec.
pub fn join(join_files: &[CString]) -> io::Result<()> {
    for file in join_files {
        let opened = open(file.as_c_str(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&opened, b"0")?;
    }
    Ok(())
}

/// Lowers this process's priority, which everybody may. Allowed between fork and exec.
fn step_behind(nice: i32) {
    if nice > 0 {
        // A refusal changes nothing.
        let _ = setpriority_process(None, nice);
    }
}

/// The guardian reads its SIGCHLD from a descriptor and blocks it; a server whose own children's
/// ends stay blocked never notices them. Allowed between fork and exec.
fn unblock_signals() -> io::Result<()> {
    // SAFETY: the set is local, and no old one is asked for.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        if libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Paths as system calls take them.
pub fn c_strings(paths: &[PathBuf]) -> io::Result<Vec<CString>> {
    let c_string = |path: &PathBuf| CString::new(path.as_os_str().as_bytes());
    Ok(paths.iter().map(c_string).collect::<Result<_, _>>()?)
}
