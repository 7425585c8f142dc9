//! A control group of the server's own: limits on processor time and memory, and a certain end.
//!
//! In: the limits wanted. Out: a [`Group`] that says what it enforces and what it could not.
//! Version 2 has one tree for everything; version 1 a tree for each controller; hybrid hosts have
//! version 1 controllers and a version 2 tree without any, which still can kill. Everything takes
//! the root of the file system as an argument, so that recorded trees can be tried.
//!
//! A limit is only set when it is asked for: a group of its own changes how the kernel shares the
//! cores.

mod group;
mod permission;
mod v1;
mod v2;

use crate::monitor::groups::{self, ControlGroups, Version};
use crate::terms::LimitRefusal;

pub use group::{Group, LimitName, Limits, NotEnforced, SwitchedOn};
pub use permission::{may_kill, permission};

/// Makes a control group below our own, as far as the machine lets us.
pub fn create(own: &ControlGroups, name: &str, wanted: Limits) -> Group {
    let mut group = Group::default();
    let cores = Limits { memory_bytes: None, ..wanted };
    let memory = Limits { cores: None, ..wanted };
    let mut left = wanted;
    if let (Some(amount), Some(parent)) = (wanted.cores, in_version_1(&own.cpu)) {
        left.cores = None;
        match v1::create(&parent.folder, name, |folder| v1::limit_cores(folder, amount)) {
            Ok(folder) => group.cpu = Some(folder),
            Err(error) => group.give_up(cores, &error.into()),
        }
    }
    if let (Some(amount), Some(parent)) = (wanted.memory_bytes, in_version_1(&own.memory)) {
        left.memory_bytes = None;
        match v1::create(&parent.folder, name, |folder| v1::limit_memory(folder, amount)) {
            Ok(folder) => group.memory = Some(folder),
            Err(error) => group.give_up(memory, &error.into()),
        }
    }
    group.folders.extend(group.cpu.iter().chain(&group.memory).cloned());
    match &own.unified {
        Some(parent) => v2::join(&mut group, parent, name, left),
        None => group.give_up(left, &LimitRefusal::NoControlGroups),
    }
    group
}

/// What [`create`] might leave switched on above the group should it be cut off: to be known before
/// it begins.
pub fn could_switch_on(own: &ControlGroups, wanted: Limits) -> Vec<SwitchedOn> {
    own.unified.as_ref().map(|group| v2::could_switch_on(group, wanted)).unwrap_or_default()
}

/// What the groups of a guardian are called.
pub fn name_of(guardian: u32) -> String {
    format!("sweetspot-{guardian}")
}

/// Adds the groups of this name that are there where [`create`] makes one: it may have been cut off
/// before it could say what it made.
pub fn complete(group: &mut Group, own: &ControlGroups, name: &str) {
    let parents = [&own.cpu, &own.memory, &own.unified].into_iter().flatten();
    for folder in parents.flat_map(|parent| parent.way_up()).map(|parent| parent.join(name)) {
        if folder.is_dir() && !group.folders.contains(&folder) {
            let can_kill = folder.join("cgroup.kill").exists();
            group.kill = group.kill.take().or(can_kill.then(|| folder.clone()));
            group.folders.push(folder);
        }
    }
}

fn in_version_1(group: &Option<groups::Group>) -> Option<&groups::Group> {
    group.as_ref().filter(|group| group.version == Version::One)
}

#[cfg(test)]
mod tests;
