//! What a bench ran on, for the head of its report.

use std::process::Command;

use sweetspot::monitor::host;

/// The checkout's commit; `unknown` outside one.
pub fn commit() -> String {
    let commit = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let commit = commit.ok().filter(|output| output.status.success());
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    commit.unwrap_or_else(|| "unknown".to_string())
}

/// Processor and memory, and the kernel: a line each.
pub fn hardware() -> [String; 2] {
    let memory = host::memory_state().map_or(0.0, |memory| memory.total.0 as f64 / 1e9);
    let cores = host::online_cores().len();
    [
        format!("{}, {cores} cores, {memory:.1} GB", host::cpu_model()),
        format!("kernel {}", host::kernel()),
    ]
}
