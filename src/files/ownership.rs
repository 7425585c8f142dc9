//! The store's file and folder are the user's own, and what root makes in somebody's folder is
//! theirs: they could else neither read nor remove it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, lchown};
use std::path::Path;

/// Where the store lies unless the user says otherwise, from the current folder.
pub const DEFAULT_PATH: &str = ".sweetspot/sweetspot.db";

/// Gives what we have just made to the owner of the folder that it is in, where we are root and the
/// folder is not.
///
/// # Errors
/// It is gone, or it may not be given away.
pub fn give_to_folders_owner(path: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let owner = fs::metadata(folder.unwrap_or(Path::new(".")))?;
    match owner.uid() {
        0 => Ok(()),
        uid => lchown(path, Some(uid), Some(owner.gid())),
    }
}

/// Makes the folder and an empty file, so that the operating system's own reason is known when it
/// refuses. A file that is there is not opened: closing it would drop the locks of another `Store`.
pub(super) fn create(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|_| give_to_folders_owner(path)),
    }
}

/// A folder that only this user may enter; one of ours that version control leaves alone.
fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    give_to_folders_owner(folder)?;
    match Path::new(DEFAULT_PATH).parent() {
        Some(own) if folder.ends_with(own) => {
            let ignored = folder.join(".gitignore");
            OpenOptions::new().write(true).create_new(true).open(&ignored)?.write_all(b"*\n")?;
            give_to_folders_owner(&ignored)
        }
        _ => Ok(()),
    }
}
