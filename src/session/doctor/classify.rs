//! What each figure means for a measurement: ok, warn or bad, and how to mend it. Pure.

use std::path::{Path, PathBuf};

use super::probe::Spread;
use crate::load::Priority;
use crate::monitor::host::{Host, MemoryState};
use crate::place::local::cgroup::Permission;
use crate::terms::FindingState::{Bad, Ok, Warn};
use crate::terms::{Bytes, Finding, FindingState};

/// The process that used most.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Busiest {
    pub pid: u32,
    pub name: String,
    pub cores: f64,
}

/// What the cores did while we did nothing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Busy {
    /// Of the cores that we may use.
    pub cores_busy: Vec<f64>,
    pub steal_s: f64,
    pub length_s: f64,
    pub busiest: Option<Busiest>,
}

/// Frequency governor of each core that shows one.
pub(super) struct Governors(pub Vec<String>);

/// Limits of open files.
pub(super) struct OpenFiles {
    pub soft: u64,
    pub hard: u64,
}

/// Ports for outgoing connections.
pub(super) struct Ports {
    /// First and last.
    pub range: Option<(u32, u32)>,
    /// Ports of closed connections are taken again at once, at least on loopback.
    pub is_reused: bool,
}

fn graded(value: f64, warn_from: f64, bad_from: f64) -> FindingState {
    match value {
        value if value >= bad_from => Bad,
        value if value >= warn_from => Warn,
        _ => Ok,
    }
}

fn finding(code: &str, state: FindingState, what: &str, figure: String, advice: &str) -> Finding {
    Finding::new(code, state, what, figure, if state == Ok { "" } else { advice })
}

pub(super) fn cores(host: &Host) -> Finding {
    let (allowed, online) = (host.allowed_cores.len(), host.online_cores.len());
    let figure = format!("{allowed} of {online} online");
    let what = "cores";
    match &host.quota {
        Some(at) if at.limit < allowed as f64 => Finding::new(
            "cores",
            Warn,
            what,
            format!("{figure}, held to {:.2} by the quota in {}", at.limit, at.folder.display()),
            "servers that count cores see all of them and start too many workers; name the quota \
             with --cpus, or give whole cores (cpuset) instead of a quota",
        ),
        _ if host.cores().get() < 2.0 => Finding::new(
            "cores",
            Warn,
            what,
            figure,
            "the load generator shares the only core with the server; its share is shown in every \
             trial, a second core would keep them apart",
        ),
        _ => Finding::ok("cores", what, figure),
    }
}

pub(super) fn governor(governors: &Governors) -> Finding {
    let what = "frequency governor";
    let mut names = governors.0.clone();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return Finding::ok("governor", what, "not visible (the host or firmware decides)");
    }
    let state = if names == ["performance"] { Ok } else { Warn };
    let advice = "`cpupower frequency-set -g performance` as root, so that an idle core is not \
                  slow at first";
    finding("governor", state, what, names.join(", "), advice)
}

pub(super) fn steal(busy: &Busy) -> Finding {
    let core_seconds = busy.length_s * busy.cores_busy.len().max(1) as f64;
    let share = busy.steal_s / core_seconds;
    let figure = format!("{:.1} % of {:.1} s", share * 100.0, busy.length_s);
    let advice = "the host gives this machine's cores to others; measure on dedicated cores or at \
                  a quieter time";
    finding("steal", graded(share, 0.01, 0.05), "steal", figure, advice)
}

pub(super) fn load(busy: &Busy) -> Finding {
    let share = busy.cores_busy.iter().sum::<f64>() / busy.cores_busy.len().max(1) as f64;
    let state = graded(share, 0.05, 0.25);
    let busiest = busy.busiest.as_ref().filter(|_| state != Ok);
    let by = busiest.map(|Busiest { pid, name, cores }| {
        format!(", most by {name} (pid {pid}), {cores:.2} cores")
    });
    let (percent, by) = (share * 100.0, by.unwrap_or_default());
    let figure = format!("cores {percent:.0} % busy over {:.1} s{by}", busy.length_s);
    let advice =
        "other programs take what the server would use; end them or wait until they are done";
    finding("load", state, "load by others", figure, advice)
}

pub(super) fn noise(spread: Option<Spread>) -> Finding {
    let what = "A/A noise";
    let Some(spread) = spread else {
        let advice = "allow this program to pin a thread to a core";
        return Finding::new("noise", Warn, what, "could not be measured", advice);
    };
    let Spread { within, between, cores, repeats } = spread;
    let figure = format!(
        "the same computation varies by {:.1} % on a core and {:.1} % between cores ({repeats} \
         times on {cores})",
        within * 100.0,
        between * 100.0
    );
    let advice = "differences between settings below this cannot be told from chance; look for \
                  other load, frequency changes, or cores of different speed";
    finding("noise", graded(within.max(between), 0.03, 0.15), what, figure, advice)
}

pub(super) fn open_files(limit: OpenFiles) -> Finding {
    // A connection each, and a server needs as many on its side.
    let state = match limit {
        OpenFiles { hard, .. } if hard < 1024 => Bad,
        OpenFiles { soft, .. } if soft < 4096 => Warn,
        _ => Ok,
    };
    let figure = match limit.hard {
        hard if hard > limit.soft => format!("{} (may be raised to {hard})", limit.soft),
        _ => limit.soft.to_string(),
    };
    let advice = "`ulimit -n 65536` in this shell before starting, or a higher nofile in \
                  /etc/security/limits.conf; each connection takes one";
    finding("open_files", state, "open files", figure, advice)
}

pub(super) fn ports(ports: &Ports) -> Finding {
    let what = "local ports";
    let Some((first, last)) = ports.range else {
        return Finding::ok("ports", what, "not visible");
    };
    let count = (last + 1).saturating_sub(first);
    // A port rests for a minute after the side that closes first has closed.
    let rate = count / 60;
    let (state, reuse) = match ports.is_reused {
        true => (if count < 4096 { Warn } else { Ok }, "taken again at once".to_string()),
        false => (
            if rate < 1000 { Warn } else { Ok },
            format!("enough for {rate} fresh connections/s for longer than a minute"),
        ),
    };
    let advice = "`sysctl net.ipv4.tcp_tw_reuse=1` and \
                  `sysctl net.ipv4.ip_local_port_range='10240 65535'` as root, or a unix socket";
    finding("ports", state, what, format!("{count} ({first} to {last}), {reuse}"), advice)
}

pub(super) fn listen_backlog(somaxconn: Option<u64>) -> Finding {
    let what = "listen queue limit";
    let Some(limit) = somaxconn else {
        return Finding::ok("somaxconn", what, "not visible");
    };
    let state = match limit {
        0..128 => Bad,
        128..1024 => Warn,
        _ => Ok,
    };
    let advice = "`sysctl net.core.somaxconn=4096` as root; servers ask for queues of 1024 and get \
                  no more than this, so bursts are refused early";
    finding("somaxconn", state, what, limit.to_string(), advice)
}

pub(super) fn clock(source: &str) -> Finding {
    let what = "clock source";
    let state = match source {
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" | "pit" => Warn,
        _ => Ok,
    };
    let figure = if source.is_empty() { "not visible" } else { source };
    let advice = "reading the time costs a microsecond or more with this one; boot with \
                  clocksource=tsc if the machine's TSC is stable";
    finding("clock", state, what, figure.to_string(), advice)
}

pub(super) fn control_group(permission: &Permission) -> Finding {
    let what = "control groups";
    let advice = "run as root, or under `systemd-run --user --scope -p Delegate=yes`; without it \
                  --cpus and --memory are not enforced as quota and limit";
    let (state, figure) = match permission {
        Permission::Both { version } => {
            (Ok, format!("version {version}, limits of CPU and memory can be set"))
        }
        Permission::Without { version, missing } => {
            (Warn, format!("version {version}, no limit can be set of {}", missing.join(" and ")))
        }
        Permission::Refused { version, reason } => {
            (Warn, format!("version {version}, none can be made ({reason})"))
        }
        Permission::None => (Warn, "not mounted".to_string()),
    };
    finding("control_groups", state, what, figure, advice)
}

pub(super) fn priority(priority: Priority) -> Finding {
    let (state, figure) = match priority {
        Priority::RealTime => (Ok, "SCHED_FIFO allowed"),
        Priority::Nice => (Ok, "nice allowed, SCHED_FIFO not"),
        Priority::Normal => (Warn, "may not be raised"),
    };
    let advice = "run as root, or `setcap cap_sys_nice+ep` on this program, so that the load is \
                  sent in time on a busy machine";
    finding("priority", state, "priority", figure.to_string(), advice)
}

pub(super) fn memory(memory: Option<MemoryState>, limit: Option<Bytes>) -> Vec<Finding> {
    const MIB: u64 = 1 << 20;
    let Some(memory) = memory else {
        return vec![Finding::ok("memory", "memory", "not visible")];
    };
    let available = limit.map_or(memory.available, |limit| limit.min(memory.available));
    let state = match available.0 / MIB {
        0..256 => Bad,
        256..1024 => Warn,
        _ => Ok,
    };
    let mut figure = format!("{available} available of {}", memory.total);
    if let Some(limit) = limit.filter(|limit| *limit < memory.total) {
        figure += &format!(", limit {limit}");
    }
    let advice =
        "end programs that hold memory: a server that swaps or is killed measures nothing else";
    let is_swapping = memory.swap_used.0 > memory.total.0 / 100;
    let swap = match memory.swap_total.0 {
        0 => "none".to_string(),
        _ => format!("{} of {} in use", memory.swap_used, memory.swap_total),
    };
    let swap_advice = "`swapoff -a` as root while measuring: pages that come back from disk look \
                       like slow requests";
    vec![
        finding("memory", state, "memory", figure, advice),
        finding("swap", if is_swapping { Warn } else { Ok }, "swap", swap, swap_advice),
    ]
}

pub(super) fn disk(free: Option<Bytes>, folder: &Path) -> Finding {
    let Some(free) = free else {
        return Finding::ok("disk", "disk", "not visible");
    };
    let state = match free.0 >> 20 {
        0..100 => Bad,
        100..1024 => Warn,
        _ => Ok,
    };
    let advice = "free some space, or put the store elsewhere with --store";
    finding("disk", state, "disk", format!("{free} free for {}", folder.display()), advice)
}

/// A finding for each program that the app needs.
pub(super) fn tools(
    needed: &[&'static str],
    find: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<Finding> {
    let look = |program: &&'static str| match find(program) {
        Some(path) => Finding::ok("tool", program, path.display().to_string()),
        None => {
            let advice =
                format!("the app in this folder needs `{program}`: install it or put it on PATH");
            Finding::new("tool", Bad, program, "missing", advice)
        }
    };
    needed.iter().map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::groups::{LimitAt, Version};

    fn host(allowed: u16, quota: Option<f64>) -> Host {
        Host {
            online_cores: (0..64).collect(),
            allowed_cores: (0..allowed).collect(),
            quota: quota.map(|limit| LimitAt { limit, folder: "/sys/fs/cgroup/pod".into() }),
            memory: None,
            memory_limit: None,
            cpu_model: String::new(),
            kernel: String::new(),
        }
    }

    #[test]
    fn a_quota_below_the_visible_cores_is_a_doubt_and_so_is_a_single_core() {
        for (allowed, quota, expected) in [
            (4, None, Ok),
            (4, Some(4.0), Ok),
            (64, Some(2.0), Warn),
            (1, None, Warn),
            (2, Some(0.5), Warn),
        ] {
            assert_eq!(cores(&host(allowed, quota)).state, expected, "{allowed} {quota:?}");
        }
        let figure = cores(&host(64, Some(2.0))).figure;
        assert_eq!(figure, "64 of 64 online, held to 2.00 by the quota in /sys/fs/cgroup/pod");
    }

    fn busy(share: f64, steal_s: f64) -> Busy {
        let busiest = Busiest { pid: 77, name: "mariadbd".to_string(), cores: share };
        Busy { cores_busy: vec![share; 4], steal_s, length_s: 1.0, busiest: Some(busiest) }
    }

    #[test]
    fn steal_and_load_are_graded_by_their_share_of_the_cores() {
        for (steal_s, expected) in [(0.0, Ok), (0.03, Ok), (0.1, Warn), (0.3, Bad)] {
            assert_eq!(steal(&busy(0.0, steal_s)).state, expected, "{steal_s} s of 4 core seconds");
        }
        for (share, expected) in [(0.01, Ok), (0.06, Warn), (0.5, Bad)] {
            assert_eq!(load(&busy(share, 0.0)).state, expected, "{share}");
        }
        assert!(load(&busy(0.5, 0.0)).figure.contains("mariadbd (pid 77), 0.50 cores"));
        assert!(!load(&busy(0.01, 0.0)).figure.contains("mariadbd"));
    }

    #[test]
    fn noise_is_the_worse_of_within_and_between_cores() {
        let spread = |within, between| Some(Spread { within, between, cores: 2, repeats: 21 });
        for (spread, expected) in [
            (spread(0.004, 0.01), Ok),
            (spread(0.004, 0.05), Warn),
            (spread(0.2, 0.0), Bad),
            (None, Warn),
        ] {
            assert_eq!(noise(spread).state, expected, "{spread:?}");
        }
    }

    #[test]
    fn governors_other_than_performance_are_doubts() {
        let of = |names: &[&str]| {
            governor(&Governors(names.iter().map(ToString::to_string).collect())).state
        };
        assert_eq!(of(&[]), Ok);
        assert_eq!(of(&["performance", "performance"]), Ok);
        assert_eq!(of(&["performance", "powersave"]), Warn);
    }

    #[test]
    fn limits_of_files_ports_and_queues_are_graded() {
        for (soft, hard, expected) in
            [(65536, 65536, Ok), (1024, 1 << 20, Warn), (256, 512, Bad), (8192, 8192, Ok)]
        {
            assert_eq!(open_files(OpenFiles { soft, hard }).state, expected, "{soft}:{hard}");
        }
        for (range, is_reused, expected) in [
            (Some((32768, 60999)), true, Ok),
            (Some((32768, 60999)), false, Warn),
            (Some((1024, 65535)), false, Ok),
            (Some((50000, 50100)), true, Warn),
            (None, false, Ok),
        ] {
            assert_eq!(ports(&Ports { range, is_reused }).state, expected, "{range:?}");
        }
        for (limit, expected) in [(Some(4096), Ok), (Some(128), Warn), (Some(16), Bad), (None, Ok)]
        {
            assert_eq!(listen_backlog(limit).state, expected, "{limit:?}");
        }
    }

    #[test]
    fn slow_clocks_are_doubts() {
        for (source, expected) in [
            ("tsc", Ok),
            ("kvm-clock", Ok),
            ("arch_sys_counter", Ok),
            ("hpet", Warn),
            ("acpi_pm", Warn),
        ] {
            assert_eq!(clock(source).state, expected, "{source}");
        }
    }

    #[test]
    fn groups_and_priority_that_are_refused_say_how_to_get_them() {
        let refused =
            Permission::Refused { version: Version::Two, reason: "/x: permission denied".into() };
        let found = control_group(&refused);
        assert_eq!(found.state, Warn);
        assert!(found.figure.contains("/x") && found.advice.contains("systemd-run"));
        assert_eq!(control_group(&Permission::Both { version: Version::One }).advice, "");
        assert_eq!(priority(Priority::Normal).state, Warn);
        assert_eq!(priority(Priority::RealTime).state, Ok);
    }

    #[test]
    fn memory_is_judged_by_the_limit_where_there_is_one() {
        let of = |available: u64, swap_used: u64, limit: Option<u64>| {
            let state = MemoryState {
                total: Bytes(8 << 30),
                available: Bytes(available),
                swap_total: Bytes(2 << 30),
                swap_used: Bytes(swap_used),
            };
            memory(Some(state), limit.map(Bytes)).iter().map(|one| one.state).collect::<Vec<_>>()
        };
        assert_eq!(of(6 << 30, 0, None), [Ok, Ok]);
        assert_eq!(of(6 << 30, 1 << 30, None), [Ok, Warn]);
        assert_eq!(of(6 << 30, 0, Some(512 << 20)), [Warn, Ok]);
        assert_eq!(of(100 << 20, 0, None), [Bad, Ok]);
    }

    #[test]
    fn a_full_disk_and_a_missing_program_are_bad() {
        let of = |free: u64| disk(Some(Bytes(free)), Path::new(".sweetspot")).state;
        assert_eq!([of(10 << 30), of(500 << 20), of(1 << 20)], [Ok, Warn, Bad]);
        let only_ruby = |name: &str| (name == "ruby").then(|| PathBuf::from("/usr/bin/ruby"));
        let found = tools(&["ruby", "bundle"], &only_ruby);
        assert_eq!(found.iter().map(|one| one.state).collect::<Vec<_>>(), [Ok, Bad]);
        assert!(found[1].advice.contains("bundle"));
    }
}
