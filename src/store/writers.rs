//! Who writes a session, as the kernel knows it: a program whose process is out of sight, in
//! another container on the same store, lives all the same.
//!
//! In: a store's path and a session's number. Out: locks, a byte for each session of a file beside
//! the store; they end with their process, however that ends. (The column `owner` of the table of
//! sessions, by its process id, is what versions without these locks go by.)

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

use crate::files::{give_to_folders_owner, with_suffix};

/// The sessions that a store writes, locked until this is dropped.
#[derive(Debug)]
pub(super) struct Writers(File);

impl Writers {
    /// # Errors
    /// The file beside the store, which the error names, cannot be made or opened.
    pub fn of(store: &Path) -> io::Result<Self> {
        let path = file_of(store);
        open(&path)
            .map(Self)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// True when the session is ours to write from now on; false where another program writes it. A
    /// file system without locks lets everybody write.
    ///
    /// # Errors
    /// The kernel refuses for another reason.
    pub fn lock(&self, session: i64) -> io::Result<bool> {
        match fcntl(&self.0, FcntlArg::F_OFD_SETLK(&range(libc::F_WRLCK, session, 1))) {
            Ok(_) | Err(Errno::EINVAL | Errno::ENOLCK | Errno::EOPNOTSUPP) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Unlocked in so many words: a process that is just being started may still have the file open.
impl Drop for Writers {
    fn drop(&mut self) {
        let _ = fcntl(&self.0, FcntlArg::F_OFD_SETLK(&range(libc::F_UNLCK, 0, 0)));
    }
}

/// True while a program writes the session, wherever it runs on this machine, and other than by
/// `own` locks.
pub(super) fn is_written(store: &Path, session: i64, own: Option<&Writers>) -> bool {
    if let Some(Writers(file)) = own {
        return is_locked(file, session);
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(FLAGS).open(file_of(store));
    file.is_ok_and(|file| is_locked(&file, session))
}

/// True while a program writes any session.
pub(super) fn is_any_written(store: &Path) -> bool {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(FLAGS).open(file_of(store));
    // A length of 0: all of the file.
    file.is_ok_and(|file| is_range_locked(&file, range(libc::F_WRLCK, 0, 0)))
}

/// A link is not followed, and whatever else was put there is not waited for.
const FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(FLAGS);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        made => {
            let file = made?;
            give_to_folders_owner(path)?;
            Ok(file)
        }
    }
}

fn is_locked(file: &File, session: i64) -> bool {
    is_range_locked(file, range(libc::F_WRLCK, session, 1))
}

fn is_range_locked(file: &File, mut found: libc::flock) -> bool {
    let is_asked = fcntl(file, FcntlArg::F_OFD_GETLK(&mut found)).is_ok();
    is_asked && found.l_type != libc::F_UNLCK as libc::c_short
}

fn file_of(store: &Path) -> PathBuf {
    with_suffix(store, "-lock")
}

/// Bytes of the file, all from the first one on where the length is 0.
fn range(kind: i32, start: i64, length: i64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        // It has to be 0 for locks of an open file, which are no process's.
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_one_writer_until_that_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("s.db");
        assert!(!is_written(&store, 1, None) && !is_any_written(&store));
        let first = Writers::of(&store).unwrap();
        let second = Writers::of(&store).unwrap();
        assert!(first.lock(1).unwrap() && first.lock(1).unwrap());
        assert!(!second.lock(1).unwrap());
        assert!(second.lock(2).unwrap());
        assert!(is_written(&store, 1, None) && is_written(&store, 2, None));
        assert!(is_any_written(&store));
        assert!(!is_written(&store, 1, Some(&first)) && is_written(&store, 1, Some(&second)));
        drop(first);
        assert!(!is_written(&store, 1, None) && is_written(&store, 2, None));
        assert!(second.lock(1).unwrap());
    }

    #[test]
    fn a_link_in_the_files_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("s.db");
        std::os::unix::fs::symlink("/etc/passwd", file_of(&store)).unwrap();
        let error = Writers::of(&store).unwrap_err().to_string();
        assert!(error.contains("s.db-lock: "), "{error}");
        assert!(!is_written(&store, 1, None));
    }
}
