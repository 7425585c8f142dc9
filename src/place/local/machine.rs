//! What the server may use of this machine.
//!
//! In: what the user asked for. Out: the [`Machine`] as results name it, which cores go to whom,
//! and the limits to set. Only reads.

use std::fs;
use std::io;
use std::path::Path;

use super::affinity;
use super::cgroup::{Limits, Trees};
use crate::terms::{Bytes, Cores, Machine, Warning};

/// The machine, shared out between server and load generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    pub machine: Machine,
    /// The server's cores; empty: all, nothing has to be done.
    pub server_cpus: Vec<usize>,
    /// The cores left over for the load generator; empty: it shares the server's.
    pub generator_cpus: Vec<usize>,
    /// To be set on the server: only what was asked for and is less than there is.
    pub limits: Limits,
    /// What was asked for and is not there.
    pub warnings: Vec<Warning>,
}

/// What there is, before anything was asked for.
#[derive(Debug, Clone)]
struct Available {
    cpus: Vec<usize>,
    /// Control groups' limits on us.
    limits: Limits,
    memory_bytes: u64,
    cpu_model: String,
    kernel: String,
}

/// Looks at this machine.
///
/// # Errors
/// The kernel does not say which cores we may use.
pub fn share(cores: Option<Cores>, memory: Option<Bytes>) -> io::Result<Share> {
    let root = Path::new("/");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let available = Available {
        cpus: affinity::allowed()?,
        limits: Trees::read(root).map(|trees| trees.limits()).unwrap_or_default(),
        memory_bytes: memory_total(&read("proc/meminfo")).unwrap_or(u64::MAX),
        cpu_model: cpu_model(&read("proc/cpuinfo")),
        kernel: read("proc/sys/kernel/osrelease").trim().to_string(),
    };
    Ok(share_out(available, cores, memory))
}

fn share_out(available: Available, cores: Option<Cores>, memory: Option<Bytes>) -> Share {
    let count = available.cpus.len() as f64;
    let cores_there = available.limits.cores.map_or(count, |quota| quota.min(count));
    let cores_used = cores.map_or(cores_there, |asked| asked.get().min(cores_there));
    let memory_there = available
        .limits
        .memory_bytes
        .map_or(available.memory_bytes, |m| m.min(available.memory_bytes));
    let memory_used = memory.map_or(memory_there, |asked| asked.0.min(memory_there));

    let mut warnings = Vec::new();
    if let Some(asked) = cores.filter(|asked| asked.get() > cores_there) {
        warnings.push(Warning::new(
            "fewer_cores",
            format!("{asked} cores were asked for and {cores_there} can be used here"),
            "measure on a machine with as many cores as the server will have",
        ));
    }
    if let Some(asked) = memory.filter(|asked| asked.0 > memory_there) {
        warnings.push(Warning::new(
            "less_memory",
            format!("{asked} of memory was asked for and {} can be used here", Bytes(memory_there)),
            "measure on a machine with as much memory as the server will have",
        ));
    }
    // A part of a core still needs the whole core; the quota does the rest.
    let whole = if cores.is_some() { cores_used.ceil() as usize } else { available.cpus.len() };
    let (server, generator) = available.cpus.split_at(whole.clamp(1, available.cpus.len()));
    let is_confined = !generator.is_empty();
    Share {
        server_cpus: if is_confined { server.to_vec() } else { Vec::new() },
        generator_cpus: generator.to_vec(),
        limits: Limits {
            cores: cores.filter(|_| cores_used < cores_there).map(|_| cores_used),
            memory_bytes: memory.filter(|_| memory_used < memory_there).map(|_| memory_used),
        },
        machine: Machine {
            cpu_model: available.cpu_model,
            cores: Cores::new(cores_used).expect("a thread may run on at least one core"),
            memory_bytes: Bytes(memory_used),
            kernel: available.kernel,
        },
        warnings,
    }
}

/// The first core's name; x86 calls it `model name`, others `Model`, `cpu model` or `Hardware`.
fn cpu_model(cpuinfo: &str) -> String {
    let named = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_string())
        })
    };
    let keys = ["model name", "Model", "cpu model", "Hardware", "CPU part"];
    keys.into_iter().find_map(named).unwrap_or_else(|| "unknown".into())
}

fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available(cpus: usize, quota: Option<f64>) -> Available {
        Available {
            cpus: (0..cpus).collect(),
            limits: Limits { cores: quota, memory_bytes: None },
            memory_bytes: 8 << 30,
            cpu_model: "a model".into(),
            kernel: "6.1.0".into(),
        }
    }

    fn cores(value: f64) -> Option<Cores> {
        Some(Cores::new(value).unwrap())
    }

    #[test]
    fn cores_are_the_least_of_what_is_there_the_quota_and_what_was_asked_for() {
        for (cpus, quota, asked, expected) in [
            (4, None, None, 4.0),
            (4, Some(1.5), None, 1.5),
            (4, Some(8.0), None, 4.0),
            (4, Some(3.0), cores(2.0), 2.0),
            (2, None, cores(16.0), 2.0),
            (4, None, cores(0.5), 0.5),
        ] {
            let share = share_out(available(cpus, quota), asked, None);
            assert_eq!(share.machine.cores.get(), expected, "{cpus} {quota:?} {asked:?}");
        }
    }

    #[test]
    fn the_generator_gets_cores_of_its_own_only_when_some_were_left_to_it() {
        for (asked, server, generator) in [
            (None, vec![], vec![]),
            (cores(4.0), vec![], vec![]),
            (cores(3.0), vec![0, 1, 2], vec![3]),
            (cores(1.5), vec![0, 1], vec![2, 3]),
        ] {
            let share = share_out(available(4, None), asked, None);
            assert_eq!((share.server_cpus, share.generator_cpus), (server, generator), "{asked:?}");
        }
    }

    #[test]
    fn a_limit_is_set_only_when_it_was_asked_for_and_is_less_than_there_is() {
        let limits = |asked, memory| share_out(available(2, None), asked, memory).limits;
        assert_eq!(limits(None, None), Limits::default());
        assert_eq!(limits(cores(2.0), Some(Bytes(8 << 30))), Limits::default());
        let expected = Limits { cores: Some(1.5), memory_bytes: Some(1 << 30) };
        assert_eq!(limits(cores(1.5), Some(Bytes(1 << 30))), expected);
    }

    #[test]
    fn asking_for_more_than_there_is_is_said() {
        let share = share_out(available(2, None), cores(4.0), Some(Bytes(64 << 30)));
        let codes: Vec<&str> = share.warnings.iter().map(|w| w.code.as_str()).collect();
        assert_eq!(codes, ["fewer_cores", "less_memory"]);
    }

    #[test]
    fn the_kernels_tables_are_read() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\n\nprocessor\t: 1\n";
        assert_eq!(cpu_model(text), "Some CPU @ 2.00GHz");
        assert_eq!(cpu_model(""), "unknown");
        assert_eq!(memory_total("MemTotal:       1024 kB\nMemFree: 1 kB\n"), Some(1 << 20));
    }
}
