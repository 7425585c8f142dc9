//! A session read on as it is written: each look gives what is new, as messages for the page.
//!
//! In: a store that another program writes. Out: messages. No clock: the caller decides when.

use schemars::JsonSchema;
use serde::Serialize;

use super::api::{ListRow, rows};
use super::reading::{Shared, lock};
use super::served::Served;
use crate::report::facts::with_sentences;
use crate::report::page::{self, Running};
use crate::store::{SessionId, Store, StoreError};
use crate::terms::{LiveSecond, Phase};

/// One message: its name, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub name: &'static str,
    pub data: serde_json::Value,
    /// The last event that it is made from; whoever was cut off goes on there.
    pub seq: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Second {
    at_s: f64,
    phase: Phase,
    due: u64,
    sent: u64,
    replies: u64,
    errors: u64,
    in_flight: u64,
    p95_s: Option<f64>,
}

/// Follows a session, and the list of all.
#[derive(Debug)]
pub struct Follower {
    store: Store,
    session: SessionId,
    reading: Shared,
    /// The last event that the page knows of, and the last second.
    known: i64,
    second: i64,
    running: Option<Running>,
    version: Option<i64>,
    /// How far each session was when the list was read.
    standings: Option<Vec<(SessionId, i64, bool)>>,
    rows: Option<Vec<ListRow>>,
}

impl Follower {
    /// `known`: the last event that the page has; 0 for none.
    ///
    /// # Errors
    /// No such store or session.
    pub fn new(served: &Served, session: SessionId, known: i64) -> Result<Self, StoreError> {
        let store = Store::open_existing(&served.store)?;
        let reading = served.readings.of(&store, session)?;
        let (version, standings, rows) = (None, None, None);
        let (second, running) = (0, None);
        Ok(Self { store, session, reading, known, second, running, version, standings, rows })
    }

    /// What is new since the last look; everything the page does not know, the first time.
    ///
    /// # Errors
    /// The store cannot be read any more, or the session was removed.
    pub fn look(&mut self) -> Result<Vec<Message>, StoreError> {
        let version = self.store.version()?;
        let is_new = self.version != Some(version);
        // Whether a program lives is not in the file: that of a running one is asked each time.
        let has_running = self.rows.iter().flatten().any(|row| row.is_alive);
        let mut messages = if is_new || has_running { self.list()? } else { Vec::new() };
        if is_new {
            self.version = Some(version);
            self.read_on(&mut messages)?;
        }
        Ok(messages)
    }

    /// The list, where it is another one. To read it is to go through all that is stored, so that
    /// is left until a session has got further: looks are many, while something is measured.
    fn list(&mut self) -> Result<Vec<Message>, StoreError> {
        // Looked up first: what changes while the rows are read is seen by the next look.
        let standings = self.store.standings()?;
        if self.standings.as_ref() == Some(&standings) {
            return Ok(Vec::new());
        }
        let rows = rows(&self.store)?;
        self.standings = Some(standings);
        if self.rows.as_ref() == Some(&rows) {
            return Ok(Vec::new());
        }
        let message = Message { name: "sessions", data: with_sentences(&rows), seq: self.known };
        self.rows = Some(rows);
        Ok(vec![message])
    }

    fn read_on(&mut self, messages: &mut Vec<Message>) -> Result<(), StoreError> {
        let mut reading = lock(&self.reading);
        reading.read_on(&self.store)?;
        let (known, seq) = (self.known, reading.seq);
        let is_changed = reading.told > known;
        let message = |name, data| Message { name, data, seq };
        for (_, id) in reading.ended.iter().filter(|(seq, _)| *seq > known) {
            let trial = reading.story.trials.iter().find(|trial| trial.id == *id);
            let rows = trial.map(|trial| with_sentences(&page::trial(&reading.story, trial)));
            messages.extend(rows.map(|data| message("trial", data)));
        }
        if is_changed {
            messages.push(message("session", with_sentences(&page::head(&reading.story, None))));
        }
        if self.running != reading.running || is_changed {
            messages.push(message("running", with_sentences(&reading.running)));
        }
        self.known = known.max(seq);
        self.running.clone_from(&reading.running);
        drop(reading);
        for (number, second) in self.store.shown(self.session, self.second)? {
            self.second = number;
            messages.push(message("second", with_sentences(&Second::from(second))));
        }
        Ok(())
    }
}

impl From<LiveSecond> for Second {
    fn from(it: LiveSecond) -> Self {
        Self {
            at_s: it.at.as_secs_f64(),
            phase: it.phase,
            due: it.due,
            sent: it.sent,
            replies: it.replies,
            errors: it.errors,
            in_flight: it.in_flight,
            p95_s: it.p95.map(|p95| p95.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use tempfile::TempDir;

    use super::*;
    use crate::store::SessionHead;
    use crate::terms::{Event, EventKind, Warning};

    /// A store with one session, which this process writes.
    fn written() -> (TempDir, PathBuf, Store, SessionId) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut store = Store::open(&path).unwrap();
        let [fingerprint, app, server] = ["f", "/srv/shop", "puma"].map(String::from);
        let session = store.begin(&SessionHead { fingerprint, app, server }, "t").unwrap();
        (folder, path, store, session)
    }

    fn follower(path: &Path, session: SessionId) -> Follower {
        Follower::new(&Served::new(path.to_path_buf(), String::new()), session, 0).unwrap()
    }

    /// Does to a store what no program of ours does.
    fn change(path: &Path, statement: &str) {
        rusqlite::Connection::open(path).unwrap().execute_batch(statement).unwrap();
    }

    /// The only row of the only list among the messages.
    fn row(messages: &[Message]) -> serde_json::Value {
        let mut lists = messages.iter().filter(|message| message.name == "sessions");
        let (Some(list), None) = (lists.next(), lists.next()) else { panic!("{messages:?}") };
        assert_eq!(list.data.as_array().map(Vec::len), Some(1));
        list.data[0].clone()
    }

    #[test]
    fn the_list_is_read_again_only_once_a_session_has_got_further() {
        let (_folder, path, mut store, session) = written();
        let mut follower = follower(&path, session);
        assert_eq!(row(&follower.look().unwrap())["app"], "/srv/shop");
        change(&path, "UPDATE sessions SET app = '/srv/other'");
        let before = follower.version;
        assert_eq!(follower.look().unwrap(), [], "the rows were not read");
        assert_ne!(follower.version, before, "though the file is another one");
        let kind = EventKind::Warned(Warning::verbatim("c", "m", "a"));
        store.append(session, &Event { at_s: 1.0, kind }).unwrap();
        assert_eq!(row(&follower.look().unwrap())["app"], "/srv/other");
    }

    #[test]
    fn a_program_that_ended_without_a_word_is_noticed_though_nothing_was_written() {
        let (_folder, path, store, session) = written();
        // That it lives is known by its lock alone.
        change(&path, "UPDATE sessions SET owner = ''");
        let mut follower = follower(&path, session);
        assert_eq!(row(&follower.look().unwrap())["is_alive"], true);
        drop(store);
        assert_eq!(row(&follower.look().unwrap())["is_alive"], false);
        assert_eq!(follower.look().unwrap(), []);
    }

    #[test]
    fn a_session_that_is_removed_leaves_the_list() {
        let (_folder, path, mut store, session) = written();
        let [fingerprint, app, server] = ["g", "/srv/other", "puma"].map(String::from);
        let other = store.begin(&SessionHead { fingerprint, app, server }, "t").unwrap();
        let mut follower = follower(&path, session);
        assert_eq!(follower.look().unwrap()[0].data.as_array().map(Vec::len), Some(2));
        store.remove(other).unwrap();
        assert_eq!(row(&follower.look().unwrap())["app"], "/srv/shop");
    }
}
