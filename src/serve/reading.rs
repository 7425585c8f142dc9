//! A session as far as it was read while it is written: one copy for all who follow it.
//!
//! In: a store. Out: the story so far, and which event told what.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::report::Story;
use crate::report::page::{self, Running};
use crate::session::report::stored;
use crate::store::{SessionId, Store, StoreError};
use crate::terms::{Event, EventKind};

/// What all who follow a session have in common.
#[derive(Debug)]
pub struct Reading {
    session: SessionId,
    pub story: Story,
    /// The last event that was read, and the last of them that says something.
    pub seq: i64,
    pub told: i64,
    /// The trials that have ended, with the events that said so.
    pub ended: Vec<(i64, u32)>,
    pub running: Option<Running>,
}

impl Reading {
    /// # Errors
    /// No such session.
    fn of(store: &Store, session: SessionId) -> Result<Self, StoreError> {
        // Where it is not, reading its events says so in the store's own words.
        store.each_event(session, i64::MAX, |_, _| Ok(()))?;
        let row = store.sessions()?.into_iter().find(|row| row.id == session);
        let stored = row.map(|row| stored(store, &row));
        let story = Story { stored, ..Story::default() };
        Ok(Self { session, story, seq: 0, told: 0, ended: Vec::new(), running: None })
    }

    /// What was written since.
    ///
    /// # Errors
    /// The store cannot be read any more, or the session was removed.
    pub fn read_on(&mut self, store: &Store) -> Result<(), StoreError> {
        store.each_event(self.session, self.seq, |seq, event| {
            self.seq = seq;
            // The page has been told what can't be read when it asked for the session.
            let Ok(event) = event else { return Ok(()) };
            self.told = seq;
            self.story.take(&event);
            if let EventKind::TrialFinished { summary, .. } = &event.kind {
                self.ended.push((seq, summary.id));
            }
            self.keep_running(&event);
            Ok(())
        })
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

/// A session that is read by several, as long as one of them is there.
pub type Shared = Arc<Mutex<Reading>>;

/// Who reads alone meanwhile; what a panic has left is as good as what was read before.
pub fn lock(reading: &Shared) -> MutexGuard<'_, Reading> {
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sessions that are followed.
#[derive(Debug, Default)]
pub struct Readings(Mutex<Vec<(SessionId, Weak<Mutex<Reading>>)>>);

impl Readings {
    /// # Errors
    /// No such session.
    pub fn of(&self, store: &Store, session: SessionId) -> Result<Shared, StoreError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, reading)| reading.strong_count() > 0);
        let found = all.iter().find(|(id, _)| *id == session);
        if let Some(reading) = found.and_then(|(_, reading)| reading.upgrade()) {
            return Ok(reading);
        }
        let new = Arc::new(Mutex::new(Reading::of(store, session)?));
        all.push((session, Arc::downgrade(&new)));
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SessionHead;

    #[test]
    fn a_session_is_read_once_as_long_as_somebody_follows_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("s.db")).unwrap();
        let [fingerprint, app, server] = ["f", "/srv/shop", "puma"].map(String::from);
        let session = store.begin(&SessionHead { fingerprint, app, server }, "t").unwrap();
        let readings = Readings::default();
        let first = readings.of(&store, session).unwrap();
        let second = readings.of(&store, session).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let old = Arc::downgrade(&first);
        drop((first, second));
        assert!(old.upgrade().is_none());
        readings.of(&store, session).unwrap();
        readings.of(&store, SessionId(session.0 + 1)).unwrap_err();
    }
}
