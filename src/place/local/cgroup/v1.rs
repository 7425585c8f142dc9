//! Control groups, version 1: a folder in each controller's own tree.
//!
//! In: our own folder in one tree and a limit. Out: a folder of ours in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::group::set;

/// Length of a scheduling period, microseconds: the kernel's own default, and what container
/// engines use.
const PERIOD_US: u64 = 100_000;

/// Makes a group below our own and limits it; leaves nothing behind when that fails.
pub(super) fn create(
    parent: &Path,
    name: &str,
    limit: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let folder = parent.join(name);
    make(&folder)?;
    limit(&folder).inspect_err(|_| {
        // The limit's own error is what matters; an empty group harms nobody.
        let _ = fs::remove_dir(&folder);
    })?;
    Ok(folder)
}

/// Makes a group's folder, or takes an old one of the same name over.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn limit_cores(folder: &Path, cores: f64) -> io::Result<()> {
    set(folder, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
    set(folder, "cpu.cfs_quota_us", &quota_us(cores).to_string())
}

/// Microseconds in a period; the kernel takes no less than a millisecond.
pub(super) fn quota_us(cores: f64) -> u64 {
    ((cores * PERIOD_US as f64).round() as u64).max(1000)
}

pub(super) fn limit_memory(folder: &Path, bytes: u64) -> io::Result<()> {
    set(folder, "memory.limit_in_bytes", &bytes.to_string())?;
    // Memory and swap together. Where the kernel does not count swap there is nothing to limit.
    match set(folder, "memory.memsw.limit_in_bytes", &bytes.to_string()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
