//! What is read from the tables. One row that can't be read is no reason to keep back the others.
//!
//! In: an open store. Out: events and the list of sessions, with which row of which table is
//! damaged or a newer version's. Must not write.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    SessionHead, SessionId, SessionRow, Store, StoreError, StoreErrorKind, VERIFYING, exists,
    no_such_session, owner, writers,
};
use crate::terms::{Event, EventKind, SessionState, code};

const WHAT: &str = "read the store";

impl Store {
    /// A session's events, oldest first.
    ///
    /// # Errors
    /// No such session, or the file cannot be read.
    pub fn events(&self, session: SessionId) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        self.each_event(session, 0, |_, event| {
            events.push(event?);
            Ok(())
        })?;
        Ok(events)
    }

    /// Hands on a session's events after the one of this number, from 1, oldest first, each with
    /// its number or why it can't be read. One at a time: those of a day take gigabytes.
    ///
    /// # Errors
    /// No such session, not even the file's tables can be read, or what `take` says.
    pub fn each_event(
        &self,
        session: SessionId,
        after: i64,
        mut take: impl FnMut(i64, Result<Event, StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let broken = |error: rusqlite::Error| self.broken(WHAT, &error);
        if !exists(&self.connection, session).map_err(broken)? {
            return Err(no_such_session(WHAT, &self.path, session));
        }
        let mut statement = self
            .connection
            .prepare("SELECT seq, json FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq")
            .map_err(broken)?;
        let mut rows = statement.query([session.0, after]).map_err(broken)?;
        let mut last = after;
        loop {
            match rows.next() {
                Ok(None) => return Ok(()),
                Ok(Some(row)) => {
                    last = row.get(0).map_err(broken)?;
                    let event = read_event(row).map_err(|why| {
                        let of = format!("table events with session {} and seq {last}", session.0);
                        why.at(&self.path, session, &of)
                    });
                    take(last, event)?;
                }
                // Nothing that lies behind it is found any more.
                Err(error) => return take(last + 1, Err(broken(error))),
            }
        }
    }

    /// All sessions, newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        let broken = |error: rusqlite::Error| self.broken(WHAT, &error);
        let newer = unknown_events(&self.connection).map_err(broken)?;
        let mut statement = self
            .connection
            .prepare(
                "SELECT id, started_at, fingerprint, app, server, state, owner, decision,
                 (SELECT json_extract(json, '$.kind.verifying.session') FROM events
                  WHERE session = id AND seq = 1 AND kind = ?1 AND json_valid(json))
                 FROM sessions ORDER BY id DESC",
            )
            .map_err(broken)?;
        let read = |row: &Row<'_>| {
            let id: i64 = row.get(0)?;
            let is_alive = |owner: &str| self.is_alive(id, owner);
            Ok(read_session(id, row, &newer, &self.path, &is_alive))
        };
        let rows = statement.query_map([VERIFYING], read).map_err(broken)?;
        rows.collect::<Result<Vec<_>, _>>().map_err(broken)
    }

    /// How far each session is, newest first: the number of its last event (0 without any), and
    /// whether a program that lives is writing it. As long as this is the same, so is the list of
    /// sessions, which takes much longer: that looks at each event, and this at none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn standings(&self) -> Result<Vec<(SessionId, i64, bool)>, StoreError> {
        let broken = |error: rusqlite::Error| self.broken(WHAT, &error);
        let mut statement = self
            .connection
            .prepare(
                "SELECT id, (SELECT coalesce(max(seq), 0) FROM events WHERE session = id),
                 CASE state WHEN ?1 THEN owner END
                 FROM sessions ORDER BY id DESC",
            )
            .map_err(broken)?;
        let read = |row: &Row<'_>| {
            let id: i64 = row.get(0)?;
            // One that has ended has no writer here, and a damaged row names none.
            let owner = row.get_ref(2)?.as_str().ok();
            let is_alive = owner.is_some_and(|owner| self.is_alive(id, owner));
            Ok((SessionId(id), row.get(1)?, is_alive))
        };
        let rows = statement.query_map([code(&SessionState::Running)], read);
        rows.map_err(broken)?.collect::<Result<Vec<_>, _>>().map_err(broken)
    }

    /// When a session was begun: RFC 3339, UTC.
    ///
    /// # Errors
    /// No such session, or the file cannot be read.
    pub fn started_at(&self, session: SessionId) -> Result<String, StoreError> {
        let query = "SELECT started_at FROM sessions WHERE id = ?1";
        let found = self.connection.query_row(query, [session.0], |row| row.get(0)).optional();
        let found = found.map_err(|error| self.broken(WHAT, &error))?;
        found.ok_or_else(|| no_such_session(WHAT, &self.path, session))
    }

    /// True while the program lives that writes this session, by its stored process or by its lock.
    fn is_alive(&self, session: i64, owner: &str) -> bool {
        owner::is_alive(owner) || writers::is_written(&self.path, session, self.writers.as_deref())
    }
}

/// Why a row can't be read.
enum Unreadable {
    /// It holds what only a newer version knows.
    Newer(String),
    Damaged(String),
}

impl Unreadable {
    /// `of`: which row it is.
    fn at(self, path: &Path, session: SessionId, of: &str) -> StoreError {
        let id = session.0;
        let (kind, message) = match self {
            Self::Newer(why) => (
                StoreErrorKind::Newer,
                format!(
                    "session {id} was written by a newer sweetspot (the row of {of}: {why}); \
                     update sweetspot to read all of it"
                ),
            ),
            Self::Damaged(why) => (
                StoreErrorKind::NotOurs,
                format!(
                    "the row of {of} is damaged ({why}); 'sweetspot report {id}' shows what else \
                     can be read, and 'sweetspot sessions rm {id}' removes that session"
                ),
            ),
        };
        StoreError::new(kind, WHAT, path, message)
    }
}

impl From<rusqlite::Error> for Unreadable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        match is_unknown_variant(&error) {
            true => Self::Newer(error.to_string()),
            false => Self::Damaged(error.to_string()),
        }
    }
}

/// True for a variant that this version doesn't have, which is what newer versions add. The library
/// says it in no other way than by its text.
fn is_unknown_variant(error: &serde_json::Error) -> bool {
    error.is_data() && error.to_string().starts_with("unknown variant")
}

fn read_event(row: &Row<'_>) -> Result<Event, Unreadable> {
    Ok(serde_json::from_str(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?)?)
}

/// The first event of each session whose kind this version doesn't know: its number and kind. Only
/// kinds are looked at, so that a list needs not read all that was measured.
fn unknown_events(connection: &Connection) -> rusqlite::Result<BTreeMap<i64, (i64, String)>> {
    let (mut known, mut unknown) = (HashSet::new(), BTreeMap::new());
    let mut statement = connection.prepare("SELECT session, seq, kind FROM events")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // A kind that is no text is damage; reading the event tells.
        let Ok(kind) = row.get_ref(2)?.as_str() else { continue };
        if known.contains(kind) {
            continue;
        }
        let nothing = serde_json::json!({ kind: null });
        match serde_json::from_value::<EventKind>(nothing) {
            Err(error) if is_unknown_variant(&error) => {
                unknown.entry(row.get(0)?).or_insert((row.get(1)?, kind.to_string()));
            }
            _ => {
                known.insert(kind.to_string());
            }
        }
    }
    Ok(unknown)
}

/// A session's row column by column; the first that can't be read is why the row can't.
struct Columns<'a> {
    row: &'a Row<'a>,
    unreadable: Option<Unreadable>,
}

impl Columns<'_> {
    fn get<T: FromSql + Default>(&mut self, column: usize) -> T {
        let read = self.row.get(column);
        self.or_default(read.map_err(Unreadable::from))
    }

    fn parsed<T>(&mut self, read: serde_json::Result<T>) -> Option<T> {
        self.or_default(read.map(Some).map_err(Unreadable::from))
    }

    fn or_default<T: Default>(&mut self, read: Result<T, Unreadable>) -> T {
        read.unwrap_or_else(|why| {
            self.unreadable.get_or_insert(why);
            T::default()
        })
    }
}

fn read_session(
    id: i64,
    row: &Row<'_>,
    newer: &BTreeMap<i64, (i64, String)>,
    path: &Path,
    is_alive: &dyn Fn(&str) -> bool,
) -> SessionRow {
    let mut columns = Columns { row, unreadable: None };
    let state = serde_json::from_value(columns.get::<String>(5).into());
    let state = columns.parsed(state).unwrap_or(SessionState::Failed);
    let decision: Option<String> = columns.get(7);
    let mut read = SessionRow {
        id: SessionId(id),
        started_at: columns.get(1),
        head: SessionHead {
            fingerprint: columns.get(2),
            app: columns.get(3),
            server: columns.get(4),
        },
        state,
        is_alive: state == SessionState::Running && is_alive(&columns.get::<String>(6)),
        decision: decision.and_then(|json| columns.parsed(serde_json::from_str(&json))),
        verifies: columns.get(8),
        fault: None,
    };
    let of_session = format!("table sessions with id {id}");
    read.fault = match (columns.unreadable, newer.get(&id)) {
        (Some(why), _) => Some(why.at(path, read.id, &of_session)),
        (None, Some((seq, kind))) => {
            let of = format!("table events with session {id} and seq {seq}");
            Some(Unreadable::Newer(format!("unknown variant `{kind}`")).at(path, read.id, &of))
        }
        (None, None) => None,
    };
    read
}
