//! That an app elsewhere has been changed, and the command that puts it back: written down before
//! it is changed, so that somebody else can put it back should we be killed.
//!
//! In: a file's path, and the command. Out: a [`Note`], which is the session's as long as it lives.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::files::with_suffix;
use crate::monitor;
use crate::place::private;

/// What is written down. No `Debug`: the command may hold a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Where the app answers.
    pub url: String,
    /// Puts it back.
    pub restore: String,
    /// Where the session runs its commands; `None`: that folder is gone, or its name no text.
    pub folder: Option<String>,
}

/// Of a file's mode: its group's, and everybody's.
const OTHERS_MAY_WRITE: u32 = 0o022;

/// Added to a store's name.
const SUFFIX: &str = ".changed.json";

/// Added to a note's name: which process runs a command of its session.
const COMMAND: &str = ".command";

/// A note that is ours; others are kept from it until it is dropped.
pub struct Note {
    path: PathBuf,
    _locked: Locked,
    /// The process that runs a command, or ran the last one: its id.
    command: File,
}

/// A note's file, and the kernel's lock on it.
struct Locked(File);

/// Unlocked in so many words: a process that is just being started may still have the file open.
impl Drop for Locked {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Why there is no such note, or none for us.
#[derive(Debug, Error)]
pub enum NoteError {
    #[error("another session changes this app and goes on ({} is locked)", path.display())]
    Held { path: PathBuf },
    #[error(
        "a session that was cut off has left the app changed ({} says so); put it back with \
         'sweetspot restore{}'",
        path.display(),
        of_store(path)
    )]
    LeftBehind { path: PathBuf },
    #[error("{} is no note of a session ({why}); look at the app, and remove it", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error(
        "{} holds a command to be run, and is not yours alone; look at it, and run that yourself",
        path.display()
    )]
    NotOurs { path: PathBuf },
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Where the note of a session stands whose results are kept in this store.
pub fn beside(store: &Path) -> PathBuf {
    with_suffix(store, SUFFIX)
}

/// What has to be typed for `restore` to find it.
pub fn of_store(note: &Path) -> String {
    let text = note.display().to_string();
    let store = text.strip_suffix(SUFFIX).unwrap_or(&text);
    // No path holds the one byte that a shell cannot be told.
    format!(" --store {}", shlex::try_quote(store).unwrap_or_default())
}

/// # Errors
/// There is a note: another session goes on, or has left the app changed.
pub fn check(path: &Path) -> Result<(), NoteError> {
    match (path.exists(), path.to_path_buf()) {
        (false, _) => Ok(()),
        (true, path) => Err(match open(&path)? {
            Some(_) => NoteError::LeftBehind { path },
            None => NoteError::Held { path },
        }),
    }
}

impl Note {
    /// Writes it, in a file that nobody else may read: as a whole or not at all.
    ///
    /// # Errors
    /// There is one already, or it cannot be written.
    pub fn write(path: &Path, written: &Written) -> Result<Self, NoteError> {
        let failed = |source| NoteError::File { path: path.to_path_buf(), source };
        let text = serde_json::to_string(written).map_err(io::Error::from).map_err(failed)?;
        let aside = with_suffix(path, &format!(".{}", std::process::id()));
        let kept = private::create(&aside, text.as_bytes()).and_then(|file| {
            let locked = lock(file)?;
            // Fails where there is one, as a rename would not.
            fs::hard_link(&aside, path)?;
            Ok(locked)
        });
        // It has its name, or nobody needs it.
        let _ = fs::remove_file(&aside);
        match kept {
            Ok(locked) => Self::of(path, locked),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                check(path)?;
                Err(failed(error))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Takes up what a session has left; `None`: none has.
    ///
    /// # Errors
    /// That session goes on, or it cannot be read, or others could have written it.
    pub fn take_up(path: &Path) -> Result<Option<(Self, Written)>, NoteError> {
        if !path.exists() {
            return Ok(None);
        }
        let failed = |source| NoteError::File { path: path.to_path_buf(), source };
        let locked = open(path)?.ok_or_else(|| NoteError::Held { path: path.to_path_buf() })?;
        let mut file = &locked.0;
        let found = file.metadata().map_err(failed)?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || found.mode() & OTHERS_MAY_WRITE != 0 {
            return Err(NoteError::NotOurs { path: path.to_path_buf() });
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let written = serde_json::from_str(&text).map_err(|error| NoteError::Unreadable {
            path: path.to_path_buf(),
            why: error.to_string(),
        })?;
        Ok(Some((Self::of(path, locked)?, written)))
    }

    fn of(path: &Path, locked: Locked) -> Result<Self, NoteError> {
        let own = with_suffix(path, COMMAND);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let command = options.open(&own).map_err(|source| NoteError::File { path: own, source })?;
        Ok(Self { path: path.to_path_buf(), _locked: locked, command })
    }

    /// Where the process of each command is written down.
    pub fn command(&self) -> &File {
        &self.command
    }

    /// The process of the last command, where it still runs: whoever was killed has left it, and
    /// what it changes is not to be put back before it has ended.
    pub fn command_left(&self) -> Option<u32> {
        let own = with_suffix(&self.path, COMMAND);
        let written = fs::metadata(&own).and_then(|it| it.modified()).ok()?;
        let pid: u32 = fs::read_to_string(&own).ok()?.trim().parse().ok()?;
        // A later process may have its id.
        let began = SystemTime::now() - monitor::age(pid)?;
        (began <= written + Duration::from_secs(1)).then_some(pid)
    }

    /// The app is as it was.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), NoteError> {
        let path = self.path;
        // Without its note nobody looks for it.
        let _ = fs::remove_file(with_suffix(&path, COMMAND));
        fs::remove_file(&path).map_err(|source| NoteError::File { path, source })
    }
}

/// A note that is there, locked; `None`: another has it.
fn open(path: &Path) -> Result<Option<Locked>, NoteError> {
    let failed = |source| NoteError::File { path: path.to_path_buf(), source };
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NOFOLLOW).open(path).map_err(failed)?;
    match lock(file) {
        Ok(locked) => Ok(Some(locked)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn lock(file: File) -> io::Result<Locked> {
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(Locked(file))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use super::super::command;
    use super::*;
    use crate::place::child;

    #[test]
    fn a_command_that_was_left_is_known_until_it_has_ended_and_another_process_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = beside(&folder.path().join("results.db"));
        let written =
            Written { url: "http://app1:3000".into(), restore: "undo it".into(), folder: None };
        let note = Note::write(&path, &written).unwrap();
        assert_eq!(note.command_left(), None);
        let mut child =
            command::shell("sleep 60", &BTreeMap::new(), Some(note.command())).spawn().unwrap();
        assert_eq!(note.command_left(), Some(child.id()));
        child::end(&mut child);
        assert_eq!(note.command_left(), None);
        // Of this id, but younger than what is written.
        let later = SystemTime::now() - Duration::from_secs(3600);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        fs::write(with_suffix(&path, COMMAND), child.id().to_string()).unwrap();
        let times = fs::FileTimes::new().set_modified(later);
        let file = OpenOptions::new().write(true).open(with_suffix(&path, COMMAND)).unwrap();
        file.set_times(times).unwrap();
        assert_eq!(note.command_left(), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_note_is_one_sessions_until_that_ends_and_then_says_how_to_put_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = beside(&folder.path().join("results.db"));
        assert!(of_store(&path).ends_with("/results.db"));
        let with_space = beside(Path::new("/srv/my shop/s.db"));
        assert_eq!(of_store(&with_space), " --store '/srv/my shop/s.db'");
        let written =
            Written { url: "http://app1:3000".into(), restore: "undo it".into(), folder: None };
        assert!(Note::take_up(&path).unwrap().is_none());
        let note = Note::write(&path, &written).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(matches!(Note::write(&path, &written), Err(NoteError::Held { .. })));
        assert!(matches!(Note::take_up(&path), Err(NoteError::Held { .. })));
        drop(note);
        let error = Note::write(&path, &written).err().unwrap();
        assert!(matches!(error, NoteError::LeftBehind { .. }), "{error}");
        let (note, left) = Note::take_up(&path).unwrap().unwrap();
        assert!(left == written);
        note.remove().unwrap();
        assert!(!path.exists() && Note::take_up(&path).unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing else is left");
        check(&path).unwrap();
        fs::write(&path, "half a no").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(Note::take_up(&path), Err(NoteError::NotOurs { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Note::take_up(&path), Err(NoteError::Unreadable { .. })));
    }
}
