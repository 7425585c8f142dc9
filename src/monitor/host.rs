//! What this machine gives a server: cores, quota, memory, and what the kernel says about itself.
//!
//! In: a process id. Out: plain facts; none is judged here. A quota or limit may stand at any level
//! of the control group tree, so the whole way up is looked at.

use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::text;
use crate::terms::{Bytes, Cores, Machine};

/// Control groups of one process, by what they govern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlGroups {
    /// The folder that governs CPU, and the top of its tree.
    pub cpu: Option<Group>,
    /// The folder that governs memory.
    pub memory: Option<Group>,
}

/// One control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// 1 or 2.
    pub version: u8,
    /// Where its tree is mounted; not above this.
    pub top: PathBuf,
    pub folder: PathBuf,
}

impl Group {
    /// The group and those around it, innermost first.
    pub fn way_up(&self) -> Vec<PathBuf> {
        way_up(&self.folder, &self.top)
    }
}

fn way_up(folder: &Path, top: &Path) -> Vec<PathBuf> {
    folder.ancestors().take_while(|one| one.starts_with(top)).map(Path::to_path_buf).collect()
}

/// A limit, and the folder in which it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitAt<T> {
    pub limit: T,
    pub folder: PathBuf,
}

/// The groups `pid` is in. Empty where there are none or `/proc` hides them.
pub fn control_groups(pid: u32) -> ControlGroups {
    let groups = fs::read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    control_groups_from(&groups, &mounts)
}

/// From the text of `/proc/PID/cgroup` and `/proc/self/mountinfo`.
fn control_groups_from(groups: &[u8], mounts: &[u8]) -> ControlGroups {
    let groups = String::from_utf8_lossy(groups);
    let mounts = String::from_utf8_lossy(mounts);
    let find = |controller: &str| {
        // A line is `number:controllers:path`; version 2 has number 0 and no controllers. On a
        // mixed machine a controller belongs to version 1 when a line names it.
        let mut version_2 = None;
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':');
            let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if controllers.split(',').any(|one| one == controller) {
                return mounted(&mounts, Some(controller), path);
            }
            if controllers.is_empty() {
                version_2 = mounted(&mounts, None, path);
            }
        }
        version_2
    };
    ControlGroups { cpu: find("cpu"), memory: find("memory") }
}

/// The folder of a group: where the tree is mounted, and below it the group's path without the part
/// that the mount itself leaves out (in a container).
fn mounted(mounts: &str, controller: Option<&str>, path: &str) -> Option<Group> {
    for line in mounts.lines() {
        let Some((place, kind)) = line.split_once(" - ") else { continue };
        let mut kind = kind.split(' ');
        let options = match (kind.next()?, controller) {
            ("cgroup2", None) => "",
            ("cgroup", Some(_)) => kind.nth(1).unwrap_or_default(),
            _ => continue,
        };
        if controller.is_some_and(|name| !options.split(',').any(|option| option == name)) {
            continue;
        }
        let mut place = place.split(' ').skip(3);
        let (root, top) = (place.next()?, place.next()?);
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        let version = if controller.is_some() { 1 } else { 2 };
        return Some(Group { version, top: top.into(), folder: Path::new(top).join(below) });
    }
    None
}

/// The quota in cores that stands in this very folder, version 2 or 1.
pub fn quota_in(folder: &Path) -> Option<f64> {
    if let Ok(max) = fs::read(folder.join("cpu.max")) {
        let mut fields = text::fields(&max);
        return cores(text::number(fields.next()?)?, text::number(fields.next()?)?);
    }
    let read = |name: &str| first_number(&folder.join(name));
    cores(read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
}

fn cores(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

fn first_number(file: &Path) -> Option<u64> {
    // `max` and `-1`, both "no limit", are no numbers.
    text::number(text::fields(&fs::read(file).ok()?).next()?)
}

/// The smallest quota on the way up.
pub fn quota(group: &Group) -> Option<LimitAt<f64>> {
    let limits = group.way_up().into_iter().filter_map(|folder| {
        let limit = quota_in(&folder)?;
        Some(LimitAt { limit, folder })
    });
    limits.min_by(|a, b| a.limit.total_cmp(&b.limit))
}

/// The smallest memory limit on the way up.
pub fn memory_limit(group: &Group) -> Option<LimitAt<Bytes>> {
    // Version 1 writes "no limit" as a number near the top of the range.
    const UNLIMITED: u64 = 1 << 60;
    let limits = group.way_up().into_iter().filter_map(|folder| {
        let limit = first_number(&folder.join("memory.max"))
            .or_else(|| first_number(&folder.join("memory.limit_in_bytes")))?;
        (limit < UNLIMITED).then_some(LimitAt { limit: Bytes(limit), folder })
    });
    limits.min_by_key(|at| at.limit)
}

/// Core numbers that `pid` may run on (0: this process), in order; empty when it cannot be asked.
pub fn allowed_cores(pid: u32) -> Vec<u16> {
    // 8192 cores; the kernel refuses a mask smaller than its own.
    let mut mask = [0u64; 128];
    let pid = pid as libc::pid_t;
    // SAFETY: the kernel writes at most the given length into a buffer of that length.
    let result = unsafe {
        libc::sched_getaffinity(pid, std::mem::size_of_val(&mask), mask.as_mut_ptr().cast())
    };
    if result < 0 {
        return Vec::new();
    }
    (0..8192u16).filter(|core| mask[usize::from(core / 64)] >> (core % 64) & 1 == 1).collect()
}

/// Memory and swap of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryState {
    pub total: Bytes,
    /// What new processes can have without swapping.
    pub available: Bytes,
    pub swap_total: Bytes,
    pub swap_used: Bytes,
}

/// From the text of `/proc/meminfo`.
fn memory_state_from(text: &[u8]) -> Option<MemoryState> {
    let bytes = |label: &[u8]| text::labelled(text, label).map(|kilobytes| kilobytes * 1024);
    let swap_total = bytes(b"\nSwapTotal:").unwrap_or(0);
    let swap_free = bytes(b"\nSwapFree:").unwrap_or(0);
    Some(MemoryState {
        total: Bytes(bytes(b"\nMemTotal:")?),
        available: Bytes(bytes(b"\nMemAvailable:")?),
        swap_total: Bytes(swap_total),
        swap_used: Bytes(swap_total.saturating_sub(swap_free)),
    })
}

/// What is free now.
pub fn memory_state() -> Option<MemoryState> {
    memory_state_from(&fs::read("/proc/meminfo").ok()?)
}

/// The model from the text of `/proc/cpuinfo`. ARM has no name there, only numbers.
fn cpu_model_from(cpuinfo: &[u8]) -> Option<String> {
    let value = |label: &[u8]| {
        let rest = &cpuinfo[memmem::find(cpuinfo, label)? + label.len()..];
        let line = text::lines(rest).next()?;
        let value = &line[memchr::memchr(b':', line)? + 1..];
        Some(String::from_utf8_lossy(value).trim().to_string())
    };
    value(b"model name").or_else(|| {
        let part = value(b"CPU part")?;
        Some(format!("ARM implementer {} part {part}", value(b"CPU implementer")?))
    })
}

/// The CPU's model as the kernel names it.
pub fn cpu_model() -> String {
    let cpuinfo = fs::read("/proc/cpuinfo").unwrap_or_default();
    cpu_model_from(&cpuinfo).unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH))
}

/// The kernel's release.
pub fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if release.trim().is_empty() { "unknown".to_string() } else { release.trim().to_string() }
}

/// Load averages over 1, 5 and 15 minutes.
pub fn load_averages() -> Option<[f64; 3]> {
    text::load_averages(&fs::read("/proc/loadavg").ok()?)
}

/// Cores that are online, by number.
pub fn online_cores() -> Vec<u16> {
    let mut cores = Vec::new();
    text::cores(&fs::read("/proc/stat").unwrap_or_default(), &mut cores);
    cores.iter().map(|core| core.core).collect()
}

/// Seconds stolen by the hypervisor since boot, all cores.
pub fn stolen_s() -> f64 {
    let mut cores = Vec::new();
    text::cores(&fs::read("/proc/stat").unwrap_or_default(), &mut cores);
    let ticks: u64 = cores.iter().map(|core| core.steal).sum();
    ticks as f64 * super::process::tick_ns() as f64 / 1e9
}

/// What a server started by this process can have.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub online_cores: Vec<u16>,
    pub allowed_cores: Vec<u16>,
    pub quota: Option<LimitAt<f64>>,
    pub memory: Option<MemoryState>,
    pub memory_limit: Option<LimitAt<Bytes>>,
    pub cpu_model: String,
    pub kernel: String,
}

/// Looks at this machine as this process may use it.
pub fn read() -> Host {
    let groups = control_groups(std::process::id());
    Host {
        online_cores: online_cores(),
        allowed_cores: allowed_cores(0),
        quota: groups.cpu.as_ref().and_then(quota),
        memory: memory_state(),
        memory_limit: groups.memory.as_ref().and_then(memory_limit),
        cpu_model: cpu_model(),
        kernel: kernel(),
    }
}

impl Host {
    /// Cores a server may use: the smaller of affinity and quota.
    pub fn cores(&self) -> Cores {
        let allowed = match (self.allowed_cores.len(), self.online_cores.len()) {
            (0, 0) => 1,
            (0, online) => online,
            (allowed, _) => allowed,
        } as f64;
        let quota = self.quota.as_ref().map_or(f64::INFINITY, |at| at.limit);
        Cores::new(allowed.min(quota)).unwrap_or_else(|_| {
            Cores::new(allowed).expect("at least one core is counted, so it is above zero")
        })
    }

    /// Memory a server may use: the smaller of the machine's and the control group's.
    pub fn memory_bytes(&self) -> Bytes {
        let total = self.memory.map_or(Bytes(0), |memory| memory.total);
        match &self.memory_limit {
            Some(at) if total.0 == 0 || at.limit < total => at.limit,
            _ => total,
        }
    }

    /// The machine as records name it, with what the user asked to be held to.
    pub fn machine(&self, cores: Option<Cores>, memory: Option<Bytes>) -> Machine {
        let own = self.cores();
        let smaller = cores.filter(|asked| asked.get() < own.get());
        let available = self.memory_bytes();
        Machine {
            cpu_model: self.cpu_model.clone(),
            cores: smaller.unwrap_or(own),
            memory_bytes: memory.map_or(available, |asked| asked.min(available)),
            kernel: self.kernel.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED_GROUPS: &[u8] = b"4:memory:/job/27e0\n2:cpuacct,cpu:/\n1:name=systemd:/\n0::/x\n";
    const MIXED_MOUNTS: &[u8] = b"\
        30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpuacct,cpu\n\
        31 25 0:27 /job /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_1_controllers_are_found_where_they_are_mounted() {
        let groups = control_groups_from(MIXED_GROUPS, MIXED_MOUNTS);
        let cpu = groups.cpu.unwrap();
        assert_eq!((cpu.version, cpu.folder), (1, "/sys/fs/cgroup/cpu/".into()));
        // The mount shows the tree from /job down, so the rest of the path stands below it.
        assert_eq!(groups.memory.unwrap().folder, Path::new("/sys/fs/cgroup/memory/27e0"));
    }

    #[test]
    fn version_2_has_one_group_for_everything() {
        let mounts =
            b"29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        let groups = control_groups_from(b"0::/system.slice/app.service\n", mounts);
        let cpu = groups.cpu.clone().unwrap();
        assert_eq!(cpu.version, 2);
        let way = ["app.service", "", ".."].map(|part| {
            Path::new("/sys/fs/cgroup/system.slice").join(part).components().collect::<PathBuf>()
        });
        assert_eq!(cpu.way_up()[..2], way[..2]);
        assert_eq!(cpu.way_up().last().unwrap(), Path::new("/sys/fs/cgroup"));
        assert_eq!(groups.memory, groups.cpu);
        assert_eq!(control_groups_from(b"", b""), ControlGroups::default());
    }

    fn group(parts: &[(&str, &[(&str, &str)])]) -> (tempfile::TempDir, Group) {
        let top = tempfile::tempdir().unwrap();
        let mut folder = top.path().to_path_buf();
        for (name, files) in parts {
            folder = folder.join(name);
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in *files {
                fs::write(folder.join(file), text).unwrap();
            }
        }
        let group = Group { version: 2, top: top.path().to_path_buf(), folder };
        (top, group)
    }

    #[test]
    fn the_smallest_quota_on_the_way_up_counts() {
        let (_top, found) = group(&[
            ("machine", &[("cpu.max", "max 100000\n")]),
            ("pod", &[("cpu.max", "150000 100000\n"), ("memory.max", "1073741824\n")]),
            ("app", &[("cpu.max", "400000 100000\n"), ("memory.max", "max\n")]),
        ]);
        let quota = quota(&found).unwrap();
        assert_eq!(quota.limit, 1.5);
        assert!(quota.folder.ends_with("machine/pod"));
        assert_eq!(memory_limit(&found).unwrap().limit, Bytes(1 << 30));
    }

    #[test]
    fn version_1_says_no_limit_with_special_numbers() {
        let unlimited = "9223372036854771712\n";
        let (_top, found) = group(&[(
            "app",
            &[
                ("cpu.cfs_quota_us", "-1\n"),
                ("cpu.cfs_period_us", "100000\n"),
                ("memory.limit_in_bytes", unlimited),
            ],
        )]);
        assert_eq!(quota(&found), None);
        assert_eq!(memory_limit(&found), None);
        fs::write(found.folder.join("cpu.cfs_quota_us"), "50000\n").unwrap();
        assert_eq!(quota(&found).unwrap().limit, 0.5);
    }

    #[test]
    fn memory_and_model_are_read_from_what_the_kernel_writes() {
        let text = b"MemTotal:        8152840 kB\nMemFree:  100 kB\nMemAvailable:    6000000 kB\n\
            SwapTotal:       1000 kB\nSwapFree:         400 kB\n";
        let memory = memory_state_from(text).unwrap();
        assert_eq!(memory.total, Bytes(8_152_840 * 1024));
        assert_eq!(memory.swap_used, Bytes(600 * 1024));
        let x86 = b"processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nstepping\t: 1\n";
        assert_eq!(cpu_model_from(x86).unwrap(), "AMD EPYC");
        let arm = b"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model_from(arm).unwrap(), "ARM implementer 0x41 part 0xd0c");
    }

    fn host(allowed: u16, quota: Option<f64>, limit: Option<u64>) -> Host {
        let total = Bytes(8 << 30);
        let none = Bytes(0);
        Host {
            online_cores: (0..64).collect(),
            allowed_cores: (0..allowed).collect(),
            quota: quota.map(|limit| LimitAt { limit, folder: "/q".into() }),
            memory: Some(MemoryState {
                total,
                available: total,
                swap_total: none,
                swap_used: none,
            }),
            memory_limit: limit.map(|limit| LimitAt { limit: Bytes(limit), folder: "/m".into() }),
            cpu_model: "x".into(),
            kernel: "6.1".into(),
        }
    }

    #[test]
    fn two_cores_of_a_quota_on_a_large_machine_are_two() {
        for (allowed, quota, asked, expected) in [
            (64, Some(2.0), None, 2.0),
            (4, Some(8.0), None, 4.0),
            (4, None, Some(2.0), 2.0),
            (4, None, Some(16.0), 4.0),
            (0, None, None, 64.0),
        ] {
            let asked = asked.map(|cores| Cores::new(cores).unwrap());
            let machine = host(allowed, quota, None).machine(asked, None);
            assert_eq!(machine.cores.get(), expected, "{allowed} {quota:?} {asked:?}");
        }
        let machine = host(4, None, Some(2 << 30)).machine(None, Some(Bytes(3 << 30)));
        assert_eq!(machine.memory_bytes, Bytes(2 << 30));
    }

    #[test]
    fn this_machine_has_cores_and_a_name() {
        let host = read();
        assert!(!host.allowed_cores.is_empty() && !host.cpu_model.is_empty());
        assert!(host.cores().get() > 0.0 && host.memory_bytes().0 > 0);
    }
}
