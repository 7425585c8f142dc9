//! Stores that are not ours, not for this version, damaged or out of reach, as a user meets them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;

use super::sample;
use super::store::{as_nobody, change, filled};
use crate::failures::site::set_mode;
use crate::process::{self, Ended, copy_of_program, ended, flat, sweetspot};

/// Every verb that opens a store: those that would write first.
const VERBS: [&[&str]; 8] = [
    &["tune", "--server", "puma", "--workers", "1", "--threads", "1", "--yes"],
    &["sessions", "rm", "1"],
    &["sessions", "list"],
    &["sessions", "show", "last"],
    &["report", "last", "-o", "json"],
    &["predict", "last"],
    &["verify", "last"],
    &["compare", "1", "2"],
];

/// Names and bytes of a folder's files.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file());
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    files.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
}

fn app() -> tempfile::TempDir {
    process::app(&[("config.ru", "run ->(_) { [200, {}, ['ok']] }\n")])
}

fn assert_says(ended: &Ended, code: i32, parts: &[&str]) {
    let said = flat(&ended.stderr);
    assert_eq!(ended.code, Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "'{part}' is missing in: {said}");
    }
}

/// All verbs say so about `s.db` of this folder, and leave every file of it as it was.
fn assert_refused(folder: &Path, parts: &[&str]) {
    let before = files(folder);
    for verb in VERBS {
        let output = sweetspot(folder, &[verb, &["--store", "s.db"]].concat());
        assert_says(&output, 1, &[&["could not", "s.db"], parts].concat());
        assert!(files(folder) == before, "{verb:?} changed a file of {:?}", files(folder).keys());
    }
}

#[test]
fn a_database_of_another_program_is_refused_before_a_byte_of_it_changes() {
    let marked = "PRAGMA application_id = 1196444487";
    for (journal, mark) in [("DELETE", ""), ("WAL", ""), ("DELETE", marked), ("WAL", marked)] {
        let folder = app();
        let foreign = Connection::open(folder.path().join("s.db")).unwrap();
        foreign.pragma_update(None, "journal_mode", journal).unwrap();
        foreign.execute_batch(&format!("CREATE TABLE recipes(a); {mark}")).unwrap();
        drop(foreign);
        assert_eq!(files(folder.path()).len(), 2, "the database and the app");
        assert_refused(
            folder.path(),
            &["a database of another program", "left as it was", "another file with --store"],
        );
    }
}

#[test]
fn tables_of_another_program_that_are_in_its_log_alone_stay_there() {
    let (origin, folder) = (tempfile::tempdir().unwrap(), app());
    let foreign = Connection::open(origin.path().join("s.db")).unwrap();
    foreign.pragma_update(None, "journal_mode", "WAL").unwrap();
    foreign.execute_batch("CREATE TABLE recipes(a)").unwrap();
    // Copied while it is open, as a program leaves it that was killed.
    for name in ["s.db", "s.db-wal"] {
        fs::copy(origin.path().join(name), folder.path().join(name)).unwrap();
    }
    let before = files(folder.path());
    for verb in VERBS {
        let output = sweetspot(folder.path(), &[verb, &["--store", "s.db"]].concat());
        assert_says(&output, 1, &["s.db", "a database of another program"]);
        let mut after = files(folder.path());
        after.remove("s.db-shm");
        assert!(after == before, "{verb:?} changed a file");
    }
}

#[test]
fn a_store_of_a_newer_version_is_refused_before_a_byte_of_it_changes() {
    let folder = app();
    let path = folder.path().join("s.db");
    drop(filled(&path, &sample::events()));
    change(&path, "PRAGMA user_version = 7");
    assert_refused(
        folder.path(),
        &["a newer sweetspot (format 7; this one knows up to 2)", "update sweetspot or name"],
    );
}

#[test]
fn what_is_no_database_is_refused_and_left_as_it_was() {
    for text in [b"milk\n".to_vec(), b"This is a shopping list.\n".repeat(400)] {
        let folder = app();
        fs::write(folder.path().join("s.db"), text).unwrap();
        assert_refused(folder.path(), &["it is no database", "another file with --store"]);
    }
    let folder = app();
    fs::create_dir(folder.path().join("s.db")).unwrap();
    assert_refused(folder.path(), &["it is a folder; name another file with --store"]);
}

#[test]
fn a_store_that_this_user_may_not_read_says_so() {
    let folder = app();
    let path = folder.path().join("s.db");
    drop(filled(&path, &sample::events()));
    let program = copy_of_program(folder.path());
    set_mode(&path, 0o000);
    set_mode(folder.path(), 0o755);
    let before = fs::metadata(&path).unwrap().len();
    for verb in VERBS {
        let arguments = [verb, &["--store", "s.db"]].concat();
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(folder.path()).env("LC_ALL", "C.UTF-8");
        let output = as_nobody(|| ended(&mut command));
        assert_says(&output, 1, &["s.db", "this user may not read it", "change its permissions"]);
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), before);
}

/// Three sessions, the second of them changed by this statement.
fn three_with(statements: &str) -> tempfile::TempDir {
    let folder = app();
    let path = folder.path().join("s.db");
    for _ in 0..3 {
        drop(filled(&path, &sample::events()));
    }
    change(&path, statements);
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Ended {
    sweetspot(folder, &[arguments, &["--store", "s.db"]].concat())
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let ended = run(folder, arguments);
    ended.assert_code(0);
    ended.json()
}

/// The list says it of the second session and shows the others as ever.
fn assert_listed(folder: &Path, parts: &[&str]) {
    let entries = json(folder, &["sessions", "list", "--json"]);
    crate::schema::assert_valid("sessions.schema.json", &entries);
    let error = entries[1]["error"].as_str().unwrap();
    let text = run(folder, &["sessions", "list"]);
    let said = flat(&text.stdout);
    for part in parts {
        assert!(error.contains(part) && said.contains(part), "'{part}': {error}\n{said}");
    }
    assert!(said.contains("session 2: "), "{said}");
    for sound in [0, 2] {
        assert_eq!(entries[sound]["error"], Value::Null);
        assert_eq!(entries[sound]["decision"]["workers"], 3);
    }
    assert_eq!(said.matches("done puma 5.6.5 3 x 5, 412/s /srv/shop").count(), 2, "{said}");
    let sound = flat(&run(folder, &["report", "3"]).stdout);
    assert!(sound.starts_with("Run 3 workers x 5 threads") && !sound.contains("s.db:"), "{sound}");
    assert_eq!(run(folder, &["predict", "3"]).code, Some(0));
}

/// The second session's report is made from the rest and says it, under this code.
fn assert_reported(folder: &Path, code: &str, parts: &[&str]) {
    let report = json(folder, &["report", "2", "--json"]);
    assert_eq!(report["warnings"][0]["code"], code);
    assert_eq!(report["decision"]["workers"], 3);
    let message = report["warnings"][0]["message"].as_str().unwrap();
    let text = flat(&run(folder, &["report", "2"]).stdout);
    for part in parts {
        assert!(message.contains(part) && text.contains(part), "'{part}': {message}\n{text}");
    }
}

#[test]
fn a_session_with_an_event_that_nobody_knows_says_that_a_newer_version_wrote_it() {
    let folder = three_with(
        "UPDATE events SET kind = 'trial_paused', json = '{\"at_s\":1.0,\"kind\":{\"trial_paused\":
         {\"why\":\"lunch\"}}}' WHERE session = 2 AND seq = 5",
    );
    let parts = ["session 2 was written by a newer sweetspot", "trial_paused", "update sweetspot"];
    assert_listed(folder.path(), &parts);
    assert_reported(folder.path(), "store-newer", &parts);
    // What computes from a session wants it whole.
    assert_says(&run(folder.path(), &["predict", "2"]), 1, &parts);
}

#[test]
fn a_fact_that_nobody_knows_is_a_newer_versions_too() {
    let folder = three_with(
        "UPDATE events SET json = replace(json, '\"purpose\":\"', '\"purpose\":\"un')
         WHERE session = 2 AND kind = 'trial_started' AND seq < 9",
    );
    let parts = ["session 2 was written by a newer sweetspot", "`ununloaded`"];
    assert_reported(folder.path(), "store-newer", &parts);
    assert_says(&run(folder.path(), &["predict", "2"]), 1, &parts);
}

#[test]
fn a_damaged_event_says_which_row_of_which_table_it_is() {
    for change in ["json = '{\"at_s\": 1.0, \"kind\"'", "json = x'00ff'", "json = '{\"at_s\": []}'"]
    {
        let folder =
            three_with(&format!("UPDATE events SET {change} WHERE session = 2 AND seq = 5"));
        let parts = ["row of table events with session 2 and seq 5 is damaged", "sessions rm 2"];
        assert_reported(folder.path(), "store-damaged", &parts);
        assert_says(&run(folder.path(), &["predict", "2"]), 1, &parts);
        let entries = json(folder.path(), &["sessions", "list", "--json"]);
        assert_eq!(entries.as_array().unwrap().len(), 3);
    }
}

#[test]
fn a_damaged_session_says_which_row_of_which_table_it_is() {
    for change in ["decision = '{\"workers\"'", "decision = '{}'", "state = x'00'", "app = x'ff'"] {
        let folder = three_with(&format!("UPDATE sessions SET {change} WHERE id = 2"));
        let parts = ["row of table sessions with id 2 is damaged", "sessions rm 2"];
        assert_listed(folder.path(), &parts);
        assert_reported(folder.path(), "store-damaged", &parts);
        assert_eq!(run(folder.path(), &["sessions", "rm", "2"]).code, Some(0));
        assert_eq!(run(folder.path(), &["sessions", "list", "-q"]).stdout, "3\n1\n");
    }
}
