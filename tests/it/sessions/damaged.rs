//! Tests of stores that are damaged at random: what can be read is read, the rest is an error, and
//! it ends.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::time::Duration;

use proptest::prelude::*;
use sweetspot::store::{Store, StoreError, StoreErrorKind};

use super::sample;
use super::store::{change, filled};

/// Bytes that are overwritten from a place on, both reduced to what there is.
#[derive(Debug, Clone)]
struct Scratch {
    place: prop::sample::Index,
    bytes: Vec<u8>,
}

fn scratch() -> impl Strategy<Value = Scratch> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..9),
        (any::<u8>(), 1usize..5000).prop_map(|(byte, count)| vec![byte; count]),
    ];
    (any::<prop::sample::Index>(), bytes).prop_map(|(place, bytes)| Scratch { place, bytes })
}

fn damage(file: &mut [u8], scratches: &[Scratch]) {
    for scratch in scratches {
        let from = scratch.place.index(file.len());
        let count = scratch.bytes.len().min(file.len() - from);
        file[from..from + count].copy_from_slice(&scratch.bytes[..count]);
    }
}

/// A store of one session, as the bytes of its file.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        drop(filled(&path, &sample::unfinished_events()));
        fs::read(&path).unwrap()
    })
}

/// Reads all there is, then adds to it and removes it.
fn use_all(path: &Path) -> Result<(), StoreError> {
    let mut store = Store::open(path)?;
    for session in store.sessions()? {
        let read = store.events(session.id);
        let written = store.append(session.id, &sample::started());
        let removed = store.remove(session.id);
        read.map(drop).and(written).and(removed).and(session.fault.map_or(Ok(()), Err))?;
    }
    Ok(())
}

/// The result of `work`, which has to have one within a time that is long for it.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(60)).expect("it neither panics nor goes on for ever")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_store_damaged_anywhere_gives_an_error_or_its_rows_and_ends(
        scratches in prop::collection::vec(scratch(), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut file = whole().to_vec();
        damage(&mut file, &scratches);
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        fs::write(&path, &file).unwrap();
        let used = path.clone();
        if let Err(error) = in_time(move || use_all(&used)) {
            let text = error.to_string();
            prop_assert!(error.kind != StoreErrorKind::Bug, "{text}");
            prop_assert!(text.contains(&path.display().to_string()), "{text}");
        }
    }
}

#[test]
fn a_value_that_we_never_write_is_called_damage_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for (number, statement) in [
        "UPDATE sessions SET state = x'00'",
        "UPDATE sessions SET app = x'ff'",
        "UPDATE events SET json = 3.5",
        "DROP TABLE events",
    ]
    .iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{number}.db"));
        drop(filled(&path, &sample::unfinished_events()));
        change(&path, statement);
        let error = use_all(&path).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::NotOurs, "{statement}: {error}");
        let text = error.to_string();
        assert!(text.contains("damaged") || text.contains("sessions rm"), "{statement}: {text}");
    }
}
