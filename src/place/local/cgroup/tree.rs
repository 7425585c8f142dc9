//! Which control-group trees there are, and where in them this process is.
//!
//! In: the root of the file system. Out: [`Trees`]. Only reads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Limits, v1, v2};

/// The trees this machine has, and our own group in each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trees {
    /// Version 1's processor tree.
    pub cpu: Option<Position>,
    /// Version 1's memory tree.
    pub memory: Option<Position>,
    /// Version 2.
    pub unified: Option<Position>,
}

/// A tree, and our own group in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Where the tree is mounted: its top.
    pub top: PathBuf,
    /// Our own group's folder, at or below the top.
    pub own: PathBuf,
}

impl Position {
    /// Our own group, its parent, and so on up to the top.
    pub fn upwards(&self) -> impl Iterator<Item = &Path> {
        self.own.ancestors().take_while(|folder| folder.starts_with(&self.top))
    }
}

/// A line of /proc/self/mountinfo, as far as we need it.
struct Mount<'a> {
    /// The folder of the mounted tree that shows at `point`.
    root: &'a str,
    point: &'a str,
    is_unified: bool,
    controllers: Vec<&'a str>,
}

impl Trees {
    /// Looks below `root` (`/`, or a recorded tree).
    ///
    /// # Errors
    /// /proc cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mounts = fs::read_to_string(root.join("proc/self/mountinfo"))?;
        let groups = fs::read_to_string(root.join("proc/self/cgroup"))?;
        let mut trees = Self::default();
        for mount in mounts.lines().filter_map(mount) {
            // The first mount of a tree counts: the same tree may be bound to other places.
            let place = |controller| position(root, &mount, own_group(&groups, controller));
            if mount.is_unified {
                trees.unified = trees.unified.or_else(|| place(""));
            }
            if mount.controllers.contains(&"cpu") {
                trees.cpu = trees.cpu.or_else(|| place("cpu"));
            }
            if mount.controllers.contains(&"memory") {
                trees.memory = trees.memory.or_else(|| place("memory"));
            }
        }
        Ok(trees)
    }

    /// The tightest limits on our own group and all above it.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for folder in self.cpu.iter().flat_map(Position::upwards) {
            limits.cores = limits.tighter(v1::limits(folder)).cores;
        }
        for folder in self.memory.iter().flat_map(Position::upwards) {
            limits.memory_bytes = limits.tighter(v1::limits(folder)).memory_bytes;
        }
        for folder in self.unified.iter().flat_map(Position::upwards) {
            limits = limits.tighter(v2::limits(folder));
        }
        limits
    }
}

fn mount(line: &str) -> Option<Mount<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let file_system = kind.next()?;
    let options = kind.nth(1).unwrap_or("");
    let is_unified = file_system == "cgroup2";
    let controllers =
        if file_system == "cgroup" { options.split(',').collect() } else { Vec::new() };
    (is_unified || file_system == "cgroup").then_some(Mount {
        root,
        point,
        is_unified,
        controllers,
    })
}

/// Our group in the tree of this controller (empty: version 2), from /proc/self/cgroup.
fn own_group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

fn position(root: &Path, mount: &Mount<'_>, group: Option<&str>) -> Option<Position> {
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    let top = below(mount.point);
    let group = Path::new(group?);
    // In a container the mount can show only a part of the tree, and the path can lie outside of
    // it; then the top of what is shown is the closest we can see.
    let inside = group.strip_prefix(mount.root).unwrap_or(Path::new(""));
    let own = top.join(inside);
    let own = if own.is_dir() { own } else { top.clone() };
    top.is_dir().then_some(Position { top, own })
}
