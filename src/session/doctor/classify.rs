//! What each figure means for a measurement: ok, warn or bad. Pure.

use std::path::{Path, PathBuf};

use crate::monitor::host::{Host, MemoryState};
use crate::terms::FindingState::{Bad, Ok, Warn};
use crate::terms::{
    BusiestProcess, Bytes, CoresQuota, Finding, FindingState, GroupPermission, LocalPorts,
    MachineCheck, MemoryLeft, NoiseSpread, Priority,
};

/// What the cores did while we did nothing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Busy {
    /// Of the cores that we may use.
    pub cores_busy: Vec<f64>,
    pub steal_s: f64,
    pub length_s: f64,
    pub busiest: Option<BusiestProcess>,
}

fn graded(value: f64, warn_from: f64, bad_from: f64) -> FindingState {
    match value {
        value if value >= bad_from => Bad,
        value if value >= warn_from => Warn,
        _ => Ok,
    }
}

pub(super) fn cores(host: &Host) -> Finding {
    let allowed = host.allowed_cores.len();
    let lower = host.quota.as_ref().filter(|at| at.limit < allowed as f64);
    let is_doubtful = lower.is_some() || host.cores().get() < 2.0;
    let quota =
        lower.map(|at| CoresQuota { cores: at.limit, folder: at.folder.display().to_string() });
    let (available, online) = (allowed as u32, host.online_cores.len() as u32);
    Finding {
        state: if is_doubtful { Warn } else { Ok },
        check: MachineCheck::CoresFound { available, online, quota },
    }
}

pub(super) fn governor(names: Vec<String>) -> Finding {
    let state = if names.iter().all(|name| name == "performance") { Ok } else { Warn };
    Finding { state, check: MachineCheck::GovernorsFound { names } }
}

pub(super) fn steal(busy: &Busy) -> Finding {
    let core_seconds = busy.length_s * busy.cores_busy.len().max(1) as f64;
    let steal_ratio = busy.steal_s / core_seconds;
    Finding {
        state: graded(steal_ratio, 0.01, 0.05),
        check: MachineCheck::StealFound { steal_ratio, over_s: busy.length_s },
    }
}

pub(super) fn load(busy: &Busy) -> Finding {
    let busy_ratio = busy.cores_busy.iter().sum::<f64>() / busy.cores_busy.len().max(1) as f64;
    let state = graded(busy_ratio, 0.05, 0.25);
    let busiest = busy.busiest.clone().filter(|_| state != Ok);
    Finding { state, check: MachineCheck::LoadFound { busy_ratio, over_s: busy.length_s, busiest } }
}

pub(super) fn noise(spread: Option<NoiseSpread>) -> Finding {
    let worse = spread.map(|it| it.within_ratio.max(it.between_ratio));
    Finding {
        state: worse.map_or(Warn, |worse| graded(worse, 0.03, 0.15)),
        check: MachineCheck::NoiseFound { spread },
    }
}

pub(super) fn open_files(limit: u64, raisable_to: u64) -> Finding {
    // A connection each, and a server needs as many on its side.
    let state = match (limit, raisable_to) {
        (_, ..1024) => Bad,
        (..4096, _) => Warn,
        _ => Ok,
    };
    Finding { state, check: MachineCheck::OpenFilesFound { limit, raisable_to } }
}

pub(super) fn ports(ports: Option<LocalPorts>) -> Finding {
    let is_few = |ports: LocalPorts| match ports.is_reused {
        true => ports.count() < 4096,
        false => ports.fresh_per_s() < 1000,
    };
    Finding {
        state: if ports.is_some_and(is_few) { Warn } else { Ok },
        check: MachineCheck::PortsFound { ports },
    }
}

pub(super) fn listen_backlog(somaxconn: Option<u64>) -> Finding {
    let state = match somaxconn {
        Some(0..128) => Bad,
        Some(128..1024) => Warn,
        _ => Ok,
    };
    Finding { state, check: MachineCheck::ListenQueueFound { connections_max: somaxconn } }
}

pub(super) fn clock(source: &str) -> Finding {
    let state = match source {
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" | "pit" => Warn,
        _ => Ok,
    };
    let source = (!source.is_empty()).then(|| source.to_string());
    Finding { state, check: MachineCheck::ClockFound { source } }
}

pub(super) fn control_group(permission: GroupPermission) -> Finding {
    let state = match permission {
        GroupPermission::Both { .. } => Ok,
        _ => Warn,
    };
    Finding { state, check: MachineCheck::ControlGroupsFound { permission } }
}

pub(super) fn left_behind(group_ends_all: bool) -> Finding {
    Finding { state: Ok, check: MachineCheck::LeftBehindFound { group_ends_all } }
}

pub(super) fn priority(permitted: Priority) -> Finding {
    let state = if permitted == Priority::Normal { Warn } else { Ok };
    Finding { state, check: MachineCheck::PriorityFound { permitted } }
}

pub(super) fn memory(memory: Option<MemoryState>, limit: Option<Bytes>) -> Vec<Finding> {
    const MIB: u64 = 1 << 20;
    let Some(memory) = memory else {
        return vec![Finding { state: Ok, check: MachineCheck::MemoryFound { memory: None } }];
    };
    let available = limit.map_or(memory.available, |limit| limit.min(memory.available));
    let state = match available.0 / MIB {
        0..256 => Bad,
        256..1024 => Warn,
        _ => Ok,
    };
    let left = MemoryLeft {
        available_bytes: available.0,
        total_bytes: memory.total.0,
        limit_bytes: limit.filter(|limit| *limit < memory.total).map(|limit| limit.0),
    };
    let is_swapping = memory.swap_used.0 > memory.total.0 / 100;
    let (used_bytes, total_bytes) = (memory.swap_used.0, memory.swap_total.0);
    vec![
        Finding { state, check: MachineCheck::MemoryFound { memory: Some(left) } },
        Finding {
            state: if is_swapping { Warn } else { Ok },
            check: MachineCheck::SwapFound { used_bytes, total_bytes },
        },
    ]
}

pub(super) fn disk(free: Option<Bytes>, folder: &Path) -> Finding {
    let state = match free.map(|free| free.0 >> 20) {
        Some(0..100) => Bad,
        Some(100..1024) => Warn,
        _ => Ok,
    };
    let (free_bytes, folder) = (free.map(|free| free.0), folder.display().to_string());
    Finding { state, check: MachineCheck::DiskFound { free_bytes, folder } }
}

/// A finding for each program that the app needs.
pub(super) fn tools(needed: &[&str], find: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<Finding> {
    let look = |program: &&str| {
        let path = find(program).map(|path| path.display().to_string());
        Finding {
            state: if path.is_some() { Ok } else { Bad },
            check: MachineCheck::ProgramFound { program: program.to_string(), path },
        }
    };
    needed.iter().map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::groups::LimitAt;
    use crate::report::Language;
    use crate::terms::{LimitRefusal, RefusedGroup};

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

    fn in_words(check: &MachineCheck) -> String {
        let said = Language::DATA.say_finding(check);
        format!("{}: {}", said.what, said.figure)
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
        let said = in_words(&cores(&host(64, Some(2.0))).check);
        let quota = "held to 2.00 by the quota in /sys/fs/cgroup/pod";
        assert_eq!(said, format!("cores: 64 of 64 online, {quota}"));
    }

    fn busy(share: f64, steal_s: f64) -> Busy {
        let busiest = BusiestProcess { pid: 77, name: "mariadbd".to_string(), cores: share };
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
        let said = |busy: &Busy| in_words(&load(busy).check);
        assert!(said(&busy(0.5, 0.0)).contains("mariadbd (pid 77), 0.50 cores"));
        assert!(!said(&busy(0.01, 0.0)).contains("mariadbd"));
    }

    #[test]
    fn noise_is_the_worse_of_within_and_between_cores() {
        let spread = |within_ratio, between_ratio| {
            Some(NoiseSpread { within_ratio, between_ratio, cores: 2, repeats: 21 })
        };
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
        let of = |names: &[&str]| governor(names.iter().map(ToString::to_string).collect()).state;
        assert_eq!(of(&[]), Ok);
        assert_eq!(of(&["performance", "performance"]), Ok);
        assert_eq!(of(&["performance", "powersave"]), Warn);
    }

    #[test]
    fn limits_of_files_ports_and_queues_are_graded() {
        for (soft, hard, expected) in
            [(65536, 65536, Ok), (1024, 1 << 20, Warn), (256, 512, Bad), (8192, 8192, Ok)]
        {
            assert_eq!(open_files(soft, hard).state, expected, "{soft}:{hard}");
        }
        for (range, is_reused, expected) in [
            (Some((32768, 60999)), true, Ok),
            (Some((32768, 60999)), false, Warn),
            (Some((1024, 65535)), false, Ok),
            (Some((50000, 50100)), true, Warn),
            (None, false, Ok),
        ] {
            let found = range.map(|(first, last)| LocalPorts { first, last, is_reused });
            assert_eq!(ports(found).state, expected, "{range:?}");
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
        let why = LimitRefusal::LimitRefused { error: "permission denied".into() };
        let tried = vec![RefusedGroup { folder: "/x".into(), why }];
        let found = control_group(GroupPermission::Refused { version: 2, tried });
        assert_eq!(found.state, Warn);
        let said = Language::DATA.say_finding(&found.check);
        assert!(said.figure.contains("(/x: permission denied)"), "{said:?}");
        assert!(said.advice.contains("systemd-run"), "{said:?}");
        assert_eq!(control_group(GroupPermission::Both { version: 1 }).state, Ok);
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
        let missing = MachineCheck::ProgramFound { program: "bundle".into(), path: None };
        assert_eq!(found[1].check, missing);
    }
}
