//! Could a control group with limits be made here? A try that is removed again at once.
//!
//! In: our own groups. Out: a [`GroupPermission`]. Changes no limit and switches no controller on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::group::is_writable;
use super::v2::check_may_join;
use crate::monitor::groups::{ControlGroups, Group, Version};
use crate::terms::{GroupPermission, LimitRefusal, RefusedGroup};

/// Makes and removes a group where [`create`](super::create) would make one.
pub fn permission(own: &ControlGroups) -> GroupPermission {
    let without =
        |missing: &str| GroupPermission::Without { version: 1, missing: vec![missing.to_string()] };
    match (&own.cpu, &own.memory) {
        (Some(cpu), _) if cpu.version == Version::Two => try_version_2(cpu),
        (Some(cpu), Some(memory)) => try_version_1(cpu, memory),
        (Some(_), None) => without("memory"),
        (None, Some(_)) => without("cpu"),
        (None, None) => GroupPermission::None,
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

fn refused(folder: &Path, why: LimitRefusal) -> RefusedGroup {
    RefusedGroup { folder: folder.display().to_string(), why }
}

fn try_version_2(own: &Group) -> GroupPermission {
    let version = 2;
    let mut best: Option<Vec<String>> = None;
    let mut first = None;
    for parent in own.way_up() {
        let tried = match check_may_join(parent).and_then(|()| Ok(Tried::make(parent)?)) {
            Ok(tried) => tried,
            Err(refusal) => {
                first = first.or_else(|| Some(refused(parent, refusal)));
                continue;
            }
        };
        let may_limit = |controller: &str, file: &str| {
            is_writable(&tried.0.join(file)) || may_switch_on(parent, &own.top, controller)
        };
        let missing: Vec<String> = [("cpu", "cpu.max"), ("memory", "memory.max")]
            .into_iter()
            .filter(|(controller, file)| !may_limit(controller, file))
            .map(|(controller, _)| controller.to_string())
            .collect();
        if missing.is_empty() {
            return GroupPermission::Both { version };
        }
        if best.as_ref().is_none_or(|best| missing.len() < best.len()) {
            best = Some(missing);
        }
    }
    match best {
        Some(missing) => GroupPermission::Without { version, missing },
        None => GroupPermission::Refused { version, tried: first.into_iter().collect() },
    }
}

/// Could `parent` hand this controller on? Only the top may while it holds processes itself.
fn may_switch_on(parent: &Path, top: &Path, controller: &str) -> bool {
    let words = |file: &str| fs::read_to_string(parent.join(file)).unwrap_or_default();
    let is_there = words("cgroup.controllers").split_whitespace().any(|one| one == controller);
    let is_free = parent == top || words("cgroup.procs").trim().is_empty();
    is_there && is_free && is_writable(&parent.join("cgroup.subtree_control"))
}

fn try_version_1(cpu: &Group, memory: &Group) -> GroupPermission {
    let version = 1;
    let mut missing = Vec::new();
    let mut tried = Vec::new();
    let tries = [("cpu", cpu, "cpu.cfs_quota_us"), ("memory", memory, "memory.limit_in_bytes")];
    for (controller, group, file) in tries {
        match Tried::make(&group.folder) {
            Ok(made) if is_writable(&made.0.join(file)) => {}
            Ok(_) => missing.push(controller.to_string()),
            Err(error) => {
                missing.push(controller.to_string());
                tried.push(refused(&group.folder, error.into()));
            }
        }
    }
    match missing.len() {
        0 => GroupPermission::Both { version },
        _ if tried.len() == 2 => GroupPermission::Refused { version, tried },
        _ => GroupPermission::Without { version, missing },
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
        let without = |missing: &[&str]| {
            let missing = missing.iter().map(|name| name.to_string()).collect();
            GroupPermission::Without { version: 2, missing }
        };
        assert_eq!(of(), without(&["cpu", "memory"]));
        write("cgroup.subtree_control", "");
        write("cgroup.controllers", "cpu pids");
        assert_eq!(of(), without(&["memory"]));
        write("cgroup.controllers", "cpu memory");
        assert_eq!(of(), GroupPermission::Both { version: 2 });
        // Whoever holds processes itself may not hand anything on.
        write("cgroup.procs", "4711\n");
        assert_eq!(of(), without(&["cpu", "memory"]));
        fs::remove_file(slice.join("cgroup.procs")).unwrap();
        assert!(matches!(of(), GroupPermission::Refused { .. }));
    }
}
