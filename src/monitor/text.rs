//! What the kernel writes below `/proc`, read into numbers.
//!
//! In: bytes of one file. Out: the fields we need, or `None` when the text is not what that file
//! holds. Pure: opens nothing. Names come from users and may hold spaces, parentheses and newlines.

use memchr::{memchr, memmem, memrchr};

use crate::terms::ProcessMemory;

/// Fields of `/proc/PID/stat` and `/proc/PID/task/TID/stat`; times in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    pub name: &'a [u8],
    /// As in ps(1): `R` running or runnable, `S` sleeping, `Z` ended but not yet waited for.
    pub state: u8,
    pub parent: u32,
    /// `None` of one that is just being taken away.
    pub session: Option<u32>,
    /// Pages touched for the first time, or written to while shared.
    pub minor_faults: u64,
    /// Pages read from a disk.
    pub major_faults: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub threads: u32,
    /// When it began, since the machine's boot.
    pub start_ticks: u64,
    /// Pages in memory, shared ones too.
    pub resident_pages: u64,
}

/// Reads a process's or thread's `stat`.
pub(crate) fn stat(text: &[u8]) -> Option<Stat<'_>> {
    // The name may itself hold `) R 1`, so only the last parenthesis ends it.
    let open = memchr(b'(', text)?;
    let close = memrchr(b')', text)?;
    let name = text.get(open + 1..close)?;
    let mut fields = fields(&text[close + 1..]);
    // The parent is field 4 of proc(5), the session 6, minflt 10, majflt 12, utime 14.
    Some(Stat {
        name,
        state: *fields.next()?.first()?,
        parent: number(fields.next()?)? as u32,
        session: number(fields.nth(1)?).map(|session| session as u32),
        minor_faults: number(fields.nth(3)?)?,
        major_faults: number(fields.nth(1)?)?,
        user_ticks: number(fields.nth(1)?)?,
        system_ticks: number(fields.next()?)?,
        threads: number(fields.nth(4)?)? as u32,
        start_ticks: number(fields.nth(1)?)?,
        resident_pages: number(fields.nth(1)?)?,
    })
}

/// How a thread was scheduled, from its `schedstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scheduled {
    /// Nanoseconds it was runnable and waited for a core; a wait counts when it ends.
    pub run_delay_ns: u64,
    /// Times it was given a core.
    pub runs: u64,
}

/// Reads a thread's `schedstat`.
pub(crate) fn scheduled(schedstat: &[u8]) -> Option<Scheduled> {
    let mut fields = fields(schedstat).skip(1);
    Some(Scheduled { run_delay_ns: number(fields.next()?)?, runs: number(fields.next()?)? })
}

/// Voluntary and involuntary context switches of a thread's `status`.
pub(crate) fn switches(status: &[u8]) -> Option<(u64, u64)> {
    // They are the last two lines; the name on the first cannot pass for them, because the kernel
    // escapes a newline in it.
    let voluntary = labelled(status, b"\nvoluntary_ctxt_switches:")?;
    let involuntary = labelled(status, b"\nnonvoluntary_ctxt_switches:")?;
    Some((voluntary, involuntary))
}

/// Sums of a process's `smaps_rollup`; whose it is does not stand there.
pub(crate) fn memory_rollup(text: &[u8]) -> Option<ProcessMemory> {
    let kilobytes = |label: &[u8]| labelled(text, label);
    let own = kilobytes(b"\nPrivate_Clean:")? + kilobytes(b"\nPrivate_Dirty:")?;
    let own = own + kilobytes(b"\nPrivate_Hugetlb:").unwrap_or(0);
    Some(ProcessMemory {
        pss_bytes: kilobytes(b"\nPss:")? * 1024,
        pss_anonymous_bytes: kilobytes(b"\nPss_Anon:").map(|kilobytes| kilobytes * 1024),
        uss_bytes: own * 1024,
        rss_bytes: kilobytes(b"\nRss:")? * 1024,
        ..ProcessMemory::default()
    })
}

/// Ticks one core has spent since boot, from `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CoreTicks {
    pub core: u16,
    /// At normal and lowered priority; guests are among them already.
    pub user: u64,
    /// The kernel, and both kinds of interrupts.
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub steal: u64,
}

/// Fills `cores` with one entry a core that is online, in core order.
pub(crate) fn cores(proc_stat: &[u8], cores: &mut Vec<CoreTicks>) {
    cores.clear();
    cores.extend(lines(proc_stat).take_while(|line| line.starts_with(b"cpu")).filter_map(core));
}

fn core(line: &[u8]) -> Option<CoreTicks> {
    let mut fields = fields(line);
    let core = number(fields.next()?.strip_prefix(b"cpu")?)? as u16;
    let mut ticks = [0u64; 8];
    for slot in &mut ticks {
        // Kernels before 2.6.11 have no steal column.
        *slot = fields.next().and_then(number).unwrap_or(0);
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let (user, system) = (user + nice, system + irq + softirq);
    Some(CoreTicks { core, user, system, idle, iowait, steal })
}

/// What a quota did, from a control group's `cpu.stat`, version 2 or 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Throttled {
    /// Periods in which the group ran.
    pub periods: u64,
    /// Those of them in which it was stopped.
    pub throttled: u64,
    /// How long it was.
    pub ns: u64,
}

pub(crate) fn throttled(cpu_stat: &[u8]) -> Option<Throttled> {
    let us = labelled(cpu_stat, b"\nthrottled_usec ");
    Some(Throttled {
        periods: labelled(cpu_stat, b"\nnr_periods ").unwrap_or(0),
        throttled: labelled(cpu_stat, b"\nnr_throttled ")?,
        ns: us.map(|us| us * 1000).or_else(|| labelled(cpu_stat, b"\nthrottled_time "))?,
    })
}

/// Microseconds in which something waited, since boot, from a pressure file's line "some".
pub(crate) fn pressure_us(pressure: &[u8]) -> Option<u64> {
    let some = lines(pressure).find(|line| line.starts_with(b"some "))?;
    number(fields(some).find_map(|field| field.strip_prefix(b"total="))?)
}

/// Connections turned away because a listen queue was full, from `/proc/net/netstat`: a line of
/// names, then one of figures.
pub(crate) fn listen_overflows(netstat: &[u8]) -> Option<u64> {
    let mut tcp = lines(netstat).filter(|line| line.starts_with(b"TcpExt:"));
    let (names, figures) = (tcp.next()?, tcp.next()?);
    let at = fields(names).position(|name| name == b"ListenOverflows")?;
    number(fields(figures).nth(at)?)
}

/// What a device has carried since it was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceCounters {
    pub name: String,
    /// Received, or read.
    pub in_bytes: u64,
    /// Sent, or written.
    pub out_bytes: u64,
    /// Milliseconds in which a disk had something to do; `None` for a network interface.
    pub busy_ms: Option<u64>,
}

impl DeviceCounters {
    pub fn was_used(&self) -> bool {
        self.in_bytes + self.out_bytes > 0
    }
}

/// From `/proc/net/dev`.
pub(crate) fn network_counters(net_dev: &[u8]) -> Vec<DeviceCounters> {
    let row = |line: &[u8]| {
        // A large figure can stand right behind the colon.
        let colon = memchr(b':', line)?;
        let name = fields(&line[..colon]).next()?;
        let mut figures = fields(&line[colon + 1..]);
        Some(DeviceCounters {
            name: String::from_utf8_lossy(name).into_owned(),
            in_bytes: number(figures.next()?)?,
            out_bytes: number(figures.nth(7)?)?,
            busy_ms: None,
        })
    };
    lines(net_dev).filter_map(row).collect()
}

/// From `/proc/diskstats`, which counts in sectors of 512 bytes whatever the disk's own are.
pub(crate) fn disk_counters(diskstats: &[u8]) -> Vec<DeviceCounters> {
    let row = |line: &[u8]| {
        let mut fields = fields(line).skip(2);
        Some(DeviceCounters {
            name: String::from_utf8_lossy(fields.next()?).into_owned(),
            in_bytes: number(fields.nth(2)?)? * 512,
            out_bytes: number(fields.nth(3)?)? * 512,
            busy_ms: Some(number(fields.nth(2)?)?),
        })
    };
    lines(diskstats).filter_map(row).collect()
}

/// The number given to the newest thread or process, from `/proc/loadavg`.
pub(crate) fn newest_pid(loadavg: &[u8]) -> Option<u64> {
    number(fields(loadavg).nth(4)?)
}

/// How many threads of the whole machine run or could, and how many wait for a disk, from
/// `/proc/stat`.
pub(crate) fn running_and_blocked(stat: &[u8]) -> Option<(u64, u64)> {
    Some((labelled(stat, b"\nprocs_running ")?, labelled(stat, b"\nprocs_blocked ")?))
}

/// A `cmdline` file as one line, its arguments joined by spaces. Servers that write a title of
/// their own pad the rest of the file.
pub(crate) fn title(cmdline: &[u8]) -> String {
    let joined: Vec<_> = arguments(cmdline).map(String::from_utf8_lossy).collect();
    joined.join(" ").trim().to_string()
}

/// What to call a process. A title that the process wrote itself is shown whole; of a command line
/// only the program and its script, because all else may hold secrets.
pub(crate) fn display_name(cmdline: &[u8], command_name: &[u8]) -> String {
    let mut parts = arguments(cmdline);
    let base = |argument: &[u8]| {
        let start = memrchr(b'/', argument).map_or(0, |slash| slash + 1);
        String::from_utf8_lossy(&argument[start..]).into_owned()
    };
    let name = match (parts.next(), parts.next()) {
        (None, _) => format!("[{}]", String::from_utf8_lossy(command_name)),
        (Some(title), None) if title.contains(&b' ') => String::from_utf8_lossy(title).into_owned(),
        (Some(program), Some(script)) if may_be_script(script) => {
            format!("{} {}", base(program), base(script))
        }
        (Some(program), _) => base(program),
    };
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    name.trim().chars().take(120).collect()
}

/// No flag, URL (`postgres://shop:s3cret@db`) or variable (`KEY=s3cret`).
fn may_be_script(argument: &[u8]) -> bool {
    let is_url = memmem::find(argument, b"://").is_some();
    !argument.starts_with(b"-") && !is_url && !argument.contains(&b'=')
}

fn arguments(cmdline: &[u8]) -> impl Iterator<Item = &[u8]> {
    cmdline.split(|&byte| byte == 0).filter(|argument| !argument.is_empty())
}

/// The fields of a line, split at runs of spaces and tabs.
pub(crate) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty())
}

/// The id that a process has for itself, which is that in the innermost of its namespaces: the last
/// of those in its `status`.
pub(crate) fn own_pid(status: &[u8]) -> Option<u32> {
    let pids = lines(status).find_map(|line| line.strip_prefix(b"NSpid:"))?;
    fields(pids).last().and_then(number)?.try_into().ok()
}

/// The lines of a file without their ends.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// A decimal number; anything else is `None`.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The number that a file begins with.
pub(crate) fn first_number(text: &[u8]) -> Option<u64> {
    number(fields(text).next()?)
}

/// The first number after a label such as `"\nPss:"`. A label that begins with a newline is also
/// found at the very start of the text.
pub(crate) fn labelled(text: &[u8], label: &[u8]) -> Option<u64> {
    let at_start = label.strip_prefix(b"\n").filter(|label| text.starts_with(label));
    let rest = match at_start {
        Some(label) => &text[label.len()..],
        None => &text[memmem::find(text, label)? + label.len()..],
    };
    number(fields(rest).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &[u8] =
        b"11393 (sh) S 11387 11386 7391 0 -1 4194304 120 515 0 0 31 7 0 0 20 0 3 0 \
        139655 2654208 408 18446744073709551615 94540245639168 94540245715897 140722255467408 0 0 \
        0 0 0 65538 1 0 0 17 1 0 0 0 0 0\n";

    #[test]
    fn a_stat_line_gives_parent_ticks_threads_and_start() {
        let read = stat(STAT).unwrap();
        assert_eq!(
            read,
            Stat {
                name: b"sh",
                state: b'S',
                parent: 11387,
                session: Some(7391),
                minor_faults: 120,
                major_faults: 0,
                user_ticks: 31,
                system_ticks: 7,
                threads: 3,
                start_ticks: 139_655,
                resident_pages: 408,
            }
        );
    }

    #[test]
    fn the_id_that_a_process_has_for_itself_is_the_innermost_one() {
        let of = |pids: &str| own_pid(format!("Name:\truby\nPid:\t4711\n{pids}").as_bytes());
        assert_eq!(of("NSpid:\t4711\nNSpgid:\t4700\n"), Some(4711));
        assert_eq!(of("NSpid:\t4711\t7\nNSpgid:\t4700\t1\n"), Some(7));
        assert_eq!((of(""), of("NSpid:\n"), of("NSpid:\tx\n")), (None, None, None));
    }

    #[test]
    fn names_with_spaces_parentheses_and_newlines_do_not_shift_the_fields() {
        for name in ["puma srv tp 001", "(sd-pam)", "a) R 1 (b", ")", "", "x\ny) Z 9", "((((((("] {
            let line = String::from_utf8_lossy(STAT).replacen("(sh)", &format!("({name})"), 1);
            let read = stat(line.as_bytes()).unwrap();
            assert_eq!(read.name, name.as_bytes());
            assert_eq!((read.state, read.parent, read.threads), (b'S', 11387, 3), "{name}");
        }
    }

    #[test]
    fn a_torn_or_foreign_stat_line_is_refused() {
        for text in [&b""[..], b"1 (sh", b"1 (sh) S", b"1 (sh) S x 2 3", b")(", &STAT[..60]] {
            assert_eq!(stat(text), None, "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn run_delay_and_runs_are_the_second_and_third_field_of_schedstat() {
        let expected = Scheduled { run_delay_ns: 1204, runs: 87 };
        assert_eq!(scheduled(b"33012345 1204 87\n"), Some(expected));
        assert_eq!(scheduled(b"33012345 1204\n"), None);
    }

    #[test]
    fn context_switches_are_read_in_spite_of_a_name_that_imitates_them() {
        let status = b"Name:\tvoluntary_ctxt_switches: 9\nUmask:\t0022\nThreads:\t1\n\
            voluntary_ctxt_switches:\t41\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(status), Some((41, 3)));
        assert_eq!(switches(b"Name:\tsh\n"), None);
    }

    #[test]
    fn memory_counts_own_pages_as_the_sum_of_the_private_ones() {
        let rollup = b"5571b4400000-7ffe3beb5000 ---p 00000000 00:00 0                [rollup]\n\
            Rss:                1708 kB\nPss:                 327 kB\nPss_Dirty:           112 kB\n\
            Pss_Anon:            108 kB\n\
            Shared_Clean:       1556 kB\nShared_Dirty:          0 kB\nPrivate_Clean:        40 kB\n\
            Private_Dirty:       112 kB\nPrivate_Hugetlb:       8 kB\n";
        let expected = ProcessMemory {
            pss_bytes: 327 * 1024,
            pss_anonymous_bytes: Some(108 * 1024),
            uss_bytes: (40 + 112 + 8) * 1024,
            rss_bytes: 1708 * 1024,
            ..ProcessMemory::default()
        };
        assert_eq!(memory_rollup(rollup), Some(expected));
        assert_eq!(memory_rollup(b""), None);
    }

    #[test]
    fn cores_are_read_without_the_sum_line_and_with_gaps() {
        let mut read = Vec::new();
        let text = b"cpu  27695 0 5076 241490 428 0 62 25 0 0\n\
            cpu0 13736 1 2215 121281 96 2 12 12 700 0\ncpu3 1 2 3 4 5 6 7 8 0 0\nintr 295891 0\n";
        cores(text, &mut read);
        let (user, system, steal) = (13_737, 2229, 12);
        let first = CoreTicks { core: 0, user, system, idle: 121_281, iowait: 96, steal };
        let last = CoreTicks { core: 3, user: 3, system: 16, idle: 4, iowait: 5, steal: 8 };
        assert_eq!(read, [first, last]);
    }

    #[test]
    fn throttling_is_the_same_from_both_versions_of_control_groups() {
        let v2 = b"usage_usec 5\nnr_periods 40\nnr_throttled 12\nthrottled_usec 3500\n";
        let v1 = b"nr_periods 40\nnr_throttled 12\nthrottled_time 3500000\n";
        assert_eq!(throttled(v2), Some(Throttled { periods: 40, throttled: 12, ns: 3_500_000 }));
        assert_eq!(throttled(v1), throttled(v2));
        assert_eq!(throttled(b"usage_usec 5\n"), None);
    }

    #[test]
    fn pressure_and_overflows_are_found_by_their_names() {
        let pressure = b"some avg10=1.50 avg60=0.20 avg300=0.00 total=68336286\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=77\n";
        assert_eq!(pressure_us(pressure), Some(68_336_286));
        assert_eq!(pressure_us(b"full avg10=0.00 total=77\n"), None);
        let netstat = b"TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 42 43\n\
            IpExt: InNoRoutes\nIpExt: 5\n";
        assert_eq!(listen_overflows(netstat), Some(42));
        assert_eq!(listen_overflows(b"TcpExt: A\nTcpExt: 1\n"), None);
    }

    #[test]
    fn devices_are_read_without_headings() {
        let network = b"Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes packets\n    \
            lo: 9001 21 0 0 0 0 0 0 9002 21 0 0 0 0 0 0\n  \
            eth0:123456789012 2 0 0 0 0 0 0 7 8 0 0\n";
        let device = |name: &str, in_bytes, out_bytes, busy_ms| DeviceCounters {
            name: name.to_string(),
            in_bytes,
            out_bytes,
            busy_ms,
        };
        let expected = [device("lo", 9001, 9002, None), device("eth0", 123_456_789_012, 7, None)];
        assert_eq!(network_counters(network), expected);
        let disks = b" 254       0 vda 5093 1188 300 2029 6417 7107 20 11 0 5288 13212 0 0 0 0\n";
        assert_eq!(disk_counters(disks), [device("vda", 300 * 512, 20 * 512, Some(5288))]);
        assert_eq!(disk_counters(b"254 0 vda\n"), []);
    }

    #[test]
    fn the_machine_says_how_many_run_and_wait_for_a_disk() {
        let stat = b"cpu  1 2 3\nctxt 5\nprocs_running 3\nprocs_blocked 1\nsoftirq 1 2\n";
        assert_eq!(running_and_blocked(stat), Some((3, 1)));
        assert_eq!(running_and_blocked(b"cpu  1 2 3\nprocs_running 3\n"), None);
    }

    #[test]
    fn the_newest_pid_comes_from_loadavg() {
        assert_eq!(newest_pid(b"0.00 0.08 0.14 1/94 10939\n"), Some(10939));
    }

    #[test]
    fn a_title_is_shown_whole_and_a_command_line_without_its_options() {
        for (cmdline, expected) in [
            (
                &b"puma: cluster worker 0: 77 [shop]\0\0\0\0"[..],
                "puma: cluster worker 0: 77 [shop]",
            ),
            (b"/usr/bin/ruby\0/usr/bin/puma\0-w\x002\0", "ruby puma"),
            (b"/usr/sbin/mariadbd\0--password=secret\0", "mariadbd"),
            (b"/usr/bin/pg_dump\0postgres://shop:secret@db\0", "pg_dump"),
            (b"sudo\0KEY=secret\0puma\0", "sudo"),
            (b"sh\0", "sh"),
            (b"", "[kworker/0:1]"),
            (b"evil\x1b[2J title\0", "evil?[2J title"),
        ] {
            assert_eq!(display_name(cmdline, b"kworker/0:1"), expected);
        }
        assert_eq!(title(b"puma\0-w\x002\0\0\0"), "puma -w 2");
    }
}
