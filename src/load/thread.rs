//! What a loop asks of the operating system for its own thread, and what it used there.

use std::io;
use std::mem;
use std::time::Duration;

use super::Placement;
use crate::terms::Priority;

/// A nice level that most other work yields to.
const RAISED_NICE: libc::c_int = -10;

/// Settles the calling thread: its cores, its priority as far as permitted, and timers that don't
/// wait for company. Priority that is refused is no error: whoever planned the load warns.
///
/// # Errors
/// The cores named do not exist or may not be used.
pub fn settle(placement: &Placement) -> io::Result<()> {
    if !placement.cpus.is_empty() {
        set_affinity(&placement.cpus)?;
    }
    if placement.raised_priority && !come_first_of_all() {
        set_raised_nice();
        ask_for_a_short_slice();
    }
    // By default the kernel delays a wake-up by up to 50 microseconds to join it with others.
    // SAFETY: no pointer is passed; older kernels refuse without effect.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    Ok(())
}

fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: all-zero is the empty set, and CPU_SET checks its bounds.
    let set = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        set
    };
    // SAFETY: the set lives through the call and is as long as said.
    let result =
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the calling thread run before the server's and after the load's own, as far as that is
/// permitted, and says what was.
pub fn come_before_the_server() -> Priority {
    match () {
        () if set_real_time(1) => Priority::RealTime,
        () if set_raised_nice() => Priority::Nice,
        () => Priority::Normal,
    }
}

/// The lowest real-time priority but one: whoever only watches has the lowest.
fn come_first_of_all() -> bool {
    set_real_time(2) || set_real_time(1)
}

/// What a thread of ours may have.
pub fn priority_permitted() -> Priority {
    // On a thread of its own, so that nothing else keeps the priority.
    std::thread::spawn(come_before_the_server).join().unwrap_or(Priority::Normal)
}

fn set_raised_nice() -> bool {
    // SAFETY: no pointer is passed; on Linux 0 is the calling thread. A refusal changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, RAISED_NICE) == 0 }
}

/// As the kernel's `struct sched_attr`, first version (sched_setattr(2)).
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

/// Whoever asks for short turns gets them soon: from Linux 6.12 on the scheduler picks the earliest
/// deadline, and a deadline is as far off as the slice is long. Nobody has to permit it. Older
/// kernels ignore it.
fn ask_for_a_short_slice() {
    // SAFETY: no pointer is passed; 0 is the calling thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = SchedulingAttributes {
        size: size_of::<SchedulingAttributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        nice,
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

/// Largest resident set of the process so far, bytes.
pub fn rss_bytes_max() -> u64 {
    u64::try_from(usage(libc::RUSAGE_SELF).ru_maxrss).unwrap_or(0) * 1024
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

fn descriptor_limit() -> libc::rlimit {
    // SAFETY: all-zero is a valid value, which the call fills.
    unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit
    }
}

/// Enough for any load that makes sense from one machine, and no invitation to fill its memory.
const ENOUGH_DESCRIPTORS: u64 = 65_536;

/// Lets this process, and what it starts from now on, open as many descriptors as it may without
/// asking anybody, up to 65,536. A refusal changes nothing.
pub fn raise_descriptor_limit() {
    let mut limit = descriptor_limit();
    limit.rlim_cur = limit.rlim_cur.max(limit.rlim_max.min(ENOUGH_DESCRIPTORS));
    // SAFETY: the limit lives through the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
}

/// How many descriptors this process may still open.
pub fn free_descriptors() -> u64 {
    let limit = descriptor_limit().rlim_cur;
    let open = std::fs::read_dir("/proc/self/fd").map_or(64, |entries| entries.count() as u64);
    limit.saturating_sub(open)
}
