//! The tables, and how a file of an older version becomes one of this version.
//!
//! In: an open connection. Out: the same with today's tables. Knows nothing of events.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rusqlite::{Connection, TransactionBehavior};

use super::error::{StoreError, StoreErrorKind};
use crate::files::{create_new, with_suffix};

/// Marks the file as ours (`PRAGMA application_id`): "swsp".
const APPLICATION_ID: i32 = 0x7377_7370;

/// What turns version N into N + 1, beginning with an empty file: today's version is their number.
pub(super) const STEPS: &[&str] = &[
    "
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a removed session's number is not used again
        fingerprint TEXT NOT NULL,
        app TEXT NOT NULL,
        server TEXT NOT NULL,
        started_at TEXT NOT NULL,
        state TEXT NOT NULL,
        decision TEXT,                         -- JSON
        owner TEXT NOT NULL                    -- the process that writes it
    );
    CREATE TABLE events (
        session INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        at_s REAL NOT NULL,
        kind TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) WITHOUT ROWID;
    CREATE TABLE trials (                      -- not used: the events have it all
        session INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        id INTEGER NOT NULL,
        workers INTEGER NOT NULL,
        threads INTEGER NOT NULL,
        purpose TEXT NOT NULL,
        verdict TEXT NOT NULL,
        summary TEXT NOT NULL,                 -- JSON
        PRIMARY KEY (session, id)
    ) WITHOUT ROWID;
",
    "
    CREATE TABLE live (                        -- the running trial's seconds, until it has ended
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        json TEXT NOT NULL
    );
",
];

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No table yet.
    Empty,
    Ours(usize),
    Foreign,
}

/// Gives the file the tables of this version: makes them, or migrates after copying the old file.
///
/// # Errors
/// The file belongs to another program or a newer version, or cannot be written.
pub(super) fn bring_up(
    connection: &mut Connection,
    path: &Path,
    steps: &[&str],
) -> Result<(), StoreError> {
    let what = "open the store";
    let broken = |error: rusqlite::Error| StoreError::from_sqlite(what, path, &error);
    let found = look(connection).map_err(broken)?;
    if found == Found::Ours(steps.len()) {
        return Ok(());
    }
    check(found, path, steps.len())?;
    if let Found::Ours(version) = found {
        keep_old(connection, path, version).map_err(broken)?;
    }
    // The lock is taken before looking again: another run may have brought the file up meanwhile.
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let version = match look(&transaction).map_err(broken)? {
        Found::Ours(version) => version,
        _ => 0,
    };
    for step in steps.iter().skip(version) {
        transaction.execute_batch(step).map_err(broken)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(broken)?;
    transaction.pragma_update(None, "user_version", steps.len() as i64).map_err(broken)?;
    transaction.commit().map_err(broken)
}

/// Refuses what is not ours to read, without writing anything.
///
/// # Errors
/// The file is empty, belongs to another program, or to another version than this one.
pub(super) fn require_current(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let what = "read the store";
    let found = look(connection).map_err(|error| StoreError::from_sqlite(what, path, &error))?;
    check(found, path, STEPS.len())?;
    match found {
        Found::Ours(version) if version == STEPS.len() => Ok(()),
        Found::Ours(version) => Err(StoreError::new(
            StoreErrorKind::Permission,
            what,
            path,
            format!(
                "it has format {version} and would have to be brought to format {}, but this user \
                 may not write it; copy it to a folder of your own and name that with --store",
                STEPS.len()
            ),
        )),
        Found::Empty | Found::Foreign => {
            Err(StoreError::new(StoreErrorKind::Missing, what, path, "it holds no session yet"))
        }
    }
}

/// What the file is, by its tables and its header.
pub(super) fn look(connection: &Connection) -> rusqlite::Result<Found> {
    let read = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let version: i64 = read("user_version")?;
    let application: i64 = read("application_id")?;
    Ok(match (application == i64::from(APPLICATION_ID), tables, version) {
        (true, _, 1..) => Found::Ours(usize::try_from(version).unwrap_or(usize::MAX)),
        (_, 0, 0) => Found::Empty,
        _ => Found::Foreign,
    })
}

/// # Errors
/// The file belongs to another program or a newer version.
pub(super) fn check(found: Found, path: &Path, newest: usize) -> Result<(), StoreError> {
    let (kind, message) = match found {
        Found::Ours(version) if version > newest => (
            StoreErrorKind::Newer,
            format!(
                "it was written by a newer sweetspot (format {version}; this one knows up to \
                 {newest}) and is left as it was; update sweetspot or name another file with \
                 --store"
            ),
        ),
        Found::Foreign => (
            StoreErrorKind::NotOurs,
            "it is a database of another program and is left as it was; name another file with \
             --store"
                .to_string(),
        ),
        _ => return Ok(()),
    };
    Err(StoreError::new(kind, "open the store", path, message))
}

/// The file beside it (`sweetspot.db.v1`) in which a store of that format is kept.
fn copy_of(path: &Path, version: usize) -> PathBuf {
    with_suffix(path, &format!(".v{version}"))
}

/// Such a copy while it is being written.
fn unfinished(copy: &Path) -> PathBuf {
    with_suffix(copy, ".tmp")
}

/// Removes those copies, of any format.
pub(super) fn remove_copies(path: &Path) -> io::Result<()> {
    let copies = (1..STEPS.len()).map(|version| copy_of(path, version));
    for copy in copies.flat_map(|copy| [unfinished(&copy), copy]) {
        match fs::remove_file(copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Copies the file beside itself before it is changed; an older copy is left alone. A copy that was
/// cut off never has a copy's name, and only the user may read one.
fn keep_old(connection: &Connection, path: &Path, version: usize) -> rusqlite::Result<()> {
    let copy = copy_of(path, version);
    if copy.exists() {
        return Ok(());
    }
    let aside = unfinished(&copy);
    let could_not = |error: io::Error| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        rusqlite::Error::SqliteFailure(code, Some(format!("{}: {error}", aside.display())))
    };
    // Of an earlier attempt.
    let _ = fs::remove_file(&aside);
    create_new(&aside).map_err(could_not)?;
    connection.execute("VACUUM INTO ?1", [aside.to_string_lossy()])?;
    fs::rename(&aside, &copy).map_err(could_not)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_file_is_migrated_and_a_copy_of_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut connection = Connection::open(&path).unwrap();
        bring_up(&mut connection, &path, &STEPS[..1]).unwrap();
        connection
            .execute(
                "INSERT INTO sessions (fingerprint, app, server, started_at, state, owner)
                 VALUES ('f', '/srv/shop', 'puma', 't', 'done', '')",
                [],
            )
            .unwrap();

        let steps = [STEPS[0], "ALTER TABLE sessions ADD COLUMN colour TEXT DEFAULT 'red'"];
        bring_up(&mut connection, &path, &steps).unwrap();

        let colour: String =
            connection.query_row("SELECT colour FROM sessions", [], |row| row.get(0)).unwrap();
        assert_eq!(colour, "red");
        let old = Connection::open(folder.path().join("s.db.v1")).unwrap();
        assert_eq!(look(&old).unwrap(), Found::Ours(1));
        let kept: i64 =
            old.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 1, "the copy holds what the old file held");
    }

    #[test]
    fn a_file_of_the_first_format_is_brought_to_todays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut connection = Connection::open(&path).unwrap();
        bring_up(&mut connection, &path, &STEPS[..1]).unwrap();
        bring_up(&mut connection, &path, STEPS).unwrap();
        assert_eq!(look(&connection).unwrap(), Found::Ours(STEPS.len()));
        assert!(connection.execute("DELETE FROM live", []).is_ok());
        assert!(folder.path().join("s.db.v1").exists());
    }

    #[test]
    fn a_copy_that_was_cut_off_is_made_anew_and_never_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut connection = Connection::open(&path).unwrap();
        bring_up(&mut connection, &path, &STEPS[..1]).unwrap();
        let cut = unfinished(&copy_of(&path, 1));
        for length in [0, 1, 100, 4096, 5000] {
            let _ = fs::remove_file(copy_of(&path, 1));
            let whole = fs::read(&path).unwrap();
            fs::write(&cut, &whole[..length.min(whole.len())]).unwrap();
            keep_old(&connection, &path, 1).unwrap();
            let kept = Connection::open(copy_of(&path, 1)).unwrap();
            assert_eq!(look(&kept).unwrap(), Found::Ours(1), "cut at {length}");
            let is_whole: String =
                kept.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(is_whole, "ok");
            assert!(!cut.exists());
        }
    }

    #[test]
    fn a_migration_that_fails_halfway_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut connection = Connection::open(&path).unwrap();
        bring_up(&mut connection, &path, &STEPS[..1]).unwrap();
        let steps = [STEPS[0], "ALTER TABLE sessions ADD COLUMN a TEXT", "NOT SQL AT ALL"];
        assert!(bring_up(&mut connection, &path, &steps).is_err());
        assert_eq!(look(&connection).unwrap(), Found::Ours(1));
        assert!(connection.query_row("SELECT a FROM sessions", [], |_| Ok(())).is_err());
    }
}
