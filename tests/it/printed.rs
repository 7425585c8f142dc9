//! What verbs print, where nobody reads it and where there is no room for it.

use std::fs::File;
use std::io;
use std::process::Stdio;

use crate::process::{app, ended, program};
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
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let (code, said) = printing_to(writer.into());
        assert_eq!(code, expected, "{verb:?}: {said}");
        assert!(!said.contains("panicked"), "{verb:?}: {said}");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (code, said) = printing_to(full.into());
        assert_eq!(code, Some(1), "{verb:?}: {said}");
        assert!(said.contains("No space left on device"), "{verb:?}: {said}");
        assert!(!said.contains("panicked"), "{verb:?}: {said}");
    }
}
