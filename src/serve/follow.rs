//! A session read on as it is written: each look gives what is new, as messages for the page.
//!
//! In: a store that another program writes. Out: messages. No clock: the caller decides when.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::api::{ListRow, as_json, rows};
use crate::report::Story;
use crate::report::page::{self, Running};
use crate::session::report::stored;
use crate::store::{SessionId, Store, StoreError};
use crate::terms::{Event, EventKind, LiveSecond, Phase};

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

/// Follows the list of sessions, and one of them where one is named.
#[derive(Debug)]
pub struct Follower {
    store: Store,
    followed: Option<Followed>,
    version: Option<i64>,
    rows: Option<Vec<ListRow>>,
}

#[derive(Debug)]
struct Followed {
    session: SessionId,
    story: Story,
    /// The last event that was read, and the last that the page knows already.
    seq: i64,
    known: i64,
    second: i64,
    running: Option<Running>,
}

impl Follower {
    /// `known`: the last event that the page has; 0 for none.
    ///
    /// # Errors
    /// No such store or session.
    pub fn new(path: &Path, session: Option<(SessionId, i64)>) -> Result<Self, StoreError> {
        let store = Store::open_existing(path)?;
        let followed = match session {
            Some((session, known)) => {
                // Where it is not, reading its events says so in the store's own words.
                store.each_event(session, i64::MAX, |_, _| Ok(()))?;
                let row = store.sessions()?.into_iter().find(|row| row.id == session);
                let stored = row.map(|row| stored(&store, &row));
                let story = Story { stored, ..Story::default() };
                Some(Followed { session, story, seq: 0, known, second: 0, running: None })
            }
            None => None,
        };
        Ok(Self { store, followed, version: None, rows: None })
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
        if !is_new {
            return Ok(messages);
        }
        self.version = Some(version);
        if let Some(followed) = &mut self.followed {
            followed.read_on(&self.store, &mut messages)?;
        }
        Ok(messages)
    }

    fn list(&mut self) -> Result<Vec<Message>, StoreError> {
        let rows = rows(&self.store)?;
        if self.rows.as_ref() == Some(&rows) {
            return Ok(Vec::new());
        }
        let seq = self.followed.as_ref().map_or(0, |followed| followed.known.max(followed.seq));
        let message = Message { name: "sessions", data: as_json(&rows), seq };
        self.rows = Some(rows);
        Ok(vec![message])
    }
}

impl Followed {
    fn read_on(&mut self, store: &Store, messages: &mut Vec<Message>) -> Result<(), StoreError> {
        let mut is_changed = false;
        let mut ended = Vec::new();
        let running = self.running.clone();
        store.each_event(self.session, self.seq, |seq, event| {
            self.seq = seq;
            // The page has been told what can't be read when it asked for the session.
            let Ok(event) = event else { return Ok(()) };
            self.story.take(&event);
            is_changed |= seq > self.known;
            match &event.kind {
                EventKind::TrialFinished { summary, .. } if seq > self.known => {
                    ended.push(summary.id);
                }
                _ => {}
            }
            self.keep_running(&event);
            Ok(())
        })?;
        let seq = self.seq;
        let message = |name, data| Message { name, data, seq };
        for id in ended {
            let trial = self.story.trials.iter().find(|trial| trial.id == id);
            let rows = trial.map(|trial| as_json(&page::trial(&self.story, trial)));
            messages.extend(rows.map(|data| message("trial", data)));
        }
        if is_changed {
            messages.push(message("session", as_json(&page::head(&self.story, None))));
        }
        if running != self.running || is_changed {
            messages.push(message("running", as_json(&self.running)));
        }
        for (number, second) in store.shown(self.session, self.second)? {
            self.second = number;
            messages.push(message("second", as_json(&Second::from(second))));
        }
        Ok(())
    }

    fn keep_running(&mut self, event: &Event) {
        match &event.kind {
            started @ EventKind::TrialStarted { .. } => {
                self.running = page::running(&self.story, started);
            }
            EventKind::TrialFinished { .. }
            | EventKind::BootFailed { .. }
            | EventKind::SessionEnded { .. } => self.running = None,
            _ => {}
        }
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
