//! Could a control group with limits be made here? A try that is removed again at once.
//!
//! In: our own groups. Out: a [`Permission`]. Changes no limit and switches no controller on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::group::is_writable;
use super::v2::check_may_join;
use crate::monitor::groups::{ControlGroups, Group, Version};
use crate::terms::LimitRefusal;

/// What a try to make a group showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Groups with limits of CPU and memory can be made.
    Both { version: Version },
    /// A group can be made, but not with all limits.
    Without { version: Version, missing: Vec<&'static str> },
    /// There are groups, but none may be made in these folders.
    Refused { version: Version, tried: Vec<(PathBuf, LimitRefusal)> },
    /// No control groups are mounted.
    None,
}

/// Makes and removes a group where [`create`](super::create) would make one.
pub fn permission(own: &ControlGroups) -> Permission {
    let without = |missing| Permission::Without { version: Version::One, missing: vec![missing] };
    match (&own.cpu, &own.memory) {
        (Some(cpu), _) if cpu.version == Version::Two => try_version_2(cpu),
        (Some(cpu), Some(memory)) => try_version_1(cpu, memory),
        (Some(_), None) => without("memory"),
        (None, Some(_)) => without("cpu"),
        (None, None) => Permission::None,
    }
}

/// Would a group made here end all of its processes at once?
pub fn may_kill(own: &ControlGroups) -> bool {
    let can = |group: &Group| {
        let tried = check_may_join(&group.folder).and_then(|()| Ok(Tried::make(&group.folder)?));
        tried.is_ok_and(|tried| tried.0.join("cgroup.kill").exists())
    };
    own.unified.as_ref().is_some_and(can)
}

fn try_version_2(own: &Group) -> Permission {
    let version = Version::Two;
    let mut best: Option<Vec<&'static str>> = None;
    let mut first = None;
    for parent in own.way_up() {
        let tried = match check_may_join(parent).and_then(|()| Ok(Tried::make(parent)?)) {
            Ok(tried) => tried,
            Err(refusal) => {
                first = first.or(Some((parent.to_path_buf(), refusal)));
                continue;
            }
        };
        let may_limit = |controller: &str, file: &str| {
            is_writable(&tried.0.join(file)) || may_switch_on(parent, &own.top, controller)
        };
        let missing: Vec<&'static str> = [("cpu", "cpu.max"), ("memory", "memory.max")]
            .into_iter()
            .filter(|(controller, file)| !may_limit(controller, file))
            .map(|(controller, _)| controller)
            .collect();
        if missing.is_empty() {
            return Permission::Both { version };
        }
        if best.as_ref().is_none_or(|best| missing.len() < best.len()) {
            best = Some(missing);
        }
    }
    match best {
        Some(missing) => Permission::Without { version, missing },
        None => Permission::Refused { version, tried: first.into_iter().collect() },
    }
}

/// Could `parent` hand this controller on? Only the top may while it holds processes itself.
fn may_switch_on(parent: &Path, top: &Path, controller: &str) -> bool {
    let words = |file: &str| fs::read_to_string(parent.join(file)).unwrap_or_default();
    let is_there = words("cgroup.controllers").split_whitespace().any(|one| one == controller);
    let is_free = parent == top || words("cgroup.procs").trim().is_empty();
    is_there && is_free && is_writable(&parent.join("cgroup.subtree_control"))
}

fn try_version_1(cpu: &Group, memory: &Group) -> Permission {
    let version = Version::One;
    let mut missing = Vec::new();
    let mut refused = Vec::new();
    let tries = [("cpu", cpu, "cpu.cfs_quota_us"), ("memory", memory, "memory.limit_in_bytes")];
    for (controller, group, file) in tries {
        match Tried::make(&group.folder) {
            Ok(tried) if is_writable(&tried.0.join(file)) => {}
            Ok(_) => missing.push(controller),
            Err(error) => {
                missing.push(controller);
                refused.push((group.folder.clone(), error.into()));
            }
        }
    }
    match missing.len() {
        0 => Permission::Both { version },
        _ if refused.len() == 2 => Permission::Refused { version, tried: refused },
        _ => Permission::Without { version, missing },
    }
}

/// A group that is removed again.
struct Tried(PathBuf);

impl Tried {
    fn make(parent: &Path) -> io::Result<Self> {
        let folder = parent.join(format!("sweetspot-try-{}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Tried {
    fn drop(&mut self) {
        // It is empty and ours; if it cannot be removed there is nothing better to do, and an empty
        // group does no harm.
        drop(fs::remove_dir(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::groups;

    #[test]
    fn a_try_leaves_no_group_behind() {
        let own = groups::own(Path::new("/"));
        let permission = permission(&own);
        let name = format!("sweetspot-try-{}", std::process::id());
        for group in [&own.cpu, &own.memory].into_iter().flatten() {
            for folder in group.way_up() {
                assert!(!folder.join(&name).exists(), "{permission:?} left {}", folder.display());
            }
        }
    }

    #[test]
    fn a_controller_can_be_had_where_a_group_may_hand_it_on() {
        let top = tempfile::tempdir().unwrap();
        let slice = top.path().join("slice");
        fs::create_dir(&slice).unwrap();
        let write = |file: &str, text: &str| fs::write(slice.join(file), text).unwrap();
        write("cgroup.procs", "");
        let of = || {
            let group =
                Group { version: Version::Two, top: top.path().into(), folder: slice.clone() };
            permission(&ControlGroups { cpu: Some(group), ..ControlGroups::default() })
        };
        let version = Version::Two;
        assert_eq!(of(), Permission::Without { version, missing: vec!["cpu", "memory"] });
        write("cgroup.subtree_control", "");
        write("cgroup.controllers", "cpu pids");
        assert_eq!(of(), Permission::Without { version, missing: vec!["memory"] });
        write("cgroup.controllers", "cpu memory");
        assert_eq!(of(), Permission::Both { version });
        // Whoever holds processes itself may not hand anything on.
        write("cgroup.procs", "4711\n");
        assert_eq!(of(), Permission::Without { version, missing: vec!["cpu", "memory"] });
        fs::remove_file(slice.join("cgroup.procs")).unwrap();
        assert!(matches!(of(), Permission::Refused { .. }));
    }
}
