//! For those who watch from another process: how far a session is, and the seconds of its
//! running trial.
//!
//! The seconds are gone once the trial has ended, and need not survive a loss of power: the
//! trial's own record has them all. So they are written without waiting for the disk.

use rusqlite::params;

use super::{SessionId, Store, StoreError, WRITE, to_json};
use crate::terms::LiveSecond;

impl Store {
    /// Keeps one second of the running trial until that has ended.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn show(&mut self, session: SessionId, second: &LiveSecond) -> Result<(), StoreError> {
        let patience = |level| self.connection.pragma_update(None, "synchronous", level);
        patience("NORMAL").map_err(|error| self.broken(WRITE, &error))?;
        let written = self.connection.execute(
            "INSERT INTO live (session, json) VALUES (?1, ?2)",
            params![session.0, to_json(second)],
        );
        patience("FULL").map_err(|error| self.broken(WRITE, &error))?;
        written.map(drop).map_err(|error| self.broken(WRITE, &error))
    }

    /// The seconds of the running trial after the one of this number, each with its number.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn shown(
        &self,
        session: SessionId,
        after: i64,
    ) -> Result<Vec<(i64, LiveSecond)>, StoreError> {
        let what = "read the store";
        let broken = |error: rusqlite::Error| self.broken(what, &error);
        let mut statement = self
            .connection
            .prepare("SELECT id, json FROM live WHERE session = ?1 AND id > ?2 ORDER BY id")
            .map_err(broken)?;
        let rows = statement
            .query_map([session.0, after], |row| {
                // What another version wrote for those who watched then is no loss.
                let json = row.get_ref(1)?.as_str().unwrap_or_default();
                Ok(serde_json::from_str(json).ok().zip(Some(row.get(0)?)))
            })
            .map_err(broken)?;
        let seconds =
            rows.filter_map(|row| row.map(|it| it.map(|(second, id)| (id, second))).transpose());
        seconds.collect::<Result<_, _>>().map_err(broken)
    }

    /// The number of a session's last event; 0 without any.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn last_event(&self, session: SessionId) -> Result<i64, StoreError> {
        let query = "SELECT coalesce(max(seq), 0) FROM events WHERE session = ?1";
        self.connection
            .query_row(query, [session.0], |row| row.get(0))
            .map_err(|error| self.broken("read the store", &error))
    }

    /// A number that is another one whenever another program has written to the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn version(&self) -> Result<i64, StoreError> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|error| self.broken("read the store", &error))
    }
}
