//! What is left when we and our guardian are killed at once, and who ends it.
//!
//! In: what a guardian answers for, written into a file that it keeps locked as long as it lives.
//! Out: once that lock is free and the file still there, everything named in it has ended and is
//! gone. Two look after it: a process of ours that does nothing but wait for the lock
//! ([`end_after`]), and whatever verb the same user runs next ([`end_abandoned`]). Must not touch
//! what belongs to a guardian that lives, or to a container that does.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Group};
use super::processes::{self, Process};
use crate::monitor::{group_processes, groups};

/// Everything should be dead by then; SIGKILL takes longer only in the kernel.
const KILLING: Duration = Duration::from_secs(5);
/// How often it is looked whether a parent that outlived its guardian has done the work itself.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a record's name ends with, and that of one that is being written.
const FINISHED: &str = "json";
const UNFINISHED: &str = "tmp";
/// Time after which nobody writes it any more.
const TO_WRITE: Duration = Duration::from_secs(600);

/// What a guardian answers for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `None` where /proc is not to be read.
    guardian: Option<Process>,
    /// `NAME=value` in the environment of all that it starts.
    pub mark: String,
    pub scratch: PathBuf,
    pub group: Group,
    /// The system's start and the process ids that it was made in: elsewhere ids mean others.
    home: Home,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Home {
    boot: String,
    pid_namespace: Option<PathBuf>,
}

impl Home {
    fn here() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { boot, pid_namespace: fs::read_link("/proc/self/ns/pid").ok() }
    }
}

impl Record {
    /// Of this process, which has not made a group yet.
    pub fn new(mark: String, scratch: &Path) -> Self {
        Self {
            guardian: Process::of(std::process::id()),
            mark,
            // As the kernel shows it of a process that writes there.
            scratch: fs::canonicalize(scratch).unwrap_or_else(|_| scratch.to_path_buf()),
            group: Group::default(),
            home: Home::here(),
        }
    }

    /// A folder as guardians make them: a record that was tampered with removes no other.
    fn names_our_folder(&self) -> bool {
        let name = self.scratch.file_name().map(|name| name.to_string_lossy());
        self.scratch.is_absolute() && name.is_some_and(|name| name.starts_with("sweetspot-"))
    }
}

/// A record that is locked; its file is removed when this is dropped.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    /// Open, and so locked.
    file: File,
}

impl Kept {
    /// Writes a record where nobody but this user may.
    ///
    /// # Errors
    /// There is no such place.
    pub fn write(record: &Record) -> io::Result<Self> {
        let folder = folder();
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !is_only_ours(&fs::symlink_metadata(&folder)?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let (_, name) = record.mark.split_once('=').unwrap_or_default();
        let path = folder.join(format!("{name}.{FINISHED}"));
        let file = write(record, &path)?;
        Ok(Self { path, file })
    }

    /// Writes it anew.
    ///
    /// # Errors
    /// As [`Kept::write`]; what was there stays.
    pub fn replace(&mut self, record: &Record) -> io::Result<()> {
        self.file = write(record, &self.path)?;
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Should it stay, whoever looks next finds nothing to end.
        let _ = fs::remove_file(&self.path);
    }
}

/// A locked file in that place; it is there for others only once it is locked.
fn write(record: &Record, path: &Path) -> io::Result<File> {
    let unfinished = path.with_extension(UNFINISHED);
    let _ = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    serde_json::to_writer(&mut file, record)?;
    file.flush()?;
    fs::rename(&unfinished, path)?;
    Ok(file)
}

/// Where this user's records are.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("sweetspot.{}", geteuid().as_raw()))
}

/// Nobody else can have written there.
fn is_only_ours(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
}

/// A record's file that nobody else has written.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    match found.is_file() && is_only_ours(&found) {
        true => Ok(file),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// What was ended and taken away of one guardian.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub processes: usize,
    pub groups: usize,
    pub scratch: PathBuf,
    /// False where some of it is there still, such as a process that hangs in the kernel.
    pub is_all: bool,
}

/// Waits for a guardian's end; what is left of it then is ended, unless `parent` lives, which does
/// that itself.
///
/// # Errors
/// The file cannot be opened: there is nothing to wait for.
pub fn end_after(path: &Path, parent: u32) -> io::Result<()> {
    let file = open(path)?;
    while let Err(error) = flock(&file, FlockOperation::LockExclusive) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    while path.exists() && std::os::unix::process::parent_id() == parent {
        sleep(PATIENCE);
    }
    if path.exists() {
        let _ = end_of(path, file);
    }
    Ok(())
}

/// Ends what guardians of this user that were killed have left behind, each once.
pub fn end_abandoned() -> Vec<Ended> {
    end_abandoned_in(&folder())
}

fn end_abandoned_in(folder: &Path) -> Vec<Ended> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let end = |path: PathBuf| match path.extension()?.to_str()? {
        FINISHED => end_if_abandoned(&path, open(&path).ok()?),
        UNFINISHED => {
            remove_if_old(&path);
            None
        }
        _ => None,
    };
    entries.filter_map(|entry| end(entry.path())).collect()
}

/// `file`: what stood there a moment ago.
fn end_if_abandoned(path: &Path, file: File) -> Option<Ended> {
    // A guardian that lives has locked it, and so has whoever ends what one has left.
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    // Unless it has written another in its place meanwhile, and locked that.
    let (ours, there) = (file.metadata().ok()?, fs::symlink_metadata(path).ok()?);
    let is_there = (ours.dev(), ours.ino()) == (there.dev(), there.ino());
    if is_there { end_of(path, file) } else { None }
}

/// Of a guardian that was killed while it wrote it. What it names was not made yet, or stands in
/// the record that it was to take the place of. Not locked for that: whoever writes it is about to.
fn remove_if_old(path: &Path) {
    let written = fs::symlink_metadata(path).and_then(|it| it.modified()).ok();
    let age = written.and_then(|it| SystemTime::now().duration_since(it).ok());
    if age.is_some_and(|age| age >= TO_WRITE) {
        // One that cannot be removed harms nobody.
        let _ = fs::remove_file(path);
    }
}

/// Ends what a record that we have locked says, and removes it; `None`: there is nothing to it, or
/// it is another container's.
fn end_of(path: &Path, file: File) -> Option<Ended> {
    let Ok(mut record) = serde_json::from_reader::<_, Record>(&file) else {
        // Of another version, or cut off: nobody can make anything of it.
        let _ = fs::remove_file(path);
        return None;
    };
    let here = Home::here();
    let is_of_this_boot = record.home.boot == here.boot;
    let is_elsewhere = is_of_this_boot && record.home != here;
    if !record.names_our_folder() || is_elsewhere && !is_gone(&record.home, &here) {
        return None;
    }
    match record.guardian.filter(|it| is_of_this_boot && !is_reused(*it)) {
        None => record.group = Group::default(),
        Some(guardian) => {
            let own = groups::own(Path::new("/"));
            cgroup::complete(&mut record.group, &own, &cgroup::name_of(guardian.pid));
        }
    }
    let mut ended =
        Ended { processes: 0, groups: 0, scratch: record.scratch.clone(), is_all: true };
    if is_of_this_boot && !is_elsewhere {
        (ended.processes, ended.is_all) = kill(&record);
    }
    ended.groups = record.group.folders.iter().filter(|folder| folder.exists()).count();
    ended.is_all &= record.group.remove().is_ok();
    let removed = fs::remove_dir_all(&record.scratch);
    ended.is_all &= removed.is_ok() || !record.scratch.exists();
    if ended.is_all {
        let _ = fs::remove_file(path);
    }
    Some(ended)
}

/// Do we see that no process is left in another container? Only from outside of all can that be
/// seen.
fn is_gone(home: &Home, here: &Home) -> bool {
    /// The process namespace that the kernel begins with.
    const OUTERMOST: &str = "pid:[4026531836]";
    if here.pid_namespace.as_deref() != Some(Path::new(OUTERMOST)) || !geteuid().is_root() {
        return false;
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut namespaces = processes.filter_map(|it| fs::read_link(it.path().join("ns/pid")).ok());
    !namespaces.any(|it| Some(it) == home.pid_namespace)
}

/// Another process has the guardian's id by now, and may have made a group of the same name.
fn is_reused(guardian: Process) -> bool {
    // Who has died and was not awaited yet is there still.
    Process::of(guardian.pid).is_some_and(|found| found != guardian)
}

/// Kills all processes of a record until none is found; how many there were, and whether all ended.
fn kill(record: &Record) -> (usize, bool) {
    let deadline = Instant::now() + KILLING;
    // Who looks at a log there, or was started by one of these, is no server.
    let own = processes::own_line();
    let mut seen: Vec<Process> = Vec::new();
    loop {
        let folders = record.group.folders.iter();
        let members: Vec<u32> = folders.flat_map(|folder| group_processes(folder)).collect();
        let is_meant =
            |pid| !own.contains(&pid) && (members.contains(&pid) || belongs(pid, record));
        let mut found = processes::all_below(is_meant);
        found.retain(|process| !own.contains(&process.pid));
        record.group.kill();
        for process in &found {
            // It may have ended meanwhile; the loop looks again.
            let _ = process.signal(libc::SIGKILL);
            if !seen.contains(process) {
                seen.push(*process);
            }
        }
        if found.is_empty() || Instant::now() >= deadline {
            return (seen.len() - found.len(), found.is_empty());
        }
        sleep(Duration::from_millis(5));
    }
}

/// Was it started below the record's guardian? By its environment or, where it has rewritten that,
/// by its output, which goes to our folder.
fn belongs(pid: u32, record: &Record) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let is_ours = |path: PathBuf| path.starts_with(&record.scratch);
    let leads_here = |name: &str| fs::read_link(process.join(name)).is_ok_and(is_ours);
    processes::carries(pid, &record.mark) || leads_here("fd/1") || leads_here("fd/2")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn record(scratch: &Path, mark: &str) -> Record {
        fs::create_dir(scratch).unwrap();
        fs::write(scratch.join("server.log"), "").unwrap();
        Record::new(mark.to_string(), scratch)
    }

    fn written(folder: &Path, record: &Record) -> PathBuf {
        let path = folder.join("1.json");
        fs::write(&path, serde_json::to_vec(record).unwrap()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn end(path: &Path) -> Option<Ended> {
        end_of(path, open(path).unwrap())
    }

    #[test]
    fn what_was_started_is_found_by_its_environment_or_its_output_and_strangers_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let record = record(&folder.path().join("sweetspot-1"), "SWEETSPOT_TEST_LEFT=1-1");
        let log = fs::File::create(record.scratch.join("server.log")).unwrap();
        let mut children = [
            Command::new("sleep").arg("60").env("SWEETSPOT_TEST_LEFT", "1-1").spawn().unwrap(),
            Command::new("sleep").arg("60").stdout(log).spawn().unwrap(),
            Command::new("sleep").arg("60").env("SWEETSPOT_TEST_LEFT", "1-2").spawn().unwrap(),
        ];
        // Right after its start the kernel may still show the environment as empty.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !processes::carries(children[0].id(), &record.mark) && Instant::now() < deadline {
            std::thread::yield_now();
        }
        // Who ends them has to take them away: a child that is not awaited stays.
        let path = written(folder.path(), &record);
        let ended = std::thread::scope(|scope| {
            let ended = scope.spawn(|| end(&path));
            for child in &mut children[..2] {
                child.wait().unwrap();
            }
            ended.join().unwrap()
        });
        let is_left = children[2].try_wait().unwrap().is_none();
        children[2].kill().unwrap();
        children[2].wait().unwrap();
        assert!(is_left);
        let scratch = record.scratch.clone();
        assert_eq!(ended, Some(Ended { processes: 2, groups: 0, scratch, is_all: true }));
        assert!(!record.scratch.exists() && !path.exists());
    }

    #[test]
    fn a_container_is_gone_only_where_all_can_be_seen_and_none_of_its_processes_is() {
        let here = Home::here();
        let other = Home { pid_namespace: Some("pid:[1]".into()), ..here.clone() };
        let sees_all = geteuid().is_root()
            && here.pid_namespace.as_deref() == Some(Path::new("pid:[4026531836]"));
        assert!(!is_gone(&here, &here));
        assert_eq!(is_gone(&other, &here), sees_all);
    }

    #[test]
    fn of_an_earlier_boot_the_folder_is_removed_and_nobody_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = record(&folder.path().join("sweetspot-1"), "SWEETSPOT_TEST_HOME=1");
        let mut child = Command::new("cat")
            .env("SWEETSPOT_TEST_HOME", "1")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        record.home.boot = "an earlier one".into();
        let path = written(folder.path(), &record);
        let before = end(&path);
        let is_alive = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_alive);
        assert_eq!(before.unwrap().processes, 0);
        assert!(!path.exists() && !record.scratch.exists());
    }

    #[test]
    fn a_record_that_its_guardian_writes_anew_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let record = record(&folder.path().join("sweetspot-1"), "SWEETSPOT_TEST_ANEW=1");
        let path = folder.path().join("1.json");
        let first = write(&record, &path).unwrap();
        assert!(end_abandoned_in(folder.path()).is_empty());
        let seen = open(&path).unwrap();
        let second = write(&record, &path).unwrap();
        drop(first);
        assert_eq!(end_if_abandoned(&path, seen), None);
        assert!(path.exists() && record.scratch.exists());
        drop(second);
        // A child of another test's may hold it until it runs its program.
        let deadline = Instant::now() + Duration::from_secs(10);
        while path.exists() && Instant::now() < deadline {
            end_abandoned_in(folder.path());
        }
        assert!(!path.exists() && !record.scratch.exists());
    }

    #[test]
    fn a_record_that_is_being_written_is_left_alone_and_goes_once_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let record = record(&folder.path().join("sweetspot-1"), "SWEETSPOT_TEST_TMP=1");
        let path = written(folder.path(), &record).with_extension(UNFINISHED);
        fs::rename(folder.path().join("1.json"), &path).unwrap();
        assert!(end_abandoned_in(folder.path()).is_empty());
        assert!(path.exists());
        let times = fs::FileTimes::new().set_modified(SystemTime::now() - 2 * TO_WRITE);
        OpenOptions::new().write(true).open(&path).unwrap().set_times(times).unwrap();
        assert!(end_abandoned_in(folder.path()).is_empty());
        assert!(!path.exists() && record.scratch.exists());
    }

    #[test]
    fn what_is_no_record_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.json");
        fs::write(&path, "{").unwrap();
        assert_eq!(end_of(&path, fs::File::open(&path).unwrap()), None);
        assert!(!path.exists());
    }

    #[test]
    fn a_record_that_others_could_have_written_or_that_names_another_folder_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("home");
        let record = record(&other, "SWEETSPOT_TEST_OTHER=1");
        let path = written(folder.path(), &record);
        assert_eq!(end(&path), None);
        assert!(other.exists());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        open(&path).unwrap_err();
        let link = folder.path().join("2.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        open(&link).unwrap_err();
    }
}
