//! A store that a version before facts wrote (commit a12998f) reads as that version read it.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::process::{ended, program};

/// A tune of the demo app, in which every sentence is text, as `older.db` in this folder.
fn unpack_into(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(root.join("tests/golden/older.db.gz")).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    std::fs::write(folder.join("older.db"), bytes).unwrap();
}

#[test]
fn a_store_from_before_facts_reads_as_it_did() {
    let folder = tempfile::tempdir().unwrap();
    unpack_into(folder.path());
    for (format, golden) in [("text", "older.txt"), ("markdown", "older.md"), ("csv", "older.csv")]
    {
        let mut command = program(folder.path());
        command.args(["report", "last", "-o", format, "--lang", "en", "--store", "older.db"]);
        let ended = ended(command.env_remove("COLUMNS"));
        ended.assert_code(0);
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden);
        let expected = std::fs::read_to_string(golden).unwrap();
        assert_eq!(ended.stdout, expected, "{format}");
    }
}
