//! What one look into an app's container shows.
//!
//! In and out: values. Counters run since the process or the control group began; a figure that the
//! control group's version or the kernel does not have is `None`.

/// One look into a container.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// When it was taken: seconds since the node's boot, to a hundredth.
    pub uptime_s: f64,
    /// CPU seconds that the container's control group has used, also by what has ended.
    pub cpu_s: Option<f64>,
    /// Seconds that its quota has held it back.
    pub throttled_s: f64,
    /// Periods of its quota in which it was held back.
    pub throttled_periods: u64,
    /// Periods of its quota in which it ran; 0 without a quota.
    pub periods: u64,
    /// Memory charged to it, files in the cache included.
    pub memory_bytes: Option<u64>,
    /// Of that, memory that no file stands behind.
    pub anonymous_bytes: Option<u64>,
    /// Of that, files that were read or written and are not in use: they go first.
    pub inactive_file_bytes: Option<u64>,
    /// Its memory that was swapped out.
    pub swap_bytes: Option<u64>,
    /// `None` also without a limit.
    pub memory_limit_bytes: Option<u64>,
    /// Times its memory was at the limit and something had to go first.
    pub memory_limit_hits: Option<u64>,
    /// Pages that had to make room and were read again soon after.
    pub refaulted_pages: Option<u64>,
    /// Processes killed for want of memory.
    pub out_of_memory_kills: Option<u64>,
    /// Seconds in which something in it waited for a core.
    pub cpu_pressure_s: Option<f64>,
    /// Seconds in which something in it waited for memory.
    pub memory_pressure_s: Option<f64>,
    /// Seconds in which something in it waited for a disk.
    pub io_pressure_s: Option<f64>,
    /// Those that run, in order of their ids, without the shell that looks and what it started.
    pub processes: Vec<Process>,
}

impl Look {
    /// Memory that the container needs, as the node counts it before it evicts pods: all that is
    /// charged but for files that are not in use. `None` where either is not told.
    pub fn needed_bytes(&self) -> Option<u64> {
        Some(self.memory_bytes?.saturating_sub(self.inactive_file_bytes?))
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
    let mut known = vec![root];
    loop {
        // A child can have a smaller id than its parent, so one pass is not enough.
        let before = known.len();
        for process in all {
            if known.contains(&process.ppid) && !known.contains(&process.pid) {
                known.push(process.pid);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}
