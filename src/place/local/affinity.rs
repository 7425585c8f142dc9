//! Which cores a process may run on.
//!
//! In: core numbers. Tells the kernel; decides nothing (`monitor/host.rs` asks it).

use std::io;

/// These cores as the kernel wants them; `None` when there are none or a number is too high.
pub fn set_of(cpus: &[usize]) -> Option<libc::cpu_set_t> {
    let mut set = empty();
    for &cpu in cpus {
        if cpu >= libc::CPU_SETSIZE as usize {
            return None;
        }
        // SAFETY: the index was checked.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    (!cpus.is_empty()).then_some(set)
}

/// Confines the calling thread, and what it starts from now on. Allowed between fork and exec.
///
/// # Errors
/// None of the cores exists or may be used.
pub fn confine(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: `set` is a whole cpu_set_t.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn empty() -> libc::cpu_set_t {
    // SAFETY: a cpu_set_t is an array of bits, and all zero is the empty set.
    unsafe { std::mem::zeroed() }
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
