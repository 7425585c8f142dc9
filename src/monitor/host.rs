//! What this machine gives a server: cores, quota, memory, and what the kernel says about itself.
//!
//! In: nothing, or a process id. Out: plain facts; none is judged here.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use memchr::memmem;

use super::groups::{self, ControlGroups, LimitAt};
use super::text;
use crate::terms::{Bytes, Cores, Machine};

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
pub fn cpu_model_from(cpuinfo: &[u8]) -> Option<String> {
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

/// Seconds since 1970, by this machine's clock.
pub fn wall_clock_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Cores that are online, by number.
pub fn online_cores() -> Vec<u16> {
    let mut cores = Vec::new();
    text::cores(&fs::read("/proc/stat").unwrap_or_default(), &mut cores);
    cores.iter().map(|core| core.core).collect()
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
    seen_by(0, &groups::own(Path::new("/")))
}

/// Looks at this machine as that process may use it.
pub fn read_for(pid: u32) -> Host {
    seen_by(pid, &groups::of(pid))
}

fn seen_by(pid: u32, groups: &ControlGroups) -> Host {
    Host {
        online_cores: online_cores(),
        allowed_cores: allowed_cores(pid),
        quota: groups.cpu.as_ref().and_then(groups::quota),
        memory: memory_state(),
        memory_limit: groups.memory.as_ref().and_then(groups::memory_limit),
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
