//! Any text as a file of targets: what was read is the same when it is written back and read again,
//! and what is refused is refused with its line.

#![no_main]

use std::io;

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::{Server, parse_targets, written_targets};
use sweetspot::terms::Target;

/// Some files are there, with their names as content.
fn file(name: &str) -> io::Result<Vec<u8>> {
    match name.starts_with("missing") {
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(name.as_bytes().to_vec()),
    }
}

/// JSON has room for headers that fit into no line; no request is made of those.
fn fits_into_lines(target: &Target) -> bool {
    target.headers.iter().all(|(name, value)| {
        let is_name = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        let is_word = !name.is_empty() && name.bytes().all(is_name);
        is_word && !name.starts_with(['@', '#']) && value.trim() == value && !value.contains('\n')
    })
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let server = Server::parse("http://app.test:3000/").expect("this is a URL");
    match parse_targets(text, &server, &file) {
        Ok(targets) => {
            let is_json = text.trim_start().starts_with('{');
            if is_json && !targets.iter().all(fits_into_lines) {
                return;
            }
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
