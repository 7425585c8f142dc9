//! What a process that the bench starts is bound to: some cores, its parent's life, and perhaps no
//! right to come before others.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, CpuSet, remove_capability_from_bounding_set, sched_setaffinity,
};

/// See the head of this file.
pub struct Bonds {
    /// Empty: all of its parent's.
    pub cores: Vec<u16>,
    /// What the kernel sends it when its parent ends.
    pub end: Signal,
    /// Neither it nor what it starts may raise a priority, whoever they run as.
    pub stays_behind: bool,
}

impl Bonds {
    /// It ends, for certain, when its parent does.
    pub fn for_life(cores: Vec<u16>) -> Self {
        Self { cores, end: Signal::KILL, stays_behind: false }
    }

    /// Binds the process that this command will be.
    pub fn bind(self, command: &mut Command) {
        let settle = move || -> io::Result<()> {
            set_parent_process_death_signal(Some(self.end))?;
            stay_on(&self.cores)?;
            if self.stays_behind {
                // What leaves the set is not got back by exec, not even by root. Who isn't root is
                // refused, and has nothing to lose.
                let _ = remove_capability_from_bounding_set(CapabilitySet::SYS_NICE);
            }
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made.
        unsafe { command.pre_exec(settle) };
    }
}

/// Moves the calling thread, and what it starts from now on, to these cores, unless there are none.
pub fn stay_on(cores: &[u16]) -> io::Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(usize::from(*core)));
    Ok(sched_setaffinity(None, &set)?)
}
