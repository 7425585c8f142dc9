//! Which control groups a process is in, and what they hold it to.
//!
//! In: a process, or the root of a recorded file system. Out: folders and limits. Only reads. A
//! quota or limit may stand at any level of the tree, so the whole way up is looked at.

use std::fs;
use std::path::{Path, PathBuf};

use super::text;
use crate::terms::Bytes;

/// Control groups of one process, by what they govern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlGroups {
    /// The folder that governs CPU, in whichever version does.
    pub cpu: Option<Group>,
    /// The folder that governs memory.
    pub memory: Option<Group>,
    /// Version 2's folder, also on a hybrid machine, where it governs nothing.
    pub unified: Option<Group>,
}

/// One control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub version: Version,
    /// Where its tree is mounted; not above this.
    pub top: PathBuf,
    /// At or below the top.
    pub folder: PathBuf,
}

/// Version 1 has a tree for each controller, version 2 one for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

impl Group {
    /// The group and those around it, innermost first.
    pub fn way_up(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|folder| folder.starts_with(&self.top))
    }
}

/// A limit, and the folder in which it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitAt<T> {
    pub limit: T,
    pub folder: PathBuf,
}

/// The groups `pid` is in. Empty where there are none or `/proc` hides them.
pub fn of(pid: u32) -> ControlGroups {
    read(Path::new("/"), &format!("proc/{pid}/cgroup"))
}

/// The groups this process is in, below `root`: `/`, or a recorded tree.
pub fn own(root: &Path) -> ControlGroups {
    read(root, "proc/self/cgroup")
}

fn read(root: &Path, groups: &str) -> ControlGroups {
    let text = |path: &str| {
        let bytes = fs::read(root.join(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let mut found = from_texts(&text(groups), &text("proc/self/mountinfo"), root);
    for place in [&mut found.cpu, &mut found.memory, &mut found.unified] {
        // In a container the path can lie outside of what is mounted; then the top of what is shown
        // is the closest we can see.
        if let Some(group) = place.as_mut().filter(|group| !group.folder.is_dir()) {
            group.folder.clone_from(&group.top);
        }
        *place = place.take().filter(|group| group.top.is_dir());
    }
    found
}

/// From the text of `/proc/PID/cgroup` and `/proc/self/mountinfo`.
fn from_texts(groups: &str, mounts: &str, root: &Path) -> ControlGroups {
    // A line is `number:controllers:path`; version 2 has number 0 and no controllers.
    let path = |controller: &str| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            controllers.split(',').any(|one| one == controller).then_some(path)
        })
    };
    let unified = path("").and_then(|path| mounted(mounts, None, path, root));
    // On a hybrid machine a controller belongs to version 1 when a line names it.
    let governing = |controller: &str| match path(controller) {
        Some(path) => mounted(mounts, Some(controller), path, root),
        None => unified.clone(),
    };
    ControlGroups { cpu: governing("cpu"), memory: governing("memory"), unified: unified.clone() }
}

/// The folder of a group: where the tree is mounted, and below it the group's path without the part
/// that the mount itself leaves out (in a container). The first mount of a tree counts: the same
/// tree may be bound to other places.
fn mounted(mounts: &str, controller: Option<&str>, path: &str, root: &Path) -> Option<Group> {
    for line in mounts.lines() {
        let Some((place, kind)) = line.split_once(" - ") else { continue };
        let mut kind = kind.split(' ');
        let options = match (kind.next()?, controller) {
            ("cgroup2", None) => "",
            ("cgroup", Some(_)) => kind.nth(1).unwrap_or_default(),
            _ => continue,
        };
        if controller.is_some_and(|name| !options.split(',').any(|option| option == name)) {
            continue;
        }
        let mut place = place.split(' ').skip(3);
        let (shown, top) = (place.next()?, place.next()?);
        let top = root.join(top.trim_start_matches('/'));
        let below = Path::new(path).strip_prefix(shown).unwrap_or(Path::new(""));
        let version = if controller.is_some() { Version::One } else { Version::Two };
        return Some(Group { version, folder: top.join(below), top });
    }
    None
}

/// The quota in cores that stands in this very folder, version 2 or 1.
pub fn quota_in(folder: &Path) -> Option<f64> {
    if let Ok(max) = fs::read(folder.join("cpu.max")) {
        let mut fields = text::fields(&max);
        return cores(text::number(fields.next()?)?, text::number(fields.next()?)?);
    }
    let read = |name: &str| first_number(&folder.join(name));
    cores(read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
}

fn cores(quota: u64, period: u64) -> Option<f64> {
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// The memory limit that stands in this very folder, version 2 or 1.
pub fn memory_limit_in(folder: &Path) -> Option<Bytes> {
    // Version 1 writes "no limit" as a number near the top of the range.
    const UNLIMITED: u64 = 1 << 60;
    let limit = first_number(&folder.join("memory.max"))
        .or_else(|| first_number(&folder.join("memory.limit_in_bytes")))?;
    (limit < UNLIMITED).then_some(Bytes(limit))
}

/// Processes killed for want of memory in this very folder's group, version 2 or 1; `None` when
/// nothing counts them.
pub fn out_of_memory_kills(folder: &Path) -> Option<u64> {
    let read = |name: &str| text::labelled(&fs::read(folder.join(name)).ok()?, b"\noom_kill ");
    read("memory.events").or_else(|| read("memory.oom_control"))
}

fn first_number(file: &Path) -> Option<u64> {
    // `max` and `-1`, both "no limit", are no numbers.
    text::first_number(&fs::read(file).ok()?)
}

/// The smallest quota on the way up.
pub fn quota(group: &Group) -> Option<LimitAt<f64>> {
    let at = |folder: &Path| Some(LimitAt { limit: quota_in(folder)?, folder: folder.into() });
    group.way_up().filter_map(at).min_by(|a, b| a.limit.total_cmp(&b.limit))
}

/// The smallest memory limit on the way up.
pub fn memory_limit(group: &Group) -> Option<LimitAt<Bytes>> {
    let at =
        |folder: &Path| Some(LimitAt { limit: memory_limit_in(folder)?, folder: folder.into() });
    group.way_up().filter_map(at).min_by_key(|at| at.limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED_GROUPS: &str = "4:memory:/job/27e0\n2:cpuacct,cpu:/\n1:name=systemd:/\n0::/x\n";
    const MIXED_MOUNTS: &str = "\
        30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpuacct,cpu\n\
        31 25 0:27 /job /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_1_controllers_are_found_where_they_are_mounted() {
        let groups = from_texts(MIXED_GROUPS, MIXED_MOUNTS, Path::new("/"));
        let cpu = groups.cpu.unwrap();
        assert_eq!((cpu.version, cpu.folder), (Version::One, "/sys/fs/cgroup/cpu/".into()));
        // The mount shows the tree from /job down, so the rest of the path stands below it.
        assert_eq!(groups.memory.unwrap().folder, Path::new("/sys/fs/cgroup/memory/27e0"));
    }

    #[test]
    fn version_2_has_one_group_for_everything() {
        let mounts =
            "29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        let groups = from_texts("0::/system.slice/app.service\n", mounts, Path::new("/"));
        let cpu = groups.cpu.clone().unwrap();
        assert_eq!(cpu.version, Version::Two);
        let way = ["app.service", "", ".."].map(|part| {
            Path::new("/sys/fs/cgroup/system.slice").join(part).components().collect::<PathBuf>()
        });
        assert_eq!(cpu.way_up().take(2).collect::<Vec<_>>(), way[..2]);
        assert_eq!(cpu.way_up().last().unwrap(), Path::new("/sys/fs/cgroup"));
        assert_eq!(groups.memory, groups.cpu);
        assert_eq!(from_texts("", "", Path::new("/")), ControlGroups::default());
    }

    fn group(parts: &[(&str, &[(&str, &str)])]) -> (tempfile::TempDir, Group) {
        let top = tempfile::tempdir().unwrap();
        let mut folder = top.path().to_path_buf();
        for (name, files) in parts {
            folder = folder.join(name);
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in *files {
                fs::write(folder.join(file), text).unwrap();
            }
        }
        let group = Group { version: Version::Two, top: top.path().to_path_buf(), folder };
        (top, group)
    }

    #[test]
    fn the_smallest_quota_on_the_way_up_counts() {
        let (_top, found) = group(&[
            ("machine", &[("cpu.max", "max 100000\n")]),
            ("pod", &[("cpu.max", "150000 100000\n"), ("memory.max", "1073741824\n")]),
            ("app", &[("cpu.max", "400000 100000\n"), ("memory.max", "max\n")]),
        ]);
        let quota = quota(&found).unwrap();
        assert_eq!(quota.limit, 1.5);
        assert!(quota.folder.ends_with("machine/pod"));
        assert_eq!(memory_limit(&found).unwrap().limit, Bytes(1 << 30));
    }

    #[test]
    fn version_1_says_no_limit_with_special_numbers() {
        let unlimited = "9223372036854771712\n";
        let (_top, found) = group(&[(
            "app",
            &[
                ("cpu.cfs_quota_us", "-1\n"),
                ("cpu.cfs_period_us", "100000\n"),
                ("memory.limit_in_bytes", unlimited),
            ],
        )]);
        assert_eq!(quota(&found), None);
        assert_eq!(memory_limit(&found), None);
        fs::write(found.folder.join("cpu.cfs_quota_us"), "50000\n").unwrap();
        assert_eq!(quota(&found).unwrap().limit, 0.5);
    }
}
