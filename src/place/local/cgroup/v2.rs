//! Control groups, version 2: one folder, in which controllers have to be switched on by the folder
//! above, which then may hold no processes of its own.
//!
//! In: our own group and limits. Out: a folder of ours in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::group::{Group, Limits, SwitchedOn, is_writable, set, switch_off};
use super::v1::{make, quota_us};
use crate::monitor::groups;
use crate::terms::LimitRefusal;

/// Adds a folder of ours to `group`: in our own group or, where the controllers cannot be switched
/// on there, in the nearest above it. When the limits cannot be had anywhere it is for killing
/// only.
pub(super) fn join(group: &mut Group, own: &groups::Group, name: &str, wanted: Limits) {
    if wanted != Limits::default() {
        match create_limited(own, name, wanted) {
            Ok((folder, limits, switched_on)) => {
                group.switched_on = switched_on;
                group.cpu = group.cpu.take().or(limits.cores.map(|_| folder.clone()));
                group.memory = group.memory.take().or(limits.memory_bytes.map(|_| folder.clone()));
                return enter(group, folder);
            }
            Err(refusal) => group.give_up(wanted, &refusal),
        }
    }
    // Without it the guardian kills process by process.
    if let Ok((folder, _)) = create(&own.folder, name, Limits::default()) {
        enter(group, folder);
    }
}

/// The folder, the limits set there and what was switched on for it; the refusal is that of our own
/// group, the most telling one.
fn create_limited(
    own: &groups::Group,
    name: &str,
    wanted: Limits,
) -> Result<(PathBuf, Limits, Vec<SwitchedOn>), LimitRefusal> {
    let mut escaped = Limits::default();
    let mut first = None;
    for parent in own.way_up() {
        // What limits us in the groups left behind on the way up must go on limiting the server.
        let limits = wanted.tighter(escaped);
        match create(parent, name, limits) {
            Ok((folder, switched_on)) => return Ok((folder, limits, switched_on)),
            Err(refusal) => first = first.or(Some(refusal)),
        }
        escaped = escaped.tighter(Limits::of(parent));
    }
    Err(first.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotFound).into()))
}

/// The controllers that [`join`] may switch on for these limits, as far as they are off now.
pub(super) fn could_switch_on(own: &groups::Group, wanted: Limits) -> Vec<SwitchedOn> {
    let controllers = [("cpu", wanted.cores.is_some()), ("memory", wanted.memory_bytes.is_some())];
    let is_off = |folder: &Path, controller: &str| {
        let on = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        !on.split_whitespace().any(|it| it == controller)
    };
    let of = |folder: &Path| {
        controllers
            .iter()
            .filter(|(controller, is_wanted)| *is_wanted && is_off(folder, controller))
            .map(|(controller, _)| SwitchedOn {
                folder: folder.to_path_buf(),
                controller: (*controller).to_string(),
            })
            .collect::<Vec<_>>()
    };
    own.way_up().flat_map(of).collect()
}

fn enter(group: &mut Group, folder: PathBuf) {
    if folder.join("cgroup.kill").exists() {
        group.kill = Some(folder.clone());
    }
    group.folders.push(folder);
}

/// Makes the group and sets its limits; leaves nothing behind when that fails.
fn create(
    parent: &Path,
    name: &str,
    limits: Limits,
) -> Result<(PathBuf, Vec<SwitchedOn>), LimitRefusal> {
    check_may_join(parent)?;
    let folder = parent.join(name);
    make(&folder)?;
    let mut switched_on = Vec::new();
    limit(parent, &folder, limits, &mut switched_on).inspect_err(|_| {
        // The limit's own error is what matters; an empty group harms nobody.
        let _ = fs::remove_dir(&folder);
        switched_on.iter().for_each(switch_off);
    })?;
    Ok((folder, switched_on))
}

/// To move a process one must be allowed to write to the group that holds both ends.
pub(super) fn check_may_join(parent: &Path) -> Result<(), LimitRefusal> {
    let file = parent.join("cgroup.procs");
    if is_writable(&file) {
        return Ok(());
    }
    Err(LimitRefusal::GroupNotWritable { file: file.display().to_string() })
}

fn limit(
    parent: &Path,
    folder: &Path,
    limits: Limits,
    switched_on: &mut Vec<SwitchedOn>,
) -> Result<(), LimitRefusal> {
    if let Some(cores) = limits.cores {
        switch_on(parent, folder, ("cpu", "cpu.max"), switched_on)?;
        set(folder, "cpu.max", &format!("{} 100000", quota_us(cores)))?;
    }
    if let Some(bytes) = limits.memory_bytes {
        switch_on(parent, folder, ("memory", "memory.max"), switched_on)?;
        set(folder, "memory.max", &bytes.to_string())?;
        // Where the kernel does not count swap there is nothing to forbid.
        match set(folder, "memory.swap.max", "0") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return Ok(result?),
        }
    }
    Ok(())
}

/// Switches a controller on in `parent` for the folders below it, which then have its file, and
/// notes that where it was not on already.
fn switch_on(
    parent: &Path,
    folder: &Path,
    (controller, file): (&str, &str),
    switched_on: &mut Vec<SwitchedOn>,
) -> Result<(), LimitRefusal> {
    if folder.join(file).exists() {
        return Ok(());
    }
    set(parent, "cgroup.subtree_control", &format!("+{controller}"))?;
    switched_on
        .push(SwitchedOn { folder: parent.to_path_buf(), controller: controller.to_string() });
    if folder.join(file).exists() {
        return Ok(());
    }
    let folder = parent.display().to_string();
    Err(LimitRefusal::NoController { controller: controller.to_string(), folder })
}
