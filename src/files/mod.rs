//! Files that are written whole or not at all, and belong to the user.
//!
//! In: a path and what belongs there. Out: that file, or the one that was there before.

mod ownership;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

pub use ownership::{create_new, give_to_folders_owner, make_folder_of};

/// Puts `content` in the place of the file, whole or not at all: it is written beside it and
/// renamed. What is no regular file (a pipe, `/dev/stdout`) is written to as it is.
///
/// # Errors
/// It cannot be written: it is as it was.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return OpenOptions::new().write(true).open(path)?.write_all(content);
    }
    // A link keeps pointing where it pointed.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let beside = beside(&path)?;
    let result = write(&beside, content, &path).and_then(|()| fs::rename(&beside, &path));
    if result.is_err() {
        // It may never have been made; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    result
}

/// As [`replace`], for all users to read. A link that is there makes room for it, and is not
/// followed.
///
/// # Errors
/// It cannot be written.
pub fn publish(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.is_symlink() {
        fs::remove_file(path)?;
    }
    replace(path, content)?;
    fs::set_permissions(path, Permissions::from_mode(0o644))
}

/// Puts these files into a folder, which is made where it is not there: all of them or none. Each
/// is written beside its place first, so that nothing is left to fail when they are renamed.
///
/// # Errors
/// One cannot be written: the folder is as it was.
pub fn replace_all(folder: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    let is_new = match fs::create_dir(folder) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    let mut written = Vec::new();
    let result = files.iter().try_for_each(|(name, content)| {
        let path = folder.join(name);
        // A folder of that name would stop the renaming half-way.
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let beside = beside(&path)?;
        written.push((beside.clone(), path.clone()));
        write(&beside, content.as_bytes(), &path)
    });
    let result = result
        .and_then(|()| written.iter().try_for_each(|(beside, path)| fs::rename(beside, path)));
    if result.is_err() {
        // What was never made or has been renamed is not there: the first error is the one to tell.
        written.iter().for_each(|(beside, _)| drop(fs::remove_file(beside)));
        if is_new {
            drop(fs::remove_dir(folder));
        }
    }
    result
}

/// Adds to a file that others have written to, after a blank line.
///
/// # Errors
/// It cannot be written.
pub fn append(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = open_to_add(path)?;
    let before: &[u8] = if file.metadata()?.len() == 0 { b"" } else { b"\n" };
    // In one go, as far as the system lets us: others may write as well.
    file.write_all(&[before, content].concat())
}

/// Opened to add to it; made where it is not there.
///
/// # Errors
/// It cannot be opened or made.
pub fn open_to_add(path: &Path) -> io::Result<File> {
    match create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().append(true).open(path)
        }
        made => made,
    }
}

/// A file that was not there, whole or not at all: of two programs that make it, the first one's
/// counts.
///
/// # Errors
/// It cannot be made; that it is there is none.
pub fn create_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = beside(path)?;
    let made = write(&beside, content, path).and_then(|()| match fs::hard_link(&beside, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    // It may never have been made; the first error is the one to tell.
    let _ = fs::remove_file(&beside);
    made
}

/// The path with this behind its name: `s.db` and `-lock` are `s.db-lock`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// A name of our own in the same folder, so that renaming is one step.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(beside))
}

/// A new file, never through a link, with the mode and the owner of the one whose place it takes;
/// without one, as [`create_new`] makes it.
fn write(path: &Path, content: &[u8], place: &Path) -> io::Result<()> {
    // What an earlier process of our number left.
    let _ = fs::remove_file(path);
    let mut file = create_new(path)?;
    file.write_all(content)?;
    if let Ok(before) = fs::metadata(place) {
        // Only root may give a file away: what we may replace and do not own is ours then.
        let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
        file.set_permissions(Permissions::from_mode(before.mode() & 0o777))?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_replaced_keeps_its_mode_and_no_link_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (report, theirs) = (folder.path().join("r.html"), folder.path().join("theirs"));
        fs::write(&report, "old").unwrap();
        fs::set_permissions(&report, Permissions::from_mode(0o640)).unwrap();
        fs::write(&theirs, "theirs").unwrap();
        std::os::unix::fs::symlink(&theirs, beside(&report).unwrap()).unwrap();
        replace(&report, b"new").unwrap();
        assert_eq!(fs::read(&report).unwrap(), b"new");
        assert_eq!(fs::metadata(&report).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_for_all_users_may_be_read_by_them_and_takes_the_place_of_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (script, theirs) = (folder.path().join("s.rb"), folder.path().join("theirs"));
        fs::write(&theirs, "theirs").unwrap();
        std::os::unix::fs::symlink(&theirs, &script).unwrap();
        for content in [b"one", b"two"] {
            publish(&script, content).unwrap();
            assert_eq!(fs::read(&script).unwrap(), content);
        }
        assert_eq!(fs::symlink_metadata(&script).unwrap().mode() & 0o170_777, 0o100_644);
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_new_may_be_read_by_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [whole, added] = ["whole", "added"].map(|name| folder.path().join(name));
        replace(&whole, b"it").unwrap();
        append(&added, b"one").unwrap();
        append(&added, b"two").unwrap();
        assert_eq!(fs::read(&added).unwrap(), b"one\ntwo");
        for path in [whole, added] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
        }
    }
}
