//! What we make is the user's own, and what root makes in somebody's folder is theirs: they could
//! else neither read nor remove it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, lchown};
use std::path::Path;

/// The folder that we make for ourselves in an app's.
const OWN_FOLDER: &str = ".sweetspot";

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

/// A file that was not there, that only the user may read and write.
///
/// # Errors
/// It is there, also as a link that leads nowhere, or it cannot be made.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.append(true).create_new(true).mode(0o600).open(path)?;
    give_to_folders_owner(path)?;
    Ok(file)
}

/// Makes the folder that a file is to be in: one that only this user may enter; one of ours that
/// version control leaves alone. One that is there stays as it is.
///
/// # Errors
/// It cannot be made, or not be given to the owner of the folder that it is in.
pub fn make_folder_of(file: &Path) -> io::Result<()> {
    match file.parent() {
        // The current one has no name here.
        Some(folder) if !folder.as_os_str().is_empty() => make_own_folder(folder),
        _ => Ok(()),
    }
}

fn make_own_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    give_to_folders_owner(folder)?;
    match folder.ends_with(OWN_FOLDER) {
        true => create_new(&folder.join(".gitignore"))?.write_all(b"*\n"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_file_is_made_and_the_current_one_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(OWN_FOLDER).join("lab.json");
        make_folder_of(&file).unwrap();
        assert!(file.with_file_name(".gitignore").exists());
        make_folder_of(&file).unwrap();
        make_folder_of(Path::new("lab.json")).unwrap();
    }
}
