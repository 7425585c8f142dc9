//! The JSON that scripts rely on: `schema/*.json` are what the types say, and real output is valid
//! by them.
//!
//! `UPDATE_SCHEMA=1 cargo test` writes the files anew; a changed or removed name breaks scripts.

use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use sweetspot::report::json::{TuneReport, fold};
use sweetspot::session::sessions::{SessionEntry, list};
use sweetspot::terms::LoadSummary;

use crate::sessions::sample;

/// The schema of what is printed (not of what may be read: a field with a default is always
/// printed).
fn schema_of<T: JsonSchema>(title: &str) -> Schema {
    let mut schema =
        SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_string(), title.into());
    schema
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(name)
}

fn generated() -> [(&'static str, Schema); 3] {
    [
        ("load.schema.json", schema_of::<LoadSummary>("sweetspot load --json")),
        ("tune.schema.json", schema_of::<TuneReport>("sweetspot tune --json")),
        ("sessions.schema.json", schema_of::<Vec<SessionEntry>>("sweetspot sessions list --json")),
    ]
}

/// Fails with every violation when `value` is not valid by the committed schema.
pub fn assert_valid(name: &str, value: &Value) {
    let schema: Value =
        serde_json::from_str(&std::fs::read_to_string(file(name)).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "not valid by {name}:\n{}", errors.join("\n"));
}

fn is_valid(name: &str, value: &Value) -> bool {
    std::panic::catch_unwind(|| assert_valid(name, value)).is_ok()
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    for (name, schema) in generated() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::create_dir_all(file("")).unwrap();
            std::fs::write(file(name), &text).unwrap();
        }
        let committed = std::fs::read_to_string(file(name)).unwrap_or_default();
        assert!(committed == text, "schema/{name} differs; UPDATE_SCHEMA=1 writes it anew");
    }
}

#[test]
fn reports_of_every_kind_of_session_are_valid() {
    for events in [
        sample::events(),
        sample::unfinished_events(),
        sample::hopeless_events(),
        sample::invalid_events(),
        Vec::new(),
    ] {
        for stored in [Some(sample::stored()), None] {
            let report = serde_json::to_value(fold(&events, stored)).unwrap();
            assert_valid("tune.schema.json", &report);
            for trial in report["trials"].as_array().unwrap() {
                assert_valid("load.schema.json", &trial["summary"]);
            }
        }
    }
}

#[test]
fn the_list_of_sessions_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    for events in [sample::events(), sample::unfinished_events()] {
        crate::sessions::filled(&path, &events);
    }
    let entries = list(&sweetspot::store::Store::open(&path).unwrap()).unwrap();
    assert_eq!(entries.len(), 2);
    assert_valid("sessions.schema.json", &serde_json::to_value(entries).unwrap());
    assert_valid("sessions.schema.json", &json!([]));
}

#[test]
fn what_may_be_unknown_is_null_and_what_is_promised_may_not_be_missing() {
    let mut report = serde_json::to_value(fold(&sample::events(), None)).unwrap();
    for path in [
        "/session",
        "/current",
        "/current/capacity_rps",
        "/decision",
        "/decision/gain_ratio",
        "/decision/memory_bytes",
        "/trials/0/offered_load_rps",
        "/trials/0/clients",
        "/trials/0/memory_bytes",
        "/trials/0/summary/goodput_rps",
        "/trials/0/summary/slo",
        "/trials/0/summary/slo/met",
        "/predicted/0/memory_bytes",
        "/machine",
    ] {
        let mut changed = report.clone();
        *changed.pointer_mut(path).unwrap_or_else(|| panic!("{path} is not there")) = Value::Null;
        assert!(is_valid("tune.schema.json", &changed), "{path} may be null");
    }
    for name in ["current", "decision", "trials", "predicted", "elapsed_s", "load_s", "warnings"] {
        let mut changed = report.clone();
        changed.as_object_mut().unwrap().remove(name);
        assert!(!is_valid("tune.schema.json", &changed), "{name} may not be missing");
    }
    report["trials"][0]["verdict"] = json!("maybe");
    assert!(!is_valid("tune.schema.json", &report), "a verdict is yes, no or undecided");
}
