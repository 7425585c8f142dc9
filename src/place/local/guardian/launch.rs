//! A command becomes a child of the guardian, inside its control group and on its cores.
//!
//! In: the command, where its output goes, cores and group. Out: a process id.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::log_file::LogFile;
use crate::place::local::affinity;
use crate::place::local::settings::SYSTEM_PROGRAMS;
use crate::server::CommandLine;

/// Set to our own process id for everything we start, so that it can be told from other processes
/// even when we are gone.
pub const MARK: &str = "SWEETSPOT_GUARDIAN";

/// Starts the command; the caller takes the child away when it has ended.
pub fn spawn(
    line: &CommandLine,
    log: &LogFile,
    cpus: &[usize],
    nice: i32,
    doors: &[PathBuf],
) -> io::Result<u32> {
    let (program, arguments) = line.arguments.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(found(program));
    command
        .args(arguments)
        .current_dir(&line.folder)
        .envs(&line.env)
        .env(MARK, std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(log.output()?)
        .stderr(log.output()?);
    for name in &line.env_removed {
        command.env_remove(name);
    }
    let doors = c_strings(doors)?;
    let cpus = affinity::set_of(cpus);
    let guardian = std::process::id();
    let prepare = move || {
        join(&doors)?;
        if let Some(cpus) = &cpus {
            affinity::confine(cpus)?;
        }
        step_behind(nice);
        hear_all_signals()?;
        die_with(guardian)
    };
    // SAFETY: what runs between fork and exec only makes system calls, on memory prepared before.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn().map_err(|error| named(&error, program))?;
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

fn named(error: &io::Error, program: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{program}: {error}"))
}

/// Joins control groups. Allowed between fork and exec.
pub fn join(doors: &[CString]) -> io::Result<()> {
    for door in doors {
        // SAFETY: a C string, and a descriptor that is closed again.
        let written = unsafe {
            let fd = libc::open(door.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let written = libc::write(fd, b"0".as_ptr().cast(), 1);
            // The write's error is read before close can change it.
            let result = if written == 1 { Ok(()) } else { Err(io::Error::last_os_error()) };
            libc::close(fd);
            result
        };
        written?;
    }
    Ok(())
}

/// Lowers this process's priority, which everybody may. Allowed between fork and exec.
fn step_behind(nice: i32) {
    if nice > 0 {
        // SAFETY: no pointer is passed; 0 is the calling process. A refusal changes nothing.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    }
}

/// The guardian reads its SIGCHLD from a descriptor and blocks it; a server whose own children's
/// ends stay blocked never notices them. Allowed between fork and exec.
fn hear_all_signals() -> io::Result<()> {
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

/// Asks the kernel to kill this process when the guardian ends. Allowed between fork and exec.
fn die_with(guardian: u32) -> io::Result<()> {
    // SAFETY: both calls take and return integers.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        // It may have ended before we asked.
        if libc::getppid().unsigned_abs() != guardian {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(())
}

/// Paths as system calls take them.
pub fn c_strings(paths: &[PathBuf]) -> io::Result<Vec<CString>> {
    let c_string = |path: &PathBuf| CString::new(path.as_os_str().as_bytes());
    Ok(paths.iter().map(c_string).collect::<Result<_, _>>()?)
}
