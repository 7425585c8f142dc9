//! What a loop asks of the operating system for its own thread, and what it used there.

use std::io;
use std::mem;
use std::num::NonZeroU64;
use std::time::Duration;

use rustix::process::{
    Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit,
};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

use super::spec::Placement;
use crate::terms::Priority;

/// A nice level that most other work yields to.
const RAISED_NICE: i32 = -10;

/// Configures the calling thread: its cores, its priority as far as permitted, and timers that
/// don't wait to be joined with others. Priority that is refused is no error: there is a warning
/// for that before the load.
///
/// # Errors
/// The cores named do not exist or may not be used.
pub fn configure(placement: &Placement) -> io::Result<()> {
    confine(&placement.cpus)?;
    if placement.raised_priority && !outrank_all() {
        set_raised_nice();
        ask_for_a_short_slice();
    }
    // By default the kernel delays a wake-up by up to 50 microseconds to join it with others. Older
    // kernels refuse without effect.
    let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
    Ok(())
}

/// Confines the calling thread, and what it starts from now on, to these cores; without any it
/// changes nothing. Allowed between fork and exec of a process with one thread: it allocates only
/// where it refuses a number.
///
/// # Errors
/// The cores named do not exist or may not be used.
pub fn confine(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            let most = CpuSet::MAX_CPU - 1;
            let message = format!("core {cpu}: the kernel is told of cores up to {most}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Has the calling thread run before the server's and after the load's own, as far as that is
/// permitted, and says what was.
pub fn come_before_the_server() -> Priority {
    if set_real_time(1) {
        Priority::RealTime
    } else if set_raised_nice() {
        Priority::Nice
    } else {
        Priority::Normal
    }
}

/// The lowest real-time priority but one: threads that only watch have the lowest.
fn outrank_all() -> bool {
    set_real_time(2) || set_real_time(1)
}

/// What a thread of ours may have.
pub fn priority_permitted() -> Priority {
    // On a thread of its own, so that nothing else keeps the priority.
    std::thread::spawn(come_before_the_server).join().unwrap_or(Priority::Normal)
}

fn set_raised_nice() -> bool {
    // On Linux that is the calling thread. A refusal changes nothing.
    setpriority_process(None, RAISED_NICE).is_ok()
}

/// The kernel's `struct sched_attr`, first version (sched_setattr(2)).
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Nanoseconds.
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The shortest slice the kernel grants an ordinary thread.
const SHORT_SLICE: Duration = Duration::from_micros(100);

/// A thread that asks for short turns gets them soon: from Linux 6.12 on the scheduler picks the
/// earliest deadline, and a deadline is as far off as the slice is long. No permission is needed.
/// Older kernels ignore it.
fn ask_for_a_short_slice() {
    let attributes = SchedulingAttributes {
        size: size_of::<SchedulingAttributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        nice: getpriority_process(None).unwrap_or(0),
        runtime: SHORT_SLICE.as_nanos() as u64,
        ..SchedulingAttributes::default()
    };
    // SAFETY: the structure lives through the call and says its size; a refusal changes nothing.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

fn set_real_time(priority: libc::c_int) -> bool {
    // SAFETY: all-zero is a valid value of this plain structure.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = priority;
    // What the process starts later must not inherit it.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameters live through the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

/// CPU time of the calling thread since it began.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuTime {
    pub user: Duration,
    pub system: Duration,
}

/// What the calling thread used so far.
pub fn cpu_time() -> CpuTime {
    let usage = usage(libc::RUSAGE_THREAD);
    CpuTime { user: time(usage.ru_utime), system: time(usage.ru_stime) }
}

/// Largest resident set of the process so far, bytes. The kernel's `ru_maxrss` would count that of
/// whoever started it too.
pub fn rss_bytes_max() -> u64 {
    let own = std::fs::read_to_string("/proc/self/status").ok().and_then(|text| most_kib(&text));
    let any = || u64::try_from(usage(libc::RUSAGE_SELF).ru_maxrss).unwrap_or(0);
    own.unwrap_or_else(any) * 1024
}

fn most_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn usage(who: libc::c_int) -> libc::rusage {
    // SAFETY: all-zero is a valid value, which the call fills; it cannot fail for these two.
    unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    }
}

fn time(value: libc::timeval) -> Duration {
    Duration::new(value.tv_sec.unsigned_abs(), value.tv_usec.unsigned_abs() as u32 * 1000)
}

/// Enough for any load that makes sense from one machine, and no invitation to fill its memory.
const ENOUGH_DESCRIPTORS: u64 = 65_536;

/// Lets this process, and what it starts from now on, open as many descriptors as its hard limit
/// permits, up to 65,536. A refusal changes nothing.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let [current, maximum] = [limit.current, limit.maximum].map(|limit| limit.unwrap_or(u64::MAX));
    let current = Some(current.max(maximum.min(ENOUGH_DESCRIPTORS)));
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
}

/// How many descriptors this process may still open.
pub fn free_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let open = std::fs::read_dir("/proc/self/fd").map_or(64, |entries| entries.count() as u64);
    limit.saturating_sub(open)
}

#[cfg(test)]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
    }

    #[test]
    fn a_thread_confined_to_one_core_sees_one_core() {
        let first = allowed()[0];
        let confined = std::thread::spawn(move || {
            confine(&[first]).unwrap();
            allowed()
        });
        assert_eq!(confined.join().unwrap(), [first]);
    }

    #[test]
    fn no_core_changes_nothing_and_cores_beyond_the_kernels_are_refused() {
        let before = allowed();
        confine(&[]).unwrap();
        assert!(confine(&[1 << 20]).is_err());
        assert_eq!(allowed(), before);
    }

    #[test]
    fn the_most_memory_is_the_processes_own() {
        let status = "Name:\tsweetspot\nVmPeak:\t  901234 kB\nVmHWM:\t   12345 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(most_kib(status), Some(12_345));
        assert_eq!(most_kib("Name:\tsweetspot\n"), None);
        assert!(rss_bytes_max() > 1 << 20);
    }
}
