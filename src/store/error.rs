//! Why the store failed, in words that name the file and the way out.
//!
//! In: what SQLite or the operating system said. Out: a [`StoreError`]. Must not touch the file.

use std::io;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};
use rustix::fs::Access;
use rustix::io::Errno;
use thiserror::Error;

/// What a caller can do something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// There is no such file.
    Missing,
    /// There is no such session in it.
    NoSuchSession,
    /// This user may not read or write it, or it lies on a read-only file system.
    Permission,
    /// No space is left, or a quota or file-size limit is reached.
    Full,
    /// Another run holds it.
    Locked,
    /// It is something else, or damaged.
    NotOurs,
    /// A newer version wrote it.
    Newer,
    /// Anything else that the operating system reports.
    Environment,
    /// An event that cannot be stored: our own fault.
    Bug,
}

/// Why the store failed; the environment's doing unless `kind` says otherwise, with the file's name
/// and a way out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("could not {what} {path}: {message}")]
pub struct StoreError {
    pub kind: StoreErrorKind,
    pub what: &'static str,
    pub path: String,
    /// What happened and what to do ("the disk is full; free some space or name another file with
    /// --store").
    pub message: String,
}

const ELSEWHERE: &str = "name another file with --store";

impl StoreError {
    pub(super) fn new(
        kind: StoreErrorKind,
        what: &'static str,
        path: &Path,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, what, path: path.display().to_string(), message: message.into() }
    }

    /// The operating system refused something before SQLite had its turn.
    pub(super) fn from_io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind;
        let (kind, message) = match error.kind() {
            ErrorKind::PermissionDenied => (
                StoreErrorKind::Permission,
                format!("this user may not write there; change its permissions or {ELSEWHERE}"),
            ),
            ErrorKind::ReadOnlyFilesystem => (
                StoreErrorKind::Permission,
                format!("it lies on a read-only file system; {ELSEWHERE}"),
            ),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                (StoreErrorKind::Full, full())
            }
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => (
                StoreErrorKind::Environment,
                format!("a part of this path is a file and no folder; {ELSEWHERE}"),
            ),
            _ => (StoreErrorKind::Environment, format!("{error}; {ELSEWHERE}")),
        };
        Self::new(kind, what, path, message)
    }

    /// SQLite refused.
    pub(super) fn from_sqlite(what: &'static str, path: &Path, error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let (kind, message) = match code {
            Some(ErrorCode::CannotOpen) if path.is_dir() => {
                (StoreErrorKind::NotOurs, format!("it is a folder; {ELSEWHERE}"))
            }
            Some(ErrorCode::CannotOpen) if is_unreadable(path) => (
                StoreErrorKind::Permission,
                format!("this user may not read it; change its permissions or {ELSEWHERE}"),
            ),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                (StoreErrorKind::Permission, not_writable())
            }
            Some(ErrorCode::DiskFull) => (StoreErrorKind::Full, full()),
            // SQLite calls only ENOSPC a full disk; quotas and size limits are failed writes to it.
            Some(ErrorCode::SystemIoFailure) if is_failed_write(error) => {
                (StoreErrorKind::Full, full())
            }
            Some(ErrorCode::SystemIoFailure) => (
                StoreErrorKind::Environment,
                format!(
                    "the operating system reports an input/output error ({error}); look at free \
                     space, quotas and the disk's health, or {ELSEWHERE}"
                ),
            ),
            Some(ErrorCode::NotADatabase) => (
                StoreErrorKind::NotOurs,
                format!("it is no database; move it out of the way or {ELSEWHERE}"),
            ),
            // Our statements are always the same ones: what they stumble over is the file.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => damaged(error),
            None if is_unreadable_value(error) => damaged(error),
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => (
                StoreErrorKind::Locked,
                format!("another run holds it; wait until that one ends or {ELSEWHERE}"),
            ),
            _ => (StoreErrorKind::Environment, format!("{error}; {ELSEWHERE}")),
        };
        Self::new(kind, what, path, message)
    }
}

fn is_unreadable(path: &Path) -> bool {
    rustix::fs::access(path, Access::READ_OK) == Err(Errno::ACCESS)
}

fn is_failed_write(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE))
}

/// A column holds what we never write there.
fn is_unreadable_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..)
    )
}

fn damaged(error: &rusqlite::Error) -> (StoreErrorKind, String) {
    let message = format!(
        "its content is damaged ({error}); save what can be read with the sqlite3 command \
         '.recover', or move it out of the way"
    );
    (StoreErrorKind::NotOurs, message)
}

fn full() -> String {
    format!(
        "no space is left for it, or a quota or size limit is reached; free some space, raise the \
         limit or {ELSEWHERE}"
    )
}

pub(super) fn not_writable() -> String {
    format!(
        "this user may not write it or the folder it lies in; change their permissions \
         or {ELSEWHERE}"
    )
}
