//! Files that nobody else may read, made aside before they have their names. Unlike those of
//! `files/` they are never given to the owner of their folder: what stands in them is run later.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file that was not there, with all of the text on the disk.
pub fn create(path: &Path, text: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()?;
    Ok(file)
}
