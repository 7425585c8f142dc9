//! The steps of opening a store's file.
//!
//! In: a path or a connection. Out: what may be gone on with, or why not. Must not change what is
//! not ours.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::{StoreError, StoreErrorKind};
use super::schema::{self, Found};
use super::writers;
use crate::files::{create_new, make_folder_of};

/// How long to wait for another run to finish writing.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Makes the folder and an empty file, so that the operating system's own reason is known when it
/// refuses. A file that is there is not opened: closing it would drop the locks of another `Store`.
pub(super) fn create(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    make_folder_of(path)?;
    match create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Opens the file as it lies there: takes no lock, looks for no log and writes nothing.
pub(super) fn open_untouched(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{}?immutable=1", in_address(path)), flags)
}

/// Refuses another program's database and a newer version's store before a byte of them changes:
/// the first ordinary look at a database may already roll back its journal or make files beside it.
/// A file whose tables are in its log alone looks empty here and is looked at again.
pub(super) fn refuse_what_is_not_ours(path: &Path) -> Result<(), StoreError> {
    match open_untouched(path).and_then(|connection| schema::look(&connection)) {
        Ok(found) => schema::check(found, path, schema::STEPS.len()),
        // Opening it in earnest says why.
        Err(_) => Ok(()),
    }
}

/// Who writes an older format goes on with it, and could not once it is a newer one.
pub(super) fn refuse_to_migrate_under(
    found: Found,
    path: &Path,
    what: &'static str,
) -> Result<(), StoreError> {
    let is_older = matches!(found, Found::Ours(version) if version < schema::STEPS.len());
    if !is_older || !writers::is_any_written(path) {
        return Ok(());
    }
    let message = "an older sweetspot writes a session there; wait until it ends";
    Err(StoreError::new(StoreErrorKind::Locked, what, path, message))
}

/// Switches to the write-ahead log. SQLite does not wait for another program in this one step.
pub(super) fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// What SQLite's `file:` addresses do not hold as it is.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

fn in_address(path: &Path) -> impl fmt::Display {
    percent_encode(path.as_os_str().as_encoded_bytes(), RESERVED)
}
