//! One process over time: its CPU clock, and what its threads waited for.
//!
//! In: a process id. Out: a [`ProcessUse`] an interval. Files below `/proc` stay open between
//! looks, which is cheaper and also safe: a file opened for one process never shows a later process
//! that was given the same id.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use rustix::param::clock_ticks_per_second;
use rustix::process::{Resource, getrlimit};

use super::open_files::open_files;
use super::task_stats::{Switches, TaskStats};
use super::text;
use crate::terms::{ProcessMemory, ProcessUse, Role};

/// What looking at processes may use.
pub(super) struct Resources {
    /// Files that may stay open, so that the watcher never takes them from the load generator.
    files: usize,
    /// `None` where the kernel does not answer.
    task_stats: Option<TaskStats>,
}

impl Resources {
    /// An eighth of the files that this process may open, at most 4096.
    pub fn of_this_process() -> Self {
        let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self { files: (soft / 8).min(4096) as usize, task_stats: TaskStats::open().ok() }
    }

    fn take(&mut self, files: usize) -> bool {
        let is_enough = self.files >= files;
        if is_enough {
            self.files -= files;
        }
        is_enough
    }

    fn give_back(&mut self, files: usize) {
        self.files += files;
    }
}

/// Reads a short file into `buffer`, whole: the kernel writes these files in one piece.
pub(super) fn read_at_start<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let length = file.read_at(buffer, 0).ok()?;
    Some(&buffer[..length])
}

/// The exact CPU clock of a process, nanoseconds since it began, all its threads together, those
/// that ended included. Needs no permission; `None` when there is no such process.
pub fn cpu_clock_ns(pid: u32) -> Option<u64> {
    // What clock_getcpuclockid(3) computes, without its check: the id of a process's CPU clock is
    // its inverted pid above three bits, of which 2 stands for "as scheduled".
    let clock = (!(pid as libc::clockid_t) << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours and lives through the call.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A process's command line or title as one line; empty when it has ended.
pub fn title(pid: u32) -> String {
    text::title(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
}

/// The names of a process's threads, as the kernel keeps them: cut after 15 bytes.
pub fn thread_names(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    tasks.filter_map(name).map(|name| name.trim_end().to_string()).collect()
}

/// The kernel's clock tick in nanoseconds (10 ms almost everywhere).
pub(super) fn tick_ns() -> u64 {
    1_000_000_000 / clock_ticks_per_second().max(1)
}

/// The size of a page of memory.
fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// The files of a thread that are read, in the order of [`ThreadFile`].
const THREAD_FILES: [&str; 3] = ["stat", "schedstat", "status"];

#[derive(Debug, Default)]
struct Thread {
    id: u32,
    /// Its [`THREAD_FILES`], open between looks as far as the resources allow.
    files: Option<[Option<File>; THREAD_FILES.len()]>,
    run_delay_ns: u64,
    /// How often it was given a core.
    runs: u64,
    /// How often it had been given a core when its context switches were last read.
    runs_at_switches: u64,
    voluntary: u64,
    involuntary: u64,
    /// Seen in the newest listing.
    is_listed: bool,
}

/// What is counted from look to look and handed out at the end of an interval.
#[derive(Debug, Default, Clone, Copy)]
struct Interval {
    run_delay_ns: u64,
    voluntary: u64,
    involuntary: u64,
    runnable: u64,
    blocked: u64,
    looks: u64,
}

/// Counters as they stood at one moment.
#[derive(Debug, Default, Clone, Copy)]
struct Counters {
    cpu_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
    minor_faults: u64,
    major_faults: u64,
    resident_bytes: u64,
}

/// What a look includes besides the CPU clock and the run delay of those that have run.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookDepth {
    /// Has it ended, and has it as many threads as before? Costs ten times the clock.
    pub reads_stat: bool,
    pub states: States,
}

/// What to learn of the threads' states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum States {
    Nothing,
    /// The machine itself says that nothing runs or waits for a disk.
    AllAsleep,
    /// Read that of each thread, which costs as much as everything else together.
    Read,
}

impl LookDepth {
    pub const FULL: Self = Self { reads_stat: true, states: States::Read };
}

/// Intervals from one count of open files to the next: each has to be asked what it is.
const INTERVALS_A_COUNT: u32 = 10;

/// Titles are read at the end of each of the first intervals, then once in this many.
const INTERVALS_A_TITLE: u32 = 5;

/// One process that is watched.
#[derive(Debug)]
pub(super) struct Process {
    pub pid: u32,
    pub is_root: bool,
    pub title: String,
    pub name: String,
    stat: File,
    cmdline: Option<File>,
    threads: Vec<Thread>,
    thread_count: u32,
    at_interval_start: Counters,
    now: Counters,
    interval: Interval,
    /// As last told of all its threads together.
    switches: Switches,
    /// Its CPU clock when its threads' states were last read.
    cpu_ns_at_states: u64,
    open_files: Option<OpenFiles>,
    /// Counts on from another number in each process, so that not all are asked in the same one.
    intervals: u32,
    /// Intervals since it was found.
    closed: u32,
    /// It has ended; what it used last is still to be handed out.
    pub is_gone: bool,
    /// A thread could not be read any more, so the list is out of date.
    has_lost_a_thread: bool,
}

impl Process {
    /// Begins to watch. Where `since_birth` (given when it began, in clock ticks since boot) is
    /// true, all that it has used counts, otherwise only what comes.
    ///
    /// # Errors
    /// There is no such process, or it may not be looked at.
    pub fn open(
        pid: u32,
        is_root: bool,
        since_birth: impl FnOnce(u64) -> bool,
        resources: &mut Resources,
        buffer: &mut [u8],
    ) -> io::Result<Self> {
        let stat = File::open(format!("/proc/{pid}/stat"))?;
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        let seen = read_at_start(&stat, buffer).and_then(text::stat).ok_or_else(gone)?;
        let since_birth = since_birth(seen.start_ticks);
        let mut process = Self {
            pid,
            is_root,
            title: String::new(),
            name: String::new(),
            stat,
            cmdline: File::open(format!("/proc/{pid}/cmdline")).ok(),
            threads: Vec::new(),
            thread_count: 0,
            at_interval_start: Counters::default(),
            now: Counters::default(),
            interval: Interval::default(),
            switches: Switches::default(),
            cpu_ns_at_states: 0,
            open_files: None,
            intervals: pid % INTERVALS_A_COUNT,
            closed: 0,
            is_gone: false,
            has_lost_a_thread: false,
        };
        process.look(LookDepth::FULL, resources, buffer);
        process.open_files = OpenFiles::count(pid);
        process.read_title(buffer);
        if !since_birth {
            process.at_interval_start = process.now;
            process.read_switches(resources, buffer);
            process.interval = Interval::default();
        }
        Ok(process)
    }

    /// How many threads it had when they were last listed.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Brings the counters up to date.
    pub fn look(&mut self, depth: LookDepth, resources: &mut Resources, buffer: &mut [u8]) {
        let before = self.now.cpu_ns;
        let clock_ns = cpu_clock_ns(self.pid);
        // The clock never runs backwards; a smaller value is of a later process with this id.
        self.now.cpu_ns = before.max(clock_ns.unwrap_or(0));
        if depth.reads_stat || self.has_lost_a_thread || clock_ns.is_none() {
            self.look_closely(resources, buffer);
        }
        if clock_ns.is_none() {
            // A kernel that shows the clock to nobody still counts ticks.
            let from_ticks = (self.now.user_ticks + self.now.system_ticks) * tick_ns();
            self.now.cpu_ns = self.now.cpu_ns.max(from_ticks);
        }
        // A thread that was given no core since has waited for none either, as far as the kernel
        // counts: it adds the wait when it ends.
        if self.now.cpu_ns > before {
            self.read_run_delay(buffer);
        }
        match depth.states {
            States::Nothing => {}
            States::AllAsleep => self.interval.looks += 1,
            States::Read => self.read_states(buffer),
        }
    }

    fn look_closely(&mut self, resources: &mut Resources, buffer: &mut [u8]) {
        let Some(seen) = read_at_start(&self.stat, buffer).and_then(text::stat) else {
            self.end(resources);
            return;
        };
        self.now.user_ticks = seen.user_ticks;
        self.now.system_ticks = seen.system_ticks;
        self.now.minor_faults = seen.minor_faults;
        self.now.major_faults = seen.major_faults;
        self.now.resident_bytes = seen.resident_pages * page_bytes();
        let (threads, state) = (seen.threads, seen.state);
        if matches!(state, b'Z' | b'X') && threads <= 1 {
            self.end(resources);
            return;
        }
        self.thread_count = threads;
        if self.has_lost_a_thread || threads as usize != self.threads.len() {
            self.list_threads(resources);
        }
    }

    fn end(&mut self, resources: &mut Resources) {
        self.is_gone = true;
        let held = self.threads.iter().filter(|thread| thread.files.is_some()).count();
        resources.give_back(held * THREAD_FILES.len());
        self.threads.clear();
    }

    fn list_threads(&mut self, resources: &mut Resources) {
        let Ok(entries) = fs::read_dir(format!("/proc/{}/task", self.pid)) else { return };
        self.has_lost_a_thread = false;
        self.threads.iter_mut().for_each(|thread| thread.is_listed = false);
        for entry in entries.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            match self.threads.iter_mut().find(|thread| thread.id == id) {
                Some(thread) => thread.is_listed = true,
                None => self.threads.push(Thread::open(self.pid, id, resources)),
            }
        }
        self.threads.retain(|thread| {
            if !thread.is_listed && thread.files.is_some() {
                resources.give_back(THREAD_FILES.len());
            }
            thread.is_listed
        });
    }

    fn read_run_delay(&mut self, buffer: &mut [u8]) {
        for thread in &mut self.threads {
            let schedstat = thread.read(ThreadFile::Schedstat, self.pid, buffer);
            match schedstat.and_then(text::scheduled) {
                Some(seen) => {
                    let waited = seen.run_delay_ns.saturating_sub(thread.run_delay_ns);
                    self.interval.run_delay_ns += waited;
                    (thread.run_delay_ns, thread.runs) = (seen.run_delay_ns, seen.runs);
                }
                // Without scheduler statistics nobody tells whether it has run.
                None => {
                    thread.runs += 1;
                    self.has_lost_a_thread = true;
                }
            }
        }
    }

    /// A process that has not run since the last time is taken to have slept all along: its threads
    /// are not asked.
    fn read_states(&mut self, buffer: &mut [u8]) {
        self.interval.looks += 1;
        if std::mem::replace(&mut self.cpu_ns_at_states, self.now.cpu_ns) == self.now.cpu_ns {
            return;
        }
        for thread in &self.threads {
            let seen = thread.read(ThreadFile::Stat, self.pid, buffer).and_then(text::stat);
            match seen.map(|seen| seen.state) {
                Some(b'R') => self.interval.runnable += 1,
                Some(b'D') => self.interval.blocked += 1,
                _ => {}
            }
        }
    }

    /// Counts context switches, once an interval: of the process where the kernel answers that,
    /// else of each thread that has run, from its costliest file.
    fn read_switches(&mut self, resources: &mut Resources, buffer: &mut [u8]) {
        if let Some(kernel) = &mut resources.task_stats {
            // One that has just ended keeps what it had.
            let now = kernel.switches(self.pid).unwrap_or(self.switches);
            let before = std::mem::replace(&mut self.switches, now);
            self.interval.voluntary += now.voluntary.saturating_sub(before.voluntary);
            self.interval.involuntary += now.involuntary.saturating_sub(before.involuntary);
            return;
        }
        for thread in self.threads.iter_mut().filter(|it| it.runs != it.runs_at_switches) {
            thread.runs_at_switches = thread.runs;
            let read = thread.read(ThreadFile::Status, self.pid, buffer).and_then(text::switches);
            let Some((voluntary, involuntary)) = read else { continue };
            self.interval.voluntary += voluntary.saturating_sub(thread.voluntary);
            self.interval.involuntary += involuntary.saturating_sub(thread.involuntary);
            (thread.voluntary, thread.involuntary) = (voluntary, involuntary);
        }
    }

    /// Servers change their title after the fork, so it is read again and again.
    fn read_title(&mut self, buffer: &mut [u8]) {
        let Some(cmdline) = self.cmdline.as_ref().and_then(|file| read_at_start(file, buffer))
        else {
            return;
        };
        let title = text::title(cmdline);
        if title == self.title && !self.name.is_empty() {
            return;
        }
        self.name = text::display_name(cmdline, b"");
        if title.is_empty() {
            let mut name = [0u8; 512];
            let seen = read_at_start(&self.stat, &mut name).and_then(text::stat);
            self.name = text::display_name(b"", seen.map_or(b"?", |seen| seen.name));
        }
        self.title = title;
    }

    /// Ends the interval: what was used since the last call. The role and index are the caller's.
    pub fn close(&mut self, resources: &mut Resources, buffer: &mut [u8]) -> ProcessUse {
        if !self.is_gone {
            self.read_switches(resources, buffer);
            self.intervals += 1;
            // It changes soon after the fork, or hardly ever.
            if self.closed < INTERVALS_A_COUNT || self.intervals.is_multiple_of(INTERVALS_A_TITLE) {
                self.read_title(buffer);
            }
            self.closed = self.closed.saturating_add(1);
            if self.intervals.is_multiple_of(INTERVALS_A_COUNT) {
                self.open_files = OpenFiles::count(self.pid);
            }
        }
        let interval = std::mem::take(&mut self.interval);
        let before = std::mem::replace(&mut self.at_interval_start, self.now);
        let cpu_s = self.now.cpu_ns.saturating_sub(before.cpu_ns) as f64 / 1e9;
        let user_share = user_share(before, self.now);
        ProcessUse {
            pid: self.pid,
            role: Role::Other,
            index: None,
            name: self.name.clone(),
            cpu_s,
            user_s: cpu_s * user_share,
            system_s: cpu_s * (1.0 - user_share),
            run_delay_s: interval.run_delay_ns as f64 / 1e9,
            voluntary_switches: interval.voluntary,
            involuntary_switches: interval.involuntary,
            threads: self.thread_count,
            threads_runnable: interval.runnable as f64 / interval.looks.max(1) as f64,
            threads_blocked: interval.blocked as f64 / interval.looks.max(1) as f64,
            minor_faults: self.now.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.now.major_faults.saturating_sub(before.major_faults),
            resident_bytes: self.now.resident_bytes,
            open_files: self.open_files.map(|open| open.files),
            open_sockets: self.open_files.map(|open| open.sockets),
        }
    }

    /// Walks its memory, which takes the kernel milliseconds in a large process.
    ///
    /// # Errors
    /// It belongs to another user, or has ended.
    pub fn memory(&self, buffer: &mut Vec<u8>) -> io::Result<ProcessMemory> {
        buffer.clear();
        File::open(format!("/proc/{}/smaps_rollup", self.pid))?.read_to_end(buffer)?;
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        let memory = text::memory_rollup(buffer).ok_or_else(gone)?;
        Ok(ProcessMemory { pid: self.pid, ..memory })
    }
}

/// What a process has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenFiles {
    files: u32,
    /// Among the files.
    sockets: u32,
}

impl OpenFiles {
    /// `None` when it belongs to another user or has ended.
    fn count(pid: u32) -> Option<Self> {
        let mut open = Self { files: 0, sockets: 0 };
        for socket in open_files(pid).ok()? {
            open.files += 1;
            open.sockets += u32::from(socket.is_some());
        }
        Some(open)
    }
}

/// The share of user time among the ticks of an interval. Ticks are too coarse to give the amount;
/// without any tick the share since the process began stands in.
fn user_share(before: Counters, now: Counters) -> f64 {
    let user = now.user_ticks.saturating_sub(before.user_ticks);
    let system = now.system_ticks.saturating_sub(before.system_ticks);
    let (user, system) =
        if user + system > 0 { (user, system) } else { (now.user_ticks, now.system_ticks) };
    if user + system == 0 { 1.0 } else { user as f64 / (user + system) as f64 }
}

#[derive(Clone, Copy)]
enum ThreadFile {
    Stat,
    Schedstat,
    Status,
}

fn open_thread_file(pid: u32, id: u32, name: &str) -> Option<File> {
    File::open(format!("/proc/{pid}/task/{id}/{name}")).ok()
}

impl Thread {
    fn open(pid: u32, id: u32, resources: &mut Resources) -> Self {
        let mut files = None;
        if resources.take(THREAD_FILES.len()) {
            // A kernel built without scheduler statistics has no schedstat.
            files = Some(THREAD_FILES.map(|name| open_thread_file(pid, id, name)))
                .filter(|[stat, _, status]| stat.is_some() && status.is_some());
            if files.is_none() {
                resources.give_back(THREAD_FILES.len());
            }
        }
        Self { id, files, is_listed: true, ..Self::default() }
    }

    fn read<'a>(&self, which: ThreadFile, pid: u32, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let at = which as usize;
        match &self.files {
            Some(files) => read_at_start(files[at].as_ref()?, buffer),
            None => read_at_start(&open_thread_file(pid, self.id, THREAD_FILES[at])?, buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cpu_clock_is_the_one_the_kernel_gives_this_process() {
        let mut own = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let before = cpu_clock_ns(std::process::id()).unwrap();
        // SAFETY: the structure is ours and lives through the call.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut own) };
        let own = own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64;
        let after = cpu_clock_ns(std::process::id()).unwrap();
        assert!(before <= own && own <= after, "{before} <= {own} <= {after}");
    }

    #[test]
    fn user_share_falls_back_to_the_whole_life_when_no_tick_fell() {
        let at =
            |user_ticks, system_ticks| Counters { user_ticks, system_ticks, ..Counters::default() };
        for (before, now, expected) in [
            (at(0, 0), at(3, 1), 0.75),
            (at(10, 30), at(10, 30), 0.25),
            (at(0, 0), at(0, 0), 1.0),
            (at(5, 5), at(5, 7), 0.0),
        ] {
            assert_eq!(user_share(before, now), expected);
        }
    }

    #[test]
    fn without_open_files_and_answers_the_same_is_read() {
        let mut buffer = vec![0; 8192];
        let mut none = Resources { files: 0, task_stats: None };
        let pid = std::process::id();
        let mut process = Process::open(pid, true, |_| true, &mut none, &mut buffer).unwrap();
        let used = process.close(&mut none, &mut buffer);
        assert!(used.cpu_s > 0.0 && used.threads >= 1 && used.threads_runnable >= 1.0, "{used:?}");
        assert!(used.minor_faults > 0 && used.open_files > Some(2), "{used:?}");
    }
}
