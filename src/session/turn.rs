//! One measurement at a time on a machine: two that share its cores measure each other.
//!
//! In: whether the machine is wanted alone. Out: a [`Turn`], held until it is dropped or the
//! process ends in whatever way: the kernel's lock on one file that all users share, in which
//! nothing is written, and on one beside the store, which containers on one machine may share.
//! Who holds it is told where the kernel lets us see (not in another container). Where a file
//! cannot be had, one measures without.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock, major, minor};
use rustix::io::Errno;
use thiserror::Error;

use crate::files::{give_to_folders_owner, make_folder_of, with_suffix};
use crate::terms::StopSignal;

/// The file, whatever the user's own folder for temporary files is.
const FILE: &str = "/tmp/sweetspot.lock";
/// Names another, for measurements that are kept apart by other means; empty: none, nor one beside
/// the store.
const VARIABLE: &str = "SWEETSPOT_LOCK";
/// How often it is asked for while another has it.
const PATIENCE: Duration = Duration::from_millis(200);

/// How a turn is to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody else measures meanwhile.
    Alone,
    /// Beside others who share it.
    Shared,
}

/// That this process measures; others see it until it is dropped.
#[derive(Debug, Default)]
pub struct Turn {
    /// `None` where no such file is to be had.
    file: Option<File>,
    /// That of the store, where there is one.
    of_store: Option<Box<Turn>>,
}

/// Processes that measure, by their ids as this process sees them; empty: they are out of sight.
pub type Others = Vec<u32>;

/// Why no turn was taken.
#[derive(Debug, Error)]
pub enum TurnError {
    #[error(
        "{} on this machine, and two at once disturb each other; without --no-wait its end is \
         waited for",
        measuring(.0)
    )]
    Taken(Others),
    #[error("stopped while waiting for another measurement to end")]
    Stopped,
}

/// Who measures, as the beginning of a sentence.
pub fn measuring(others: &[u32]) -> String {
    match others {
        [] => "another sweetspot measures".to_string(),
        [one] => format!("another sweetspot measures (process {one})"),
        many => {
            let ids: Vec<_> = many.iter().map(u32::to_string).collect();
            format!("other sweetspots measure (processes {})", ids.join(", "))
        }
    }
}

/// Takes a turn; with the store that is written, also where that is shared with another container.
/// Where another measures, `waits` is told so: true to wait for its end.
///
/// # Errors
/// `waits` said no, or the user stopped it.
pub fn take(
    sharing: Sharing,
    store: Option<&Path>,
    stop: &StopSignal,
    waits: &mut dyn FnMut(&Others) -> bool,
) -> Result<Turn, TurnError> {
    let Some(path) = lock_file() else { return Ok(Turn::default()) };
    let mut turn = lock(&path, sharing, stop, waits)?;
    if let Some(store) = store {
        // Where the folder cannot be made, the store cannot either, and says so itself.
        let _ = make_folder_of(store);
        let of_store = lock(&with_suffix(store, "-turn"), sharing, stop, waits)?;
        turn.of_store = Some(of_store.into());
    }
    Ok(turn)
}

fn lock(
    path: &Path,
    sharing: Sharing,
    stop: &StopSignal,
    waits: &mut dyn FnMut(&Others) -> bool,
) -> Result<Turn, TurnError> {
    let operation = match sharing {
        Sharing::Alone => FlockOperation::NonBlockingLockExclusive,
        Sharing::Shared => FlockOperation::NonBlockingLockShared,
    };
    let door = with_suffix(path, ".door");
    let mut is_told = false;
    let mut at_door = None;
    loop {
        let Ok(file) = open(path) else { return Ok(Turn::default()) };
        let locked = match sharing == Sharing::Shared && is_taken(&door) {
            true => Err(Errno::WOULDBLOCK),
            false => flock(&file, operation),
        };
        match locked {
            Ok(()) if is_at(&file, path) => return Ok(Turn::of(file)),
            // It was removed meanwhile, by who tidies that folder: others lock the new one.
            Ok(()) => continue,
            Err(Errno::WOULDBLOCK) => {}
            // A file system without locks.
            Err(_) => return Ok(Turn::default()),
        }
        if sharing == Sharing::Alone && at_door.is_none() {
            at_door = stand_at(&door);
        }
        if !is_told {
            let others = holders(&file);
            if !waits(&others) {
                return Err(TurnError::Taken(others));
            }
            is_told = true;
        }
        if stop.is_raised() {
            return Err(TurnError::Stopped);
        }
        sleep(PATIENCE);
    }
}

/// Who wants to measure alone stands at the door while others measure: who would share with them
/// comes later, or the one at the door never got in. `None`: somebody stands there already.
fn stand_at(door: &Path) -> Option<Turn> {
    let file = open(door).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(Turn::of(file))
}

fn is_taken(door: &Path) -> bool {
    let Ok(file) = open(door) else { return false };
    let locked = flock(&file, FlockOperation::NonBlockingLockShared);
    let _unlocked = Turn::of(file);
    locked == Err(Errno::WOULDBLOCK)
}

impl Turn {
    fn of(file: File) -> Self {
        Self { file: Some(file), of_store: None }
    }

    /// Who shares it.
    pub fn others(&self) -> Others {
        self.file.as_ref().map(holders).unwrap_or_default()
    }
}

/// Unlocked in so many words: a process that is just being started may still have the file open.
impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = flock(file, FlockOperation::Unlock);
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let ids = |it: fs::Metadata| (it.dev(), it.ino());
    file.metadata().ok().map(ids) == fs::symlink_metadata(path).ok().map(ids)
}

fn lock_file() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(path) if path.is_empty() => None,
        Some(path) => Some(path.into()),
        None => Some(FILE.into()),
    }
}

/// Opens the file, made where it is not there, so that any user may lock it. A link is not
/// followed, and whatever else was put there is not waited for.
fn open(path: &Path) -> io::Result<File> {
    let existing = || {
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
    };
    match existing() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(0o644))?;
            give_to_folders_owner(path)?;
            Ok(file)
        }
        // Another was faster.
        Err(_) => existing(),
    }
}

/// The other processes that lock the file.
fn holders(file: &File) -> Others {
    let Ok(metadata) = file.metadata() else { return Vec::new() };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let device = (major(metadata.dev()), minor(metadata.dev()));
    let mut others = holders_in(&locks, device, metadata.ino());
    others.retain(|id| *id != std::process::id());
    others
}

/// The processes that lock this inode of this device, of lines such as
/// `1: FLOCK  ADVISORY  WRITE 1234 fe:00:131 0 EOF`; who waits for a lock has `->` after the
/// number.
fn holders_in(locks: &str, device: (u32, u32), inode: u64) -> Others {
    let wanted = format!("{:02x}:{:02x}:{inode}", device.0, device.1);
    let holder = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, file, ..] = words[..] else { return None };
        (file == wanted).then(|| process.parse().ok().filter(|id| *id > 0)).flatten()
    };
    locks.lines().filter_map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never(_: &Others) -> bool {
        false
    }

    #[test]
    fn who_waits_to_measure_alone_comes_before_those_who_would_share() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let shared = take_of(&path, Sharing::Shared).unwrap();
        let (sender, waits) = std::sync::mpsc::channel();
        let of_thread = path.clone();
        let alone = std::thread::spawn(move || {
            let mut told = |_: &Others| sender.send(()).is_ok();
            lock(&of_thread, Sharing::Alone, &StopSignal::default(), &mut told).unwrap()
        });
        waits.recv().unwrap();
        assert!(matches!(take_of(&path, Sharing::Shared), Err(TurnError::Taken(_))));
        drop(shared);
        drop(alone.join().unwrap());
        take_of(&path, Sharing::Shared).unwrap();
    }

    fn take_of(path: &Path, sharing: Sharing) -> Result<Turn, TurnError> {
        lock(path, sharing, &StopSignal::default(), &mut never)
    }

    #[test]
    fn who_measures_alone_has_nobody_beside_it_until_the_turn_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let turn = take_of(&path, Sharing::Alone).unwrap();
        for sharing in [Sharing::Alone, Sharing::Shared] {
            assert!(matches!(take_of(&path, sharing), Err(TurnError::Taken(_))), "{sharing:?}");
        }
        drop(turn);
        let shared = [(); 2].map(|()| take_of(&path, Sharing::Shared).unwrap());
        assert!(matches!(take_of(&path, Sharing::Alone), Err(TurnError::Taken(_))));
        drop(shared);
        take_of(&path, Sharing::Alone).unwrap();
    }

    #[test]
    fn a_turn_that_is_waited_for_is_given_up_when_the_user_stops() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let _turn = take_of(&path, Sharing::Alone).unwrap();
        let stop = StopSignal::default();
        let mut waits = |_: &Others| {
            stop.raise();
            true
        };
        let ended = lock(&path, Sharing::Alone, &stop, &mut waits);
        assert!(matches!(ended, Err(TurnError::Stopped)));
    }

    #[test]
    fn a_link_is_not_followed_and_any_user_may_lock_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        open(&link).unwrap_err();
    }

    #[test]
    fn the_kernels_list_of_locks_tells_who_holds_one_and_not_who_waits() {
        let locks = "\
1: POSIX  ADVISORY  WRITE 11 fe:00:131 0 EOF
2: FLOCK  ADVISORY  WRITE 12 fe:00:131 0 EOF
2: -> FLOCK  ADVISORY  WRITE 13 fe:00:131 0 EOF
3: FLOCK  ADVISORY  READ  14 fe:00:132 0 EOF
4: FLOCK  ADVISORY  READ  0 fe:00:131 0 EOF
5: FLOCK  ADVISORY  READ  15 00:19:131 0 EOF
6: FLOCK";
        assert_eq!(holders_in(locks, (254, 0), 131), [12]);
        assert_eq!(measuring(&[]), "another sweetspot measures");
        assert_eq!(measuring(&[12, 14]), "other sweetspots measure (processes 12, 14)");
    }
}
