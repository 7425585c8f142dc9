//! The secret that a store's fingerprints are made with: who has a fingerprint alone can try no
//! guesses at what went into it.
//!
//! In: a store's path. Out: 32 random bytes, in a file beside the store that only the user may
//! read, made when they are first asked for.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ring::rand::{SecureRandom, SystemRandom};

use crate::files::{create_whole, with_suffix};

/// As many as SHA-256 gives.
pub type Key = [u8; 32];

/// The store's key. A file that holds no whole key is replaced: sessions that were cut off are not
/// gone on with then.
///
/// # Errors
/// The file cannot be made or read.
pub(super) fn of(store: &Path) -> io::Result<Key> {
    let path = with_suffix(store, "-key");
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => fs::remove_file(&path)?,
        read => return read,
    }
    let mut key = Key::default();
    let random = SystemRandom::new().fill(&mut key);
    random.map_err(|_| io::Error::other("the system gives no random numbers"))?;
    create_whole(&path, &key)?;
    read(&path)
}

/// A link is not followed, and whatever else was put there is not waited for.
fn read(path: &Path) -> io::Result<Key> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut key = Key::default();
    file.read_exact(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_store_has_one_key_of_its_own_that_only_the_user_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("a.db"), folder.path().join("b.db"));
        let key = of(&one).unwrap();
        assert_eq!(of(&one).unwrap(), key);
        assert_ne!(of(&other).unwrap(), key);
        let file = folder.path().join("a.db-key");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        fs::write(&file, "cut off").unwrap();
        assert_ne!(of(&one).unwrap(), key);
    }

    #[test]
    fn a_link_in_the_files_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("s.db");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("s.db-key")).unwrap();
        of(&store).unwrap_err();
    }
}
