//! Sessions and their events in one SQLite file.
//!
//! In: events. Out: the same events, and a list of sessions. Must not interpret a result.
//!
//! What is promised: when [`Store::append`] returns, the event survives `kill -9` of this program
//! and, as far as the disk keeps its own word, a loss of power (write-ahead log with
//! `synchronous=FULL`: the log is flushed at every commit). An event, the row drawn from it and the
//! session's state are one transaction, so a session is never half-written. Several programs may
//! use one file at once.

mod error;
mod key;
mod live;
mod opening;
mod owner;
mod read;
mod schema;
mod writers;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};

use opening::{
    PATIENCE, create, open_untouched, refuse_to_migrate_under, refuse_what_is_not_ours,
    use_write_ahead_log,
};
use writers::Writers;

use crate::terms::{Decision, Event, EventKind, SessionState, code};
pub use error::{StoreError, StoreErrorKind};
pub use key::Key;

/// Where the store lies unless the user says otherwise, from the current folder.
pub const DEFAULT_PATH: &str = ".sweetspot/sweetspot.db";

/// What could not be done, as errors say it.
const WRITE: &str = "write to the store";

/// A session's number in its store, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub i64);

/// What is known of a session from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHead {
    /// Equal for sessions whose trials may stand for one another: app, machine, settings, load.
    pub fingerprint: String,
    /// The app's folder.
    pub app: String,
    pub server: String,
}

/// A row of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    pub id: SessionId,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub head: SessionHead,
    pub state: SessionState,
    /// True while the program that writes it lives. `Running` without it: the program died.
    pub is_alive: bool,
    pub decision: Option<Decision>,
    /// The session whose recommendation this one verifies, as its first event says.
    pub verifies: Option<i64>,
    /// Why not all of it can be read: it is damaged, or a newer version wrote it. What is damaged
    /// of this row is empty then, and its state `Failed`.
    pub fault: Option<StoreError>,
}

/// One open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Locked for each session that it writes.
    writers: Option<Arc<Writers>>,
}

impl Store {
    /// Opens or makes the file and its folder. `-` in the path's place is no special name.
    ///
    /// # Errors
    /// No permission, disk full, not a database, or made by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let what = "open the store";
        create(path).map_err(|error| StoreError::from_io(what, path, &error))?;
        Self::open_writable(path, what)
    }

    /// Opens a file that is there, also where this user may only read.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when there is no such file.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        let what = "read the store";
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::new(
                    StoreErrorKind::Missing,
                    what,
                    path,
                    "there is no such file; 'sweetspot tune' makes it in the folder it runs in, so \
                     change to that folder or name the file with --store",
                ));
            }
            Err(error) => return Err(StoreError::from_io(what, path, &error)),
            Ok(_) => {}
        }
        match Self::open_writable(path, what) {
            Err(error) if error.kind == StoreErrorKind::Permission => {
                Self::open_readable(path, what)
            }
            opened => opened,
        }
    }

    fn open_writable(path: &Path, what: &'static str) -> Result<Self, StoreError> {
        let broken = |error: rusqlite::Error| StoreError::from_sqlite(what, path, &error);
        refuse_what_is_not_ours(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(broken)?;
        // SQLite silently falls back to reading; a store we cannot append to must say so now.
        if connection.is_readonly("main").map_err(broken)? {
            return Err(StoreError::new(
                StoreErrorKind::Permission,
                what,
                path,
                error::not_writable(),
            ));
        }
        connection.busy_timeout(PATIENCE).map_err(broken)?;
        // What is looked at before it is changed is changed by nobody else meanwhile.
        connection.set_transaction_behavior(TransactionBehavior::Immediate);
        let leave_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        connection.set_db_config(leave_log, true).map_err(broken)?;
        let found = schema::look(&connection).map_err(broken)?;
        schema::check(found, path, schema::STEPS.len())?;
        refuse_to_migrate_under(found, path, what)?;
        connection.set_db_config(leave_log, false).map_err(broken)?;
        use_write_ahead_log(&connection).map_err(broken)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(broken)?;
        // What is removed is written over.
        connection.pragma_update(None, "secure_delete", true).map_err(broken)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(broken)?;
        schema::bring_up(&mut connection, path, schema::STEPS)?;
        Ok(Self { connection, path: path.to_path_buf(), writers: None })
    }

    /// Opens for reading alone. Where even the log's index cannot be made (a read-only folder) the
    /// file is read as it lies there, provided that no log with newer events lies beside it.
    fn open_readable(path: &Path, what: &'static str) -> Result<Self, StoreError> {
        let broken = |error: rusqlite::Error| StoreError::from_sqlite(what, path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(broken)?;
        connection.busy_timeout(PATIENCE).map_err(broken)?;
        let connection = match connection.pragma_query(None, "schema_version", |_| Ok(())) {
            Err(error)
                if matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
                ) =>
            {
                let mut log = path.as_os_str().to_owned();
                log.push("-wal");
                if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
                    return Err(broken(error));
                }
                open_untouched(path).map_err(broken)?
            }
            _ => connection,
        };
        schema::require_current(&connection, path)?;
        Ok(Self { connection, path: path.to_path_buf(), writers: None })
    }

    /// The file's name, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What fingerprints of this store's sessions are made with.
    ///
    /// # Errors
    /// The file beside the store cannot be made or read.
    pub fn key(&self) -> Result<Key, StoreError> {
        key::of(&self.path).map_err(|error| {
            StoreError::from_io("read the key beside the store", &self.path, &error)
        })
    }

    /// Begins a session that this process writes. `started_at` is RFC 3339, UTC.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, head: &SessionHead, started_at: &str) -> Result<SessionId, StoreError> {
        let writers = self.writers()?;
        let path = self.path.clone();
        let broken = |error: rusqlite::Error| StoreError::from_sqlite(WRITE, &path, &error);
        // Nobody sees the session before it is locked.
        let transaction = self.connection.transaction().map_err(broken)?;
        transaction
            .execute(
                "INSERT INTO sessions (fingerprint, app, server, started_at, state, owner)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    head.fingerprint,
                    head.app,
                    head.server,
                    started_at,
                    code(&SessionState::Running),
                    owner::this_process()
                ],
            )
            .map_err(broken)?;
        let session = SessionId(transaction.last_insert_rowid());
        lock(&writers, session, &path)?;
        transaction.commit().map_err(broken)?;
        Ok(session)
    }

    fn writers(&mut self) -> Result<Arc<Writers>, StoreError> {
        if let Some(writers) = &self.writers {
            return Ok(writers.clone());
        }
        let writers = Writers::of(&self.path)
            .map_err(|error| StoreError::from_io(WRITE, &self.path, &error))?;
        Ok(self.writers.insert(Arc::new(writers)).clone())
    }

    /// Appends one event, durable when this returns. `SessionEnded` also sets the session's state.
    /// `Second`s are not stored: see [`show`](Self::show).
    ///
    /// # Errors
    /// The file cannot be written, or there is no such session.
    pub fn append(&mut self, session: SessionId, event: &Event) -> Result<(), StoreError> {
        if matches!(event.kind, EventKind::Second(_)) {
            return Ok(());
        }
        let json = self.storable(event)?;
        let path = self.path.clone();
        let broken = |error: rusqlite::Error| StoreError::from_sqlite(WRITE, &path, &error);
        let transaction = self.connection.transaction().map_err(broken)?;
        check_writer(&transaction, &path, session)?;
        insert_event(&transaction, session, event, &json).map_err(broken)?;
        clear_shown(&transaction, session, event).map_err(broken)?;
        if let EventKind::SessionEnded { state, result, .. } = &event.kind {
            let decision = result.as_ref().and_then(|result| result.decision.as_ref());
            transaction
                .execute(
                    "UPDATE sessions SET state = ?2, decision = ?3 WHERE id = ?1",
                    params![session.0, code(state), decision.map(to_json)],
                )
                .map_err(broken)?;
        }
        transaction.commit().map_err(broken)
    }

    /// The event as JSON that is known to read back: a NaN would only be noticed years later.
    fn storable(&self, event: &Event) -> Result<String, StoreError> {
        let json = to_json(event);
        match serde_json::from_str::<Event>(&json) {
            Ok(_) => Ok(json),
            Err(error) => Err(StoreError::new(
                StoreErrorKind::Bug,
                WRITE,
                &self.path,
                format!(
                    "a {} event has a value that cannot be stored ({error}); this is a bug in \
                     sweetspot, please report it",
                    kind_name(&event.kind)
                ),
            )),
        }
    }

    /// The sessions of this fingerprint that are still `Running` although their program died,
    /// newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn unfinished(&self, fingerprint: &str) -> Result<Vec<SessionId>, StoreError> {
        let is_meant = |row: &SessionRow| {
            row.state == SessionState::Running
                && !row.is_alive
                && row.fault.is_none()
                && row.head.fingerprint == fingerprint
        };
        Ok(self.sessions()?.into_iter().filter(is_meant).map(|row| row.id).collect())
    }

    /// Makes this process the writer of a session whose program died, to go on where it stopped.
    ///
    /// # Errors
    /// No such session, another program that lives writes it, or the file cannot be written.
    pub fn take_up(&mut self, session: SessionId) -> Result<(), StoreError> {
        let running = code(&SessionState::Running);
        let writers = self.writers()?;
        self.change_session(
            session,
            "UPDATE sessions SET state = ?2, owner = ?3 WHERE id = ?1",
            params![session.0, running, owner::this_process()],
            |path| lock(&writers, session, path),
        )
    }

    /// Removes a session and its events, so that nothing of them is left in the file, in its log or
    /// in copies that were kept when its format changed: those go as well. While another program
    /// uses the store its log is left; that is gone with the last who does.
    ///
    /// # Errors
    /// No such session, a program that lives is writing it, or the file cannot be written.
    pub fn remove(&mut self, session: SessionId) -> Result<(), StoreError> {
        let delete = "DELETE FROM sessions WHERE id = ?1";
        self.change_session(session, delete, params![session.0], |_| Ok(()))?;
        let what = "erase what was removed from the store";
        // Pages that were freed before removing wrote over them, by older versions, go too.
        match self.connection.execute_batch("VACUUM") {
            // It takes room for a copy, and there may be least where somebody removes sessions.
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DiskFull) => {
                return Err(self.broken(what, &error));
            }
            _ => {}
        }
        match self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                return Err(self.broken(what, &error));
            }
            _ => {}
        }
        schema::remove_copies(&self.path)
            .map_err(|error| StoreError::from_io(what, &self.path, &error))
    }

    /// One statement, unless another program writes the session; `first` is done before it, while
    /// nobody else can change the store.
    fn change_session(
        &mut self,
        session: SessionId,
        statement: &str,
        values: &[&dyn rusqlite::ToSql],
        first: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (path, own) = (self.path.clone(), self.writers.clone());
        let broken = |error: rusqlite::Error| StoreError::from_sqlite(WRITE, &path, &error);
        let transaction = self.connection.transaction().map_err(broken)?;
        refuse_if_written(&transaction, &path, session, own.as_deref())?;
        first(&path)?;
        transaction.execute(statement, values).map_err(broken)?;
        transaction.commit().map_err(broken)
    }

    fn broken(&self, what: &'static str, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(what, &self.path, error)
    }
}

fn insert_event(
    transaction: &Transaction<'_>,
    session: SessionId,
    event: &Event,
    json: &str,
) -> rusqlite::Result<()> {
    transaction
        .execute(
            "INSERT INTO events (session, seq, at_s, kind, json)
             SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4 FROM events WHERE session = ?1",
            params![session.0, event.at_s, kind_name(&event.kind), json],
        )
        .map(drop)
}

fn exists(connection: &Connection, session: SessionId) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT 1 FROM sessions WHERE id = ?1", [session.0], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Refuses to touch a session that another living program writes, or that isn't there.
fn refuse_if_written(
    transaction: &Transaction<'_>,
    path: &Path,
    session: SessionId,
    own: Option<&Writers>,
) -> Result<(), StoreError> {
    let found: Option<(String, String)> = transaction
        .query_row("SELECT state, owner FROM sessions WHERE id = ?1", [session.0], |row| {
            // A damaged row names no writer, so it can be removed.
            let text = |column: usize| {
                row.get_ref(column).map(|it| it.as_str().unwrap_or_default().to_string())
            };
            Ok((text(0)?, text(1)?))
        })
        .optional()
        .map_err(|error| StoreError::from_sqlite(WRITE, path, &error))?;
    let Some((state, owner)) = found else {
        return Err(no_such_session(WRITE, path, session));
    };
    let is_ours = owner == owner::this_process();
    let is_written = || owner::is_alive(&owner) || writers::is_written(path, session.0, own);
    if state == code(&SessionState::Running) && !is_ours && is_written() {
        return Err(written_by_another(path, session, &owner));
    }
    Ok(())
}

/// Makes these the session's writer.
fn lock(writers: &Writers, session: SessionId, path: &Path) -> Result<(), StoreError> {
    match writers.lock(session.0) {
        Ok(true) => Ok(()),
        Ok(false) => Err(written_by_another(path, session, "")),
        Err(error) => Err(StoreError::from_io(WRITE, path, &error)),
    }
}

/// Refuses to add to a session that another program has taken up meanwhile, or that isn't there,
/// and to tables that are a newer program's by now.
fn check_writer(
    transaction: &Transaction<'_>,
    path: &Path,
    session: SessionId,
) -> Result<(), StoreError> {
    let broken = |error| StoreError::from_sqlite(WRITE, path, &error);
    // A newer program may have changed the tables since this one looked.
    schema::check(schema::look(transaction).map_err(broken)?, path, schema::STEPS.len())?;
    let owner: Option<String> = transaction
        .query_row("SELECT owner FROM sessions WHERE id = ?1", [session.0], |row| row.get(0))
        .optional()
        .map_err(broken)?;
    match owner {
        None => Err(no_such_session(WRITE, path, session)),
        Some(owner) if owner == owner::this_process() => Ok(()),
        Some(owner) => Err(written_by_another(path, session, &owner)),
    }
}

fn written_by_another(path: &Path, session: SessionId, owner: &str) -> StoreError {
    let writer = match owner.split_once(' ') {
        Some((process, _)) if owner::is_alive(owner) => format!("process {process}"),
        // In a container, its id says nothing here.
        _ => "another program".to_string(),
    };
    let message = format!(
        "session {} is being written by {writer}; wait until it ends or stop it",
        session.0
    );
    StoreError::new(StoreErrorKind::Locked, WRITE, path, message)
}

fn no_such_session(what: &'static str, path: &Path, session: SessionId) -> StoreError {
    StoreError::new(
        StoreErrorKind::NoSuchSession,
        what,
        path,
        format!("there is no session {}; 'sweetspot sessions list' shows those it has", session.0),
    )
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our types have string keys and no failing serializer")
}

/// What the first event of a session is called that verifies another.
const VERIFYING: &str = "verifying";

fn kind_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Verifying { .. } => VERIFYING,
        EventKind::SessionStarted { .. } => "session_started",
        EventKind::Resumed { .. } => "resumed",
        EventKind::Warned(_) => "warned",
        EventKind::ServerStarting { .. } => "server_starting",
        EventKind::BootFailed { .. } => "boot_failed",
        EventKind::TrialStarted { .. } => "trial_started",
        EventKind::Second(_) => "second",
        EventKind::TrialFinished { .. } => "trial_finished",
        EventKind::Predicted(_) => "predicted",
        EventKind::Verified(_) => "verified",
        EventKind::SessionEnded { .. } => "session_ended",
    }
}

/// Forgets the seconds of a trial that this event ends, or that was never ended.
fn clear_shown(
    transaction: &Transaction<'_>,
    session: SessionId,
    event: &Event,
) -> rusqlite::Result<()> {
    let is_past = matches!(
        event.kind,
        EventKind::TrialStarted { .. }
            | EventKind::TrialFinished { .. }
            | EventKind::SessionEnded { .. }
    );
    if is_past {
        transaction.execute("DELETE FROM live WHERE session = ?1", [session.0])?;
    }
    Ok(())
}
