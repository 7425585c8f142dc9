//! What each seed gave, a line of JSON as soon as it is there: a cut run goes on where it was.
//!
//! Rows are of one build of this bench: another search has other answers.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;

pub struct Rows<T> {
    known: BTreeMap<u64, T>,
    file: Mutex<File>,
}

impl<T: Clone + Serialize + DeserializeOwned> Rows<T> {
    /// `name`: of what was asked, with everything but the seed that changes an answer.
    ///
    /// # Errors
    /// The folder `target/bench-search` cannot be written.
    pub fn open(name: &str) -> Result<Self> {
        let folder = Path::new("target/bench-search");
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}-{:016x}.jsonl", build()?));
        let text = if path.exists() { fs::read_to_string(&path)? } else { String::new() };
        // The last line of a run that was cut may be half a row: that seed runs again.
        let known: BTreeMap<u64, T> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        println!("rows: {} ({} of an earlier run)", path.display(), known.len());
        Ok(Self { known, file: Mutex::new(file) })
    }

    /// What `seed` gave, measured now where no row has it.
    pub fn of(&self, seed: u64, measure: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(known) = self.known.get(&seed) {
            return Ok(known.clone());
        }
        let row = measure()?;
        let line = serde_json::to_string(&(seed, &row))? + "\n";
        self.file.lock().expect("no other worker panicked").write_all(line.as_bytes())?;
        Ok(row)
    }
}

/// Tells one build of this program from another.
fn build() -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    fs::read(std::env::current_exe()?)?.hash(&mut hasher);
    Ok(hasher.finish())
}
