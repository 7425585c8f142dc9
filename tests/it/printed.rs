//! What verbs print, where nobody reads it and where there is no room for it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;

use crate::load::server::Server;
use crate::process::{app, ended, program, unused_address};
use crate::sessions::{filled, sample};

const VERBS: [&[&str]; 13] = [
    &["completions", "bash"],
    &["completions", "zsh"],
    &["lab", "list"],
    &["lab", "show", "rails-puma", "--json"],
    &["sessions", "list"],
    &["sessions", "show", "last", "--json"],
    &["report", "last"],
    &["predict", "last", "--cpus", "4"],
    &["predict", "last", "--json"],
    &["compare", "last", "last", "--quiet"],
    &["restore"],
    &["tune", "--dry-run"],
    &["tune", "--dry-run", "--json"],
];

#[test]
fn who_reads_no_further_is_no_failure_and_a_full_disk_is_one() {
    let folder = app(&[("config.ru", "run ->(_) { [200, {}, []] }")]);
    filled(&folder.path().join(".sweetspot/sweetspot.db"), &sample::events());
    for verb in VERBS {
        let printing_to = |output: Stdio| {
            let ended = ended(program(folder.path()).args(verb).stdout(output));
            (ended.code, ended.stderr)
        };
        let (expected, said) = printing_to(Stdio::null());
        assert!(matches!(expected, Some(0 | 3 | 4)), "{verb:?}: {said}");
        let (code, said) = printing_to(unread());
        assert_eq!(code, expected, "{verb:?}: {said}");
        assert!(!said.contains("panicked"), "{verb:?}: {said}");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (code, said) = printing_to(full.into());
        assert_eq!(code, Some(1), "{verb:?}: {said}");
        assert!(said.contains("No space left on device"), "{verb:?}: {said}");
        assert!(!said.contains("panicked"), "{verb:?}: {said}");
    }
}

#[test]
fn a_load_whose_result_nobody_reads_ends_with_its_verdict() {
    let failing = Server::answering("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n");
    for format in ["text", "json", "csv", "hlog"] {
        let mut load = program(Path::new("."));
        load.args(["load", &failing.url(), "--rate", "100/s", "--duration", "1s"]);
        load.args(["--slo", "errors<1%", "-o", format]);
        let ended = ended(load.stdout(unread()).stderr(unread()));
        // Where this machine's other work left the generator too little, the SLO is undecided.
        assert!(matches!(ended.code, Some(3 | 4)), "{format}: {:?}", ended.code);
    }
}

#[test]
fn a_failure_that_nobody_reads_ends_with_its_code() {
    let nowhere = unused_address().to_string();
    for (code, verb) in [
        (1, &["load", &nowhere, "--rate", "5/s", "--duration", "1s"][..]),
        (2, &["load", &nowhere, "--rate", "5/s", "-o", "text", "--json"]),
        (2, &["report", "nothing"]),
    ] {
        let ended = ended(program(Path::new("/")).args(verb).stdout(unread()).stderr(unread()));
        assert_eq!(ended.code, Some(code), "{verb:?}");
    }
}

/// Where a verb may write and nobody reads.
fn unread() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}
