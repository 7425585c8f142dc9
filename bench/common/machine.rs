//! What a bench ran on, for the head of its report, and by what.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;

use sweetspot::monitor::host;

use super::Result;

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

/// All of it in one line.
pub fn line() -> String {
    format!("commit {}; {}", commit(), hardware().join("; "))
}

/// Tells one build of the benches, and of another program, from the next.
pub fn fingerprint(program: Option<&Path>) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(std::env::current_exe()?)?.hash(&mut hasher);
    if let Some(program) = program {
        fs::read(program)?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// What makes figures of a program comparable: the program of this version, the benches, and the
/// machine.
pub fn build(version: &str, program: &Path) -> Result<String> {
    let (cpu, kernel) = (host::cpu_model(), host::kernel());
    Ok(format!("{version} {} on {cpu}, kernel {kernel}", fingerprint(Some(program))?))
}
