//! The probe as a file, for a server that somebody else starts.
//!
//! In: a folder. Out: the file in it, and how it is loaded.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::files;
use crate::monitor::LONGEST_SOCKET_PATH;
use crate::server;

/// The probe's own file in the folder.
const PROBE_FILE: &str = "sweetspot_probe.rb";
/// Where it tells, in the same folder.
pub const PROBE_SOCKET: &str = "sweetspot_probe.sock";

/// Why there is no file.
#[derive(Debug, Error)]
pub enum ProbeError {
    #[error("could not write {}: {reason}", .file.display())]
    Write { file: PathBuf, reason: io::Error },
    #[error(
        "{}: Ruby takes RUBYOPT apart at blanks; name a folder without any",
        .folder.display()
    )]
    Blank { folder: PathBuf },
    #[error(
        "{} has {length} bytes, and the path of a socket may have {}; name a folder with a shorter \
         path",
        .socket.display(),
        LONGEST_SOCKET_PATH
    )]
    Long { socket: PathBuf, length: usize },
}

/// Writes the probe into a folder, which is made if it is not there. Returns its path.
///
/// # Errors
/// It cannot be written, or Ruby could not load it from there.
pub fn write_probe(folder: &Path) -> Result<PathBuf, ProbeError> {
    let fails = |file: &Path| {
        let file = file.to_path_buf();
        move |reason| ProbeError::Write { file, reason }
    };
    fs::create_dir_all(folder).map_err(fails(folder))?;
    let folder = fs::canonicalize(folder).map_err(fails(folder))?;
    if folder.to_string_lossy().contains(char::is_whitespace) {
        return Err(ProbeError::Blank { folder });
    }
    let (file, socket) = (folder.join(PROBE_FILE), folder.join(PROBE_SOCKET));
    let length = socket.as_os_str().len();
    if length > LONGEST_SOCKET_PATH {
        return Err(ProbeError::Long { socket, length });
    }
    let script = server::probe_standing_alone(&socket);
    // The server may run as another user.
    files::publish(&file, script.as_bytes()).map_err(fails(&file))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_whose_path_would_be_too_long_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("x".repeat(LONGEST_SOCKET_PATH));
        let error = write_probe(&deep).unwrap_err().to_string();
        assert!(error.contains("may have 107"), "{error}");
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 0);
        assert!(write_probe(folder.path()).unwrap().is_file());
    }
}
