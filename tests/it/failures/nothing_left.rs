//! Whether anything is left of what was started for a folder; looked at, never assumed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::place::title;

/// The guardian may need a moment after its parent has died.
const PATIENCE: Duration = Duration::from_secs(20);

/// On drop: fails the test when a process at work in the folder (or told of it by its arguments or
/// its environment), a scratch folder in it, or a control group without its guardian is left. After
/// a panic it ends these processes instead.
pub struct NothingLeft {
    folder: PathBuf,
    /// Other people's.
    groups_before: BTreeSet<PathBuf>,
}

impl NothingLeft {
    /// `folder` is the test's own, and absolute.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), groups_before: abandoned_groups() }
    }

    /// Waits until nothing is left, and fails when something stays.
    #[track_caller]
    pub fn check(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left behind:\n{}", left.join("\n"));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Processes of this folder, except our own.
    pub fn processes(&self) -> Vec<u32> {
        processes_of(&self.folder)
    }

    /// Those of them that have this word among their arguments or in their title.
    pub fn with_title(&self, word: &str) -> Vec<u32> {
        self.processes().into_iter().filter(|pid| title(*pid).contains(word)).collect()
    }

    fn left(&self) -> Vec<String> {
        let processes = self.processes().into_iter().map(|pid| format!("{pid}: {}", title(pid)));
        let scratch = folders_named_sweetspot(&self.folder);
        let groups = abandoned_groups();
        let groups = groups.difference(&self.groups_before);
        processes
            .chain(scratch.iter().chain(groups).map(|folder| folder.display().to_string()))
            .collect()
    }
}

impl Drop for NothingLeft {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
            return;
        }
        for pid in self.processes() {
            crate::process::kill(pid, libc::SIGKILL);
        }
    }
}

/// Processes of a folder, except our own.
pub fn processes_of(folder: &Path) -> Vec<u32> {
    let own = std::process::id();
    let is_of_it = |pid: &u32| *pid != own && names(*pid, folder.as_os_str().as_bytes());
    numbers_in(Path::new("/proc")).filter(is_of_it).collect()
}

/// Is the folder where a process works, among its arguments or in its environment?
fn names(pid: u32, folder: &[u8]) -> bool {
    let contains = |text: &[u8]| text.windows(folder.len()).any(|part| part == folder);
    let process = PathBuf::from(format!("/proc/{pid}"));
    fs::read_link(process.join("cwd")).is_ok_and(|cwd| contains(cwd.as_os_str().as_bytes()))
        || ["cmdline", "environ"]
            .iter()
            .any(|file| fs::read(process.join(file)).is_ok_and(|text| contains(&text)))
}

fn numbers_in(folder: &Path) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    // A folder may go while it is looked at.
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn folders_named_sweetspot(root: &Path) -> Vec<PathBuf> {
    let mut named = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for folder in folders_in(&folder) {
            let name = folder.file_name().map(OsStrExt::as_bytes);
            if name.is_some_and(|name| name.starts_with(b"sweetspot-")) {
                named.push(folder);
            } else {
                folders.push(folder);
            }
        }
    }
    named
}

/// Control groups of guardians that live no more; their names end in the guardian's number.
fn abandoned_groups() -> BTreeSet<PathBuf> {
    let is_abandoned = |folder: &PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let guardian = name.trim_start_matches("sweetspot-");
        !Path::new("/proc").join(guardian).exists()
    };
    folders_named_sweetspot(Path::new("/sys/fs/cgroup")).into_iter().filter(is_abandoned).collect()
}

#[test]
fn what_is_left_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let nothing_left = NothingLeft::of(folder.path());
    assert_eq!(nothing_left.left(), Vec::<String>::new());
    let scratch = folder.path().join("tmp/sweetspot-abc");
    fs::create_dir_all(&scratch).unwrap();
    let mut by_folder = std::process::Command::new("cat");
    by_folder.current_dir(folder.path());
    let mut by_environment = std::process::Command::new("cat");
    by_environment.env("TMPDIR", folder.path().join("tmp"));
    let children: Vec<_> = [by_folder, by_environment]
        .iter_mut()
        .map(|command| command.stdin(std::process::Stdio::piped()).spawn().unwrap())
        .collect();
    // A process begins before the kernel shows its environment.
    let deadline = Instant::now() + PATIENCE;
    let are_seen = || children.iter().all(|child| nothing_left.processes().contains(&child.id()));
    while !are_seen() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let seen = nothing_left.processes();
    let left = nothing_left.left();
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen.contains(&child.id()), "{seen:?}");
    }
    assert!(left.contains(&scratch.display().to_string()), "{left:?}");
    fs::remove_dir(&scratch).unwrap();
    nothing_left.check();
}
