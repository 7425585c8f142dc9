//! What has to be in the scratch folder before a server is started.
//!
//! In: a recipe. Out: its files, and no socket of an earlier server's.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::fchown;
use std::path::Path;

use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::io::Errno;

use super::error::environment;
use crate::place::PlaceError;
use crate::server::{Listen, Recipe, RunAs, Upstream};
use crate::terms::Task;

/// Writes a recipe's files, which are this user's then. Also takes away the sockets of an earlier
/// server that could not: not every server opens one that is there.
///
/// # Errors
/// The folder cannot be written to.
pub fn write(recipe: &Recipe, scratch: &Path, owner: Option<&RunAs>) -> Result<(), PlaceError> {
    if let Upstream::Http(places) = &recipe.upstream {
        for place in places {
            if let Listen::Socket(path) = place {
                let what = || Task::RemoveFile { path: path.display().to_string() };
                remove(path).map_err(|error| environment(what(), error))?;
            }
        }
    }
    for (name, content) in &recipe.files {
        let path = scratch.join(name);
        write_anew(&path, content.as_bytes(), owner).map_err(|error| {
            environment(Task::WriteFile { path: path.display().to_string() }, error)
        })?;
    }
    Ok(())
}

/// Takes away what may not be there.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A file that was not there: the folder is the server's user's, who could have put a link there to
/// what only we may write.
fn write_anew(path: &Path, content: &[u8], owner: Option<&RunAs>) -> io::Result<()> {
    remove(path)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    owner.map_or(Ok(()), |user| fchown(&file, Some(user.uid), Some(user.gid)))
}

/// A file that was not there, below a folder that may be this user's: no link is followed, and the
/// folders on the way that are made are the user's as well.
pub fn write_below(
    folder: &Path,
    name: &Path,
    content: &[u8],
    owner: Option<&RunAs>,
) -> io::Result<()> {
    let give = |to: BorrowedFd<'_>| {
        owner.map_or(Ok(()), |user| fchown(to, Some(user.uid), Some(user.gid)))
    };
    let enter = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut inside = open(folder, enter, Mode::empty())?;
    for part in name.parent().into_iter().flatten() {
        match mkdirat(&inside, part, Mode::from_raw_mode(0o755)) {
            Err(error) if error != Errno::EXIST => return Err(error.into()),
            _ => inside = openat(&inside, part, enter, Mode::empty())?,
        }
        give(inside.as_fd())?;
    }
    let make = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let last = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = File::from(openat(&inside, last, make, Mode::from_raw_mode(0o644))?);
    file.write_all(content)?;
    give(file.as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_below_a_folder_through_a_link() {
        let (folder, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |name: &str| write_below(folder.path(), Path::new(name), b"theirs", None);
        write("app/config/puma.rb").unwrap();
        write("app/config.ru").unwrap();
        assert_eq!(std::fs::read(folder.path().join("app/config/puma.rb")).unwrap(), b"theirs");
        std::os::unix::fs::symlink(ours.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(ours.path().join("it"), folder.path().join("app/it")).unwrap();
        for name in ["link/it", "app/it", "app/config.ru"] {
            assert!(write(name).is_err(), "{name}");
        }
        assert_eq!(std::fs::read_dir(ours.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_link_leads_to_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, link) = (folder.path().join("ours"), folder.path().join("nginx.conf"));
        std::fs::write(&ours, "ours").unwrap();
        std::os::unix::fs::symlink(&ours, &link).unwrap();
        write_anew(&link, b"theirs", None).unwrap();
        assert_eq!(std::fs::read(&ours).unwrap(), b"ours");
        assert_eq!(std::fs::read(&link).unwrap(), b"theirs");
    }
}
