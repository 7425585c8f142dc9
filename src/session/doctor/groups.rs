//! Tries whether a control group with limits can be made here, and removes it again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::monitor::host::{self, Group};

/// What a try to make a group showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Permission {
    /// Groups with limits of CPU and memory can be made.
    Both { version: u8 },
    /// A group can be made, but not with all limits.
    Without { version: u8, missing: Vec<&'static str> },
    /// There are groups, but none may be made.
    Refused { version: u8, reason: String },
    /// No control groups are mounted.
    None,
}

/// Makes and removes a group beside our own, or at the top.
pub(super) fn try_out() -> Permission {
    let groups = host::control_groups(std::process::id());
    match (groups.cpu, groups.memory) {
        (Some(cpu), _) if cpu.version == 2 => try_version_2(&cpu),
        (Some(cpu), Some(memory)) => try_version_1(&cpu, &memory),
        (Some(_), None) => Permission::Without { version: 1, missing: vec!["memory"] },
        (None, Some(_)) => Permission::Without { version: 1, missing: vec!["cpu"] },
        (None, None) => Permission::None,
    }
}

/// In version 2 a group that holds processes cannot hand limits on to groups inside it, so the
/// group above ours and the top are tried too.
fn try_version_2(own: &Group) -> Permission {
    let mut best: Option<Vec<&'static str>> = None;
    let mut reason = String::new();
    for parent in own.way_up() {
        let tried = TriedGroup::make(&parent);
        let folder = match &tried {
            Ok(tried) => &tried.0,
            Err(error) => {
                reason = format!("{}: {error}", parent.display());
                continue;
            }
        };
        let files = [("cpu", "cpu.max"), ("memory", "memory.max")];
        let missing: Vec<&'static str> = files
            .iter()
            .filter(|(_, file)| !may_write(&folder.join(file)))
            .map(|(name, _)| *name)
            .collect();
        if missing.is_empty() {
            return Permission::Both { version: 2 };
        }
        if best.as_ref().is_none_or(|best| missing.len() < best.len()) {
            best = Some(missing);
        }
    }
    match best {
        Some(missing) => Permission::Without { version: 2, missing },
        None => Permission::Refused { version: 2, reason },
    }
}

fn try_version_1(cpu: &Group, memory: &Group) -> Permission {
    let mut missing = Vec::new();
    let mut reason = String::new();
    let tries = [("cpu", cpu, "cpu.cfs_quota_us"), ("memory", memory, "memory.limit_in_bytes")];
    for (name, group, file) in tries {
        match TriedGroup::make(&group.folder) {
            Ok(tried) if may_write(&tried.0.join(file)) => {}
            Ok(_) => missing.push(name),
            Err(error) => {
                missing.push(name);
                reason = format!("{}: {error}", group.folder.display());
            }
        }
    }
    match missing.len() {
        0 => Permission::Both { version: 1 },
        2 if !reason.is_empty() => Permission::Refused { version: 1, reason },
        _ => Permission::Without { version: 1, missing },
    }
}

fn may_write(file: &Path) -> bool {
    fs::OpenOptions::new().write(true).open(file).is_ok()
}

/// A group that is removed again.
struct TriedGroup(PathBuf);

impl TriedGroup {
    fn make(parent: &Path) -> std::io::Result<Self> {
        let folder = parent.join(format!("sweetspot-doctor-{}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for TriedGroup {
    fn drop(&mut self) {
        // It is empty and ours; if it cannot be removed there is nothing better to do, and an empty
        // group does no harm.
        drop(fs::remove_dir(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_leaves_no_group_behind() {
        let permission = try_out();
        let groups = host::control_groups(std::process::id());
        let name = format!("sweetspot-doctor-{}", std::process::id());
        for group in [groups.cpu, groups.memory].into_iter().flatten() {
            for folder in group.way_up() {
                assert!(!folder.join(&name).exists(), "{permission:?} left {}", folder.display());
            }
        }
    }
}
