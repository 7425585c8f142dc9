//! A store that is damaged in any way: opening, reading, adding and removing end with an error or
//! with rows, and neither with a panic nor never.
//!
//! An input that begins as SQLite files do is the file itself. Of any other the first byte says
//! what is damaged, the file (when it is even) or the log beside it; then come four bytes for each
//! damage: two for the place, one for the length, one for what is written there.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sweetspot::store::{SessionHead, Store, StoreError, StoreErrorKind};
use sweetspot::terms::{Event, EventKind, SessionState, Warning};
use tempfile::TempDir;

fn folder() -> TempDir {
    // In memory where that is possible: each event is flushed to the disk.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).expect("a folder can be made")
}

/// The name of the log beside a store.
fn log_of(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

fn warning(text: &str) -> Event {
    Event { at_s: 1.5, kind: EventKind::Warned(Warning::verbatim("code", text, "advice")) }
}

/// A store whose events are still in its log, or have all reached its file.
struct Whole {
    file: Vec<u8>,
    early_file: Vec<u8>,
    log: Vec<u8>,
}

impl Whole {
    fn make() -> Result<Self, StoreError> {
        let folder = folder();
        let path = folder.path().join("s.db");
        let mut store = Store::open(&path)?;
        for (fingerprint, state) in [("a", SessionState::Running), ("b", SessionState::Done)] {
            let (app, server) = ("/srv/shop".to_string(), "puma".to_string());
            let head = SessionHead { fingerprint: fingerprint.to_string(), app, server };
            let session = store.begin(&head, "2026-11-20T18:46:44Z")?;
            store.append(session, &warning("short"))?;
            store.append(session, &warning(&"long".repeat(2000)))?;
            if state == SessionState::Done {
                let kind = EventKind::SessionEnded { state, result: None, error: None };
                store.append(session, &Event { at_s: 2.0, kind })?;
            }
        }
        let read = |path: &Path| fs::read(path).expect("the store has made it");
        let (early_file, log) = (read(&path), read(&log_of(&path)));
        drop(store);
        Ok(Self { file: read(&path), early_file, log })
    }

    fn get() -> &'static Self {
        static WHOLE: OnceLock<Whole> = OnceLock::new();
        WHOLE.get_or_init(|| Self::make().expect("a new store can be made"))
    }
}

fn damage(file: &mut [u8], damages: &[u8]) {
    for damage in damages.chunks_exact(4) {
        let from = usize::from(u16::from_be_bytes([damage[0], damage[1]])) % file.len();
        let to = file.len().min(from + usize::from(damage[2]) + 1);
        file[from..to].fill(damage[3]);
    }
}

/// Writes the damaged store.
fn write(path: &Path, data: &[u8]) {
    let whole = Whole::get();
    let (file, log) = match data {
        [b'S', b'Q', b'L', ..] => (data.to_vec(), None),
        [first, damages @ ..] if first % 2 == 1 => {
            let mut log = whole.log.clone();
            damage(&mut log, damages);
            (whole.early_file.clone(), Some(log))
        }
        [_, damages @ ..] => {
            let mut file = whole.file.clone();
            damage(&mut file, damages);
            (file, None)
        }
        [] => (Vec::new(), None),
    };
    fs::write(path, file).expect("a file can be written");
    if let Some(log) = log {
        fs::write(log_of(path), log).expect("a file can be written");
    }
}

/// Reads all there is, then adds to it and removes it.
fn use_all(path: &Path) -> Result<(), StoreError> {
    let mut store = Store::open(path)?;
    for session in store.sessions()? {
        let read = store.events(session.id);
        let written = store.append(session.id, &warning("more"));
        let removed = store.remove(session.id);
        read.map(drop).and(written).and(removed)?;
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let folder = folder();
    let path = folder.path().join("s.db");
    write(&path, data);
    if let Err(error) = use_all(&path) {
        let text = error.to_string();
        assert!(error.kind != StoreErrorKind::Bug, "{text}");
        assert!(text.contains("s.db"), "{text}");
    }
});
