//! Any text as a file of targets: what was read is the same when it is written back and read again,
//! and what is refused is refused with its line.

#![no_main]

use std::io;

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::{Server, parse_targets, written_targets};

/// Some files are there, with their names as content.
fn file(name: &str) -> io::Result<Vec<u8>> {
    match name.starts_with("missing") {
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(name.as_bytes().to_vec()),
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let server = Server::parse("http://app.test:3000/").expect("this is a URL");
    match parse_targets(text, &server, &file) {
        Ok(targets) => {
            let written = written_targets(&targets);
            let body = |place: &str| -> io::Result<Vec<u8>> {
                let place: usize = place.parse().expect("bodies are named by their places");
                Ok(targets[place].body.clone())
            };
            match parse_targets(&written, &server, &body) {
                Ok(again) => assert!(again == targets, "it became something else:\n{written}"),
                Err(error) => panic!("{error}:\n{written}"),
            }
        }
        Err(error) => {
            let error = error.to_string();
            let names = |line: usize| error.starts_with(&format!("targets file, line {line}: "));
            let names_line = (1..=text.lines().count()).any(names);
            assert!(names_line || error.contains("names no target"), "{error}");
        }
    }
});
