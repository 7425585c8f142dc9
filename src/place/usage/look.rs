//! What one look into an app's container shows.
//!
//! In and out: values. Counters run since the process or the control group began; a figure that the
//! control group's version or the kernel does not have is `None`.

use crate::monitor;
use crate::terms::GroupUse;

/// One look into a container.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// When it was taken: seconds since the node's boot, to a hundredth.
    pub uptime_s: f64,
    /// Seconds that its quota has held it back.
    pub throttled_s: f64,
    /// Periods of its quota in which it was held back.
    pub throttled_periods: u64,
    /// Periods of its quota in which it ran; 0 without a quota.
    pub periods: u64,
    /// What its control group has counted since it began, and its memory and limit now.
    pub group: GroupUse,
    /// Of its memory, files that were read or written and are not in use: they go first.
    pub inactive_file_bytes: Option<u64>,
    /// Those that run, in order of their ids, without the shell that looks and what it started.
    pub processes: Vec<Process>,
}

impl Look {
    /// Memory that the container needs, as the node counts it before it evicts pods: all that is
    /// charged but for files that are not in use. `None` where either is not told.
    pub fn needed_bytes(&self) -> Option<u64> {
        Some(self.group.memory_bytes?.saturating_sub(self.inactive_file_bytes?))
    }
}

/// One process of a container.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Process {
    /// As the container counts them.
    pub pid: u32,
    /// 0 where the parent is outside of the container.
    pub ppid: u32,
    /// The kernel's name for it: of its program, or what it calls itself, cut to 15 bytes.
    pub comm: String,
    /// CPU seconds since it began, by itself.
    pub utime_s: f64,
    /// CPU seconds since it began, by the kernel for it.
    pub stime_s: f64,
    /// Threads it has.
    pub threads: u32,
    /// Memory it has in use, pages that it shares with others included.
    pub rss_bytes: u64,
    /// Pages it touched for the first time, or that were shared until it wrote to them.
    pub minor_faults: u64,
    /// Pages that had to be read from a disk.
    pub major_faults: u64,
    /// When it began, in clock ticks since boot: tells it from a later one with the same id.
    pub start_ticks: u64,
    /// Its first thread ran, or could have. Nothing is known of its other threads.
    pub is_running: bool,
}

impl Process {
    /// It is the one that was seen before, and no later one with the same id.
    pub fn is_same_as(&self, earlier: &Self) -> bool {
        (self.pid, self.start_ticks) == (earlier.pid, earlier.start_ticks)
    }

    /// CPU seconds since it began.
    pub fn cpu_s(&self) -> f64 {
        self.utime_s + self.stime_s
    }
}

/// A process and all below it, by their ids.
pub(super) fn family(root: u32, all: &[Process]) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all.iter().map(|it| (it.pid, it.ppid)).collect();
    monitor::below(vec![root], &parents)
}
