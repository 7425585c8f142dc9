//! What root makes in somebody's folder is theirs: they could else neither read nor remove it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

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
