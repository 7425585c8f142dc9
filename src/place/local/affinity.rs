//! Which cores a process may run on.
//!
//! In: core numbers. Tells the kernel; decides nothing (`monitor/host.rs` asks it).

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

/// These cores as the kernel wants them; `None` when there are none or a number is too high.
pub fn set_of(cpus: &[usize]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return None;
        }
        set.set(cpu);
    }
    (!cpus.is_empty()).then_some(set)
}

/// Confines the calling thread, and what it starts from now on. Allowed between fork and exec.
///
/// # Errors
/// None of the cores exists or may be used.
pub fn confine(set: &CpuSet) -> io::Result<()> {
    Ok(sched_setaffinity(None, set)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::host::allowed_cores;

    #[test]
    fn a_thread_confined_to_one_core_sees_one_core() {
        let first = allowed_cores(0)[0];
        let confined = std::thread::spawn(move || {
            confine(&set_of(&[first.into()]).unwrap()).unwrap();
            allowed_cores(0)
        });
        assert_eq!(confined.join().unwrap(), [first]);
    }

    #[test]
    fn no_core_and_cores_beyond_the_kernels_are_no_set() {
        assert!(set_of(&[]).is_none());
        assert!(set_of(&[1 << 20]).is_none());
    }
}
