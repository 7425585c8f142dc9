//! The file that the server's output goes to. Its size on disk is bounded, however much it prints.
//!
//! In: a path. Out: a descriptor to write to. Must not read what is in it.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::{FallocateFlags, fallocate};

use crate::place::local::files;

/// Bytes at its end that are always there.
const KEPT: i64 = 1 << 20;

/// The old part is given back to the disk when it has grown to this.
const CHUNK: i64 = 16 << 20;

pub struct LogFile {
    path: PathBuf,
    file: File,
    /// Bytes from the beginning that were given back.
    forgotten: i64,
}

impl LogFile {
    /// An empty file that everybody who has it open appends to.
    pub fn create(path: &Path) -> io::Result<Self> {
        // An old file of the same name may still be held open by something: it keeps that one.
        files::remove(path)?;
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Self { path: path.to_path_buf(), file, forgotten: 0 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn output(&self) -> io::Result<Stdio> {
        Ok(self.file.try_clone()?.into())
    }

    /// Makes a hole where the old part was: positions stay as they are, so that writers and readers
    /// notice nothing.
    pub fn forget_the_old_part(&mut self) {
        let Ok(length) = self.file.metadata().map(|metadata| metadata.len()) else { return };
        let old = i64::try_from(length).unwrap_or(i64::MAX) - KEPT;
        if old - self.forgotten < CHUNK {
            return;
        }
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // File systems that cannot make a hole keep the whole log.
        let _ = fallocate(&self.file, mode, 0, old.unsigned_abs());
        self.forgotten = old;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_server_that_prints_without_end_does_not_fill_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = LogFile::create(&path).unwrap();
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..40 {
            (&log.file).write_all(&chunk).unwrap();
            log.forget_the_old_part();
        }
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.len(), 40 << 20);
        let on_disk = metadata.blocks() * 512;
        assert!(on_disk <= (KEPT + CHUNK + (2 << 20)) as u64, "{on_disk} bytes on disk");
    }
}
