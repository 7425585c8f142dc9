//! Any bytes as what an app prints: as many lines are counted however they come, few are shown, and
//! no secret that the app was given is among them.
//!
//! The first byte of the input says how the rest is split; each byte of 1 in it is the secret.

#![no_main]

use std::fs::File;
use std::io::Write;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::log::{LineCounter, tail, worth_showing};
use sweetspot::server::{ADAPTERS, ReadyLine, own_message, recognise_failure};
use sweetspot::terms::Secrets;

const SECRET: &str = "q7Zx-s3cr3t";

/// As Puma says that a worker is there.
fn wanted() -> Vec<ReadyLine> {
    vec![ReadyLine { contains: vec!["Worker".into(), "booted".into()], count: 2 }]
}

fn with_secrets(bytes: &[u8]) -> Vec<u8> {
    let said = bytes.iter().flat_map(|byte| match byte {
        1 => SECRET.as_bytes(),
        _ => std::slice::from_ref(byte),
    });
    said.copied().collect()
}

/// Lines counted when the log grows by so many bytes at a time.
fn counted(path: &Path, said: &[u8], length: usize) -> u16 {
    let mut file = File::create(path).expect("a file can be written");
    let mut counter = LineCounter::open(path, wanted()).expect("the file is there");
    for piece in said.chunks(length.max(1)) {
        file.write_all(piece).expect("it can be added to");
        counter.counts().expect("it can be read");
    }
    counter.counts().expect("it can be read")[0]
}

fuzz_target!(|data: &[u8]| {
    let [control, bytes @ ..] = data else { return };
    let said = with_secrets(bytes);
    // In memory where that is possible.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(parent).expect("a folder can be made");
    let path = folder.path().join("server.log");
    let in_one = counted(&path, &said, said.len());
    assert_eq!(counted(&path, &said, 1 + usize::from(*control) * 8), in_one, "in pieces");
    let lines = tail(&path, &Secrets::default().with_values([SECRET]));
    let shown = worth_showing(&lines);
    assert!(shown.len() <= 20, "{} lines are shown", shown.len());
    for line in &lines {
        assert!(!line.contains(SECRET), "{line}");
    }
    for adapter in ADAPTERS {
        recognise_failure(*adapter, &lines);
    }
    own_message(&lines);
});
