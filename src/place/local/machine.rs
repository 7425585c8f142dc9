//! What the server may use of this machine.
//!
//! In: what the user asked for. Out: the [`Machine`] as results name it, which cores go to whom,
//! and the limits to set. Only reads.

use std::io;

use super::cgroup::Limits;
use crate::monitor::host::{self, Host};
use crate::terms::{Bytes, Cores, Machine, MachineDoubt, Warning};

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

/// Shares this machine out.
///
/// # Errors
/// The kernel does not say which cores we may use.
pub fn share(cores: Option<Cores>, memory: Option<Bytes>) -> io::Result<Share> {
    let host = host::read();
    if host.allowed_cores.is_empty() {
        return Err(io::Error::other("sched_getaffinity failed"));
    }
    Ok(share_out(&host, cores, memory))
}

fn share_out(host: &Host, cores: Option<Cores>, memory: Option<Bytes>) -> Share {
    let there = host.machine(None, None);
    let machine = host.machine(cores, memory);
    let mut warnings = Vec::new();
    if let Some(asked) = cores.filter(|asked| asked.get() > there.cores.get()) {
        let (asked_cores, usable_cores) = (asked.get(), there.cores.get());
        warnings.push(MachineDoubt::FewerCores { asked_cores, usable_cores }.into());
    }
    if let Some(asked) = memory.filter(|asked| *asked > there.memory_bytes) {
        let (asked_bytes, usable_bytes) = (asked.0, there.memory_bytes.0);
        warnings.push(MachineDoubt::LessMemory { asked_bytes, usable_bytes }.into());
    }
    let cpus: Vec<usize> = host.allowed_cores.iter().copied().map(usize::from).collect();
    // A part of a core still needs the whole core; the quota does the rest.
    let whole = cores.map_or(cpus.len(), |_| machine.cores.get().ceil() as usize);
    let (server, generator) = cpus.split_at(whole.clamp(1, cpus.len()));
    let is_confined = !generator.is_empty();
    Share {
        server_cpus: if is_confined { server.to_vec() } else { Vec::new() },
        generator_cpus: generator.to_vec(),
        limits: Limits {
            cores: Some(machine.cores.get()).filter(|used| *used < there.cores.get()),
            memory_bytes: Some(machine.memory_bytes.0).filter(|used| *used < there.memory_bytes.0),
        },
        machine,
        warnings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::groups::LimitAt;
    use crate::monitor::host::MemoryState;

    fn host(cpus: u16, quota: Option<f64>) -> Host {
        let total = Bytes(8 << 30);
        let none = Bytes(0);
        Host {
            online_cores: (0..cpus).collect(),
            allowed_cores: (0..cpus).collect(),
            quota: quota.map(|limit| LimitAt { limit, folder: "/q".into() }),
            memory: Some(MemoryState {
                total,
                available: total,
                swap_total: none,
                swap_used: none,
            }),
            memory_limit: None,
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
            let share = share_out(&host(cpus, quota), asked, None);
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
            let share = share_out(&host(4, None), asked, None);
            assert_eq!((share.server_cpus, share.generator_cpus), (server, generator), "{asked:?}");
        }
    }

    #[test]
    fn a_limit_is_set_only_when_it_was_asked_for_and_is_less_than_there_is() {
        let limits = |asked, memory| share_out(&host(2, None), asked, memory).limits;
        assert_eq!(limits(None, None), Limits::default());
        assert_eq!(limits(cores(2.0), Some(Bytes(8 << 30))), Limits::default());
        let expected = Limits { cores: Some(1.5), memory_bytes: Some(1 << 30) };
        assert_eq!(limits(cores(1.5), Some(Bytes(1 << 30))), expected);
    }

    #[test]
    fn asking_for_more_than_there_is_is_said() {
        let share = share_out(&host(2, None), cores(4.0), Some(Bytes(64 << 30)));
        let cores = MachineDoubt::FewerCores { asked_cores: 4.0, usable_cores: 2.0 };
        let (asked_bytes, usable_bytes) = (64 << 30, 8 << 30);
        let memory = MachineDoubt::LessMemory { asked_bytes, usable_bytes };
        assert_eq!(share.warnings, [cores.into(), memory.into()]);
    }
}
