//! What a process that the bench starts is bound to: some cores, its parent's life, and perhaps no
//! right to come before others.
//!
//! In: a command that is still to be started. Out: the same, bound.

use std::io;
use std::mem;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// As in capabilities(7): to raise one's priority.
const CAP_SYS_NICE: libc::c_ulong = 23;

/// See the head of this file.
pub struct Bonds {
    /// Empty: all of its parent's.
    pub cores: Vec<u16>,
    /// What the kernel sends it when its parent ends.
    pub end: libc::c_int,
    /// Neither it nor what it starts may raise a priority, whoever they run as.
    pub stays_behind: bool,
}

impl Bonds {
    /// It ends, for certain, when its parent does.
    pub fn for_life(cores: Vec<u16>) -> Self {
        Self { cores, end: libc::SIGKILL, stays_behind: false }
    }

    /// Binds the process that this command will be.
    pub fn bind(self, command: &mut Command) {
        let set = (!self.cores.is_empty()).then(|| set_of(&self.cores));
        let (end, stays_behind) = (self.end, self.stays_behind);
        let settle = move || -> io::Result<()> {
            end_with_parent(end)?;
            if let Some(set) = &set {
                confine(set)?;
            }
            if stays_behind {
                give_up_priority();
            }
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, on copied values.
        unsafe { command.pre_exec(settle) };
    }
}

fn set_of(cores: &[u16]) -> libc::cpu_set_t {
    // SAFETY: all-zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for core in cores {
        // SAFETY: CPU_SET checks its bounds.
        unsafe { libc::CPU_SET(usize::from(*core), &mut set) };
    }
    set
}

fn confine(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: the set lives through the call and is as long as said.
    let placed = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
    if placed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn end_with_parent(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let bound = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong) };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What is dropped here is not got back by exec, not even by root. Who isn't root is refused, and
/// has nothing to drop.
fn give_up_priority() {
    let zero: libc::c_ulong = 0;
    // SAFETY: no pointer is passed.
    unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_NICE, zero, zero, zero) };
}
