//! The probe as a file, for a server that somebody else starts.
//!
//! In: a folder. Out: the file in it, and how it is loaded.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

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
    let file = folder.join(PROBE_FILE);
    let script = server::probe_standing_alone(&folder.join(PROBE_SOCKET));
    fs::write(&file, script).map_err(fails(&file))?;
    Ok(file)
}
