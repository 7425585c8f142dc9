//! Lines of the shell in a container, read into looks.
//!
//! In: one line after another, as script.sh prints them. Out: a look whenever its last line has
//! come. What is not understood is passed over: kernels differ in what they tell.

use std::collections::BTreeMap;

use super::look::{Look, Process, family};
use crate::monitor;
use crate::terms::GroupUse;

const BEGIN: &str = "sweetspot-usage";
const END: &str = "sweetspot-usage-end";

/// Counters that are read, by the kernel's names for them or for the file that has only this one.
/// Version 2 and 1 of control groups have different ones.
const NAMES: [&str; 26] = [
    "anon",
    "cpu.pressure",
    "cpuacct.usage",
    "inactive_file",
    "io.pressure",
    "max",
    "memory.current",
    "memory.failcnt",
    "memory.limit_in_bytes",
    "memory.max",
    "memory.pressure",
    "memory.swap.current",
    "memory.usage_in_bytes",
    "nr_periods",
    "nr_throttled",
    "oom_kill",
    "throttled_time",
    "throttled_usec",
    "total_inactive_file",
    "total_rss",
    "total_swap",
    "total_workingset_refault_anon",
    "total_workingset_refault_file",
    "usage_usec",
    "workingset_refault_anon",
    "workingset_refault_file",
];

/// Clock ticks a second in what the kernel tells programs: 100 on every machine that runs
/// Kubernetes.
const TICKS_A_SECOND: f64 = 100.0;

/// Of a page of memory: not so on the few ARM kernels that were built for larger ones, where
/// processes then seem smaller than they are, all by the same factor.
const PAGE_BYTES: u64 = 4096;

/// Version 1 writes "no limit" as a number near the top of the range.
const UNLIMITED: u64 = 1 << 60;

/// Reads looks out of lines.
#[derive(Debug, Default)]
pub struct Looks {
    /// What has come of the look that is not complete yet.
    open: Option<Block>,
}

impl Looks {
    /// Takes in the next line; a look when it was the last of one.
    pub fn line(&mut self, line: &str) -> Option<Look> {
        let mut words = line.split_ascii_whitespace();
        match words.next()? {
            BEGIN => {
                let shell = words.next().and_then(|pid| pid.parse::<u32>().ok());
                self.open = shell.filter(|pid| *pid > 0).map(Block::of);
                None
            }
            END => self.open.take()?.look(),
            first => {
                if let Some(block) = &mut self.open {
                    block.read(line, first, words);
                }
                None
            }
        }
    }
}

/// The lines of one look so far.
#[derive(Debug)]
struct Block {
    shell: u32,
    uptime_s: Option<f64>,
    counters: BTreeMap<&'static str, u64>,
    processes: Vec<Process>,
}

impl Block {
    fn of(shell: u32) -> Self {
        Self { shell, uptime_s: None, counters: BTreeMap::new(), processes: Vec::new() }
    }

    /// `first`: the line's first word, which is not among `others`.
    fn read<'a>(&mut self, line: &str, first: &str, mut others: impl Iterator<Item = &'a str>) {
        if line.contains('(') {
            self.processes.extend(process(line));
        } else if let Some(&name) = NAMES.iter().find(|name| **name == first) {
            // A pressure file's line has other figures before its sum.
            let number = |word: &str| {
                let digits = word.strip_prefix("total=").unwrap_or(word);
                digits.parse::<u64>().ok()
            };
            if let Some(value) = others.find_map(number) {
                self.counters.insert(name, value);
            }
        } else if self.uptime_s.is_none() {
            // The one file whose line begins with a number.
            let uptime_s: Option<f64> = first.parse().ok();
            self.uptime_s = uptime_s.filter(|it| it.is_finite() && *it >= 0.0);
        }
    }

    /// `None` where the time stamp is missing.
    fn look(self) -> Option<Look> {
        let Self { shell, uptime_s, counters, processes } = self;
        let of = |name: &str| counters.get(name).copied();
        let seconds = |name: &str, a_second: f64| Some(of(name)? as f64 / a_second);
        let sum = |file: &str, anonymous: &str| of(file)?.checked_add(of(anonymous)?);
        let limit = of("memory.max").or_else(|| of("memory.limit_in_bytes"));
        let throttled_s = seconds("throttled_usec", 1e6).or_else(|| seconds("throttled_time", 1e9));
        let group = GroupUse {
            cpu_s: seconds("usage_usec", 1e6).or_else(|| seconds("cpuacct.usage", 1e9)),
            memory_bytes: of("memory.current").or_else(|| of("memory.usage_in_bytes")),
            anonymous_bytes: of("anon").or_else(|| of("total_rss")),
            swap_bytes: of("memory.swap.current").or_else(|| of("total_swap")),
            memory_limit_bytes: limit.filter(|bytes| *bytes < UNLIMITED),
            memory_limit_hits: of("max").or_else(|| of("memory.failcnt")),
            refaulted_pages: sum("total_workingset_refault_file", "total_workingset_refault_anon")
                .or_else(|| sum("workingset_refault_file", "workingset_refault_anon")),
            out_of_memory_kills: of("oom_kill"),
            cpu_pressure_s: seconds("cpu.pressure", 1e6),
            memory_pressure_s: seconds("memory.pressure", 1e6),
            io_pressure_s: seconds("io.pressure", 1e6),
        };
        Some(Look {
            uptime_s: uptime_s?,
            throttled_s: throttled_s.unwrap_or(0.0),
            throttled_periods: of("nr_throttled").unwrap_or(0),
            periods: of("nr_periods").unwrap_or(0),
            group,
            // Version 1 has both: its own alone, and with the groups inside.
            inactive_file_bytes: of("total_inactive_file").or_else(|| of("inactive_file")),
            processes: without_ours(shell, processes),
        })
    }
}

/// All but this shell and what is below it, in order of their ids.
fn without_ours(shell: u32, mut processes: Vec<Process>) -> Vec<Process> {
    let ours = family(shell, &processes);
    processes.retain(|process| !ours.contains(&process.pid));
    processes.sort_unstable_by_key(|process| process.pid);
    processes
}

/// From a line of `/proc/PID/stat`; `None` of one that has ended, and of what is no such line.
fn process(line: &str) -> Option<Process> {
    let stat = monitor::stat(line.as_bytes())?;
    if matches!(stat.state, b'Z' | b'X' | b'x') {
        return None;
    }
    let (pid, _) = line.split_once('(')?;
    Some(Process {
        pid: pid.trim().parse().ok()?,
        ppid: stat.parent,
        comm: String::from_utf8_lossy(stat.name).into_owned(),
        utime_s: stat.user_ticks as f64 / TICKS_A_SECOND,
        stime_s: stat.system_ticks as f64 / TICKS_A_SECOND,
        threads: stat.threads,
        rss_bytes: stat.resident_pages.saturating_mul(PAGE_BYTES),
        minor_faults: stat.minor_faults,
        major_faults: stat.major_faults,
        start_ticks: stat.start_ticks,
        is_running: stat.state == b'R',
    })
}
