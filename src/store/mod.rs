//! Sessions and their events in one SQLite file.
//!
//! In: events. Out: the same events, and a list of sessions. Must not interpret a result.

use std::path::Path;

use thiserror::Error;

use crate::terms::{Decision, Event, SessionState};

/// Why the store failed; always the environment's doing, with the file's name and a way out.
#[derive(Debug, Error)]
#[error("could not {what} {path}: {message}")]
pub struct StoreError {
    pub what: &'static str,
    pub path: String,
    /// What happened and what to do ("the disk is full; free some space or name another file with
    /// --store").
    pub message: String,
}

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
    pub decision: Option<Decision>,
}

/// One open store.
pub struct Store(());

impl Store {
    /// Opens or makes the file and its folder. `-` in the path's place is no special name.
    ///
    /// # Errors
    /// No permission, disk full, not a database, or made by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let _ = path;
        unimplemented!("the store")
    }

    /// Begins a session. `started_at` is RFC 3339, UTC.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, head: &SessionHead, started_at: &str) -> Result<SessionId, StoreError> {
        let _ = (head, started_at);
        unimplemented!("the store")
    }

    /// Appends one event, durable when this returns. `SessionEnded` also sets the session's state.
    /// `Second`s are not stored.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, session: SessionId, event: &Event) -> Result<(), StoreError> {
        let _ = (session, event);
        unimplemented!("the store")
    }

    /// A session's events, oldest first.
    ///
    /// # Errors
    /// No such session, or the file cannot be read.
    pub fn events(&self, session: SessionId) -> Result<Vec<Event>, StoreError> {
        let _ = session;
        unimplemented!("the store")
    }

    /// All sessions, newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        unimplemented!("the store")
    }

    /// The newest session of this fingerprint that is still `Running` (its program died).
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn unfinished(&self, fingerprint: &str) -> Result<Option<SessionId>, StoreError> {
        let _ = fingerprint;
        unimplemented!("the store")
    }

    /// Removes a session and its events.
    ///
    /// # Errors
    /// No such session, or the file cannot be written.
    pub fn remove(&mut self, session: SessionId) -> Result<(), StoreError> {
        let _ = session;
        unimplemented!("the store")
    }
}
