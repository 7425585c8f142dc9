//! What each seed gave, a row as soon as it is there: a cut run goes on where it was.
//!
//! Rows are of one build of the benches: another search has other answers.

use std::path::Path;
use std::sync::Mutex;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::common::rows::Rows;
use crate::common::{Result, machine};

pub struct BySeed<T>(Mutex<Rows<(u64, T)>>);

impl<T: Clone + Serialize + DeserializeOwned> BySeed<T> {
    /// `name`: of what was asked, with everything but the seed that changes an answer.
    ///
    /// # Errors
    /// The folder `target/bench-search` cannot be written.
    pub fn open(name: &str) -> Result<Self> {
        let folder = Path::new("target/bench-search");
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}-{}.jsonl", machine::fingerprint(None)?));
        let rows = Rows::open(&path)?;
        println!("rows: {} ({} of an earlier run)", path.display(), rows.len());
        Ok(Self(Mutex::new(rows)))
    }

    /// What `seed` gave, measured now where no row has it.
    pub fn of(&self, seed: u64, measure: impl FnOnce() -> Result<T>) -> Result<T> {
        let rows = || self.0.lock().expect("no other worker panicked");
        let known = rows().iter().find(|row| row.0 == seed).map(|row| row.1.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let row = measure()?;
        rows().add((seed, row.clone()))?;
        Ok(row)
    }
}
