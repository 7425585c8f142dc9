//! A file or folder of a lab that cannot be used.
//!
//! In and out: a value.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What was tried, where, and why it failed.
#[derive(Debug, Error)]
#[error("could not {what} {}: {source}", path.display())]
pub struct FileError {
    what: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl FileError {
    /// For `map_err`.
    pub fn of(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self { what, path: path.clone(), source }
    }
}
