//! The memory of a container's processes.
//!
//! In: a look. Out: each process's part of what is charged to the container.

use super::look::{Look, Process};
use super::roles::Roles;
use crate::terms::{Configuration, ProcessMemory};

/// Each process's memory. Processes that were forked share pages, and each counts them as its own:
/// so what the container needs is divided in proportion to what each has in use. Where the control
/// group does not tell that, it is what each has in use. How much is a process's alone is not seen
/// (0).
pub fn memory(look: &Look, configuration: Configuration) -> Vec<ProcessMemory> {
    let roles = Roles::of(&look.processes, configuration);
    let in_use: f64 = look.processes.iter().map(|process| process.rss_bytes as f64).sum();
    let scale = match look.needed_bytes() {
        Some(needed) if in_use > 0.0 => needed as f64 / in_use,
        _ => 1.0,
    };
    let of = |process: &Process| ProcessMemory {
        pid: process.pid,
        role: roles.of_process(process.pid).0,
        pss_bytes: (process.rss_bytes as f64 * scale).round() as u64,
        rss_bytes: process.rss_bytes,
        ..ProcessMemory::default()
    };
    look.processes.iter().map(of).collect()
}
