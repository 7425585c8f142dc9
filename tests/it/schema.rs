//! The JSON that scripts rely on: `schema/*.json` are what the types say, and real output is valid
//! by them.
//!
//! `UPDATE_SCHEMA=1 cargo test` writes the files anew; a changed or removed name breaks scripts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};

use serde_json::{Value, json};
use sweetspot::report::document::doctor::FindingReport;
use sweetspot::report::facts::with_sentences;
use sweetspot::report::json::{TuneReport, tune_report};
use sweetspot::report::page::{Page, Running, SessionHead, Words};
use sweetspot::report::{AnyFact, Stored, fold};
use sweetspot::serve::{Failure, ListRow, Second};
use sweetspot::session::sessions::{SessionEntry, list};
use sweetspot::terms::{
    AdviseReport, CapacitySummary, CompareReport, Event, LabEntry, LabResult, LabTune, LoadSummary,
    PredictReport, Verification, WatchSecond,
};

use crate::load::server::{Server, ok};
use crate::process::{sweetspot, unused_address};
use crate::sessions::sample;

/// The file whose fields are those of facts.
const FACTS: &str = "facts.schema.json";

const PAGE: &str = "page.schema.json";

/// What `tune --json` prints of these events, without its sentences.
pub fn report_of<'a>(
    events: impl IntoIterator<Item = &'a Event>,
    stored: Option<Stored>,
) -> TuneReport {
    tune_report(&fold(events, stored))
}

/// Within a fact there is no sentence: the fact itself stands there, or text that has none.
fn facts_within(schema: &mut Schema) {
    if schema.get("x-fact").is_some() {
        schema.insert("type".to_string(), json!(["object", "string"]));
    }
}

/// The schema of what is printed (not of what may be read: a field with a default is always
/// printed).
fn schema_of<T: JsonSchema>(title: &str) -> Schema {
    schema_with::<T>(title, facts_beside)
}

fn schema_with<T: JsonSchema>(title: &str, facts: fn(&mut Schema)) -> Schema {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(facts))
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".to_string(), title.into());
    schema
}

/// Beside each property that is said as a sentence, the one with its fact.
fn facts_beside(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let said: Vec<(String, Value)> =
        properties.iter().filter_map(|(name, it)| Some((name.clone(), fact_of(it)?))).collect();
    properties.extend(said.into_iter().map(|(name, fact)| (format!("{name}_fact"), fact)));
}

/// The schema of the fact that a property has beside it; `None` where it is no sentence.
fn fact_of(property: &Value) -> Option<Value> {
    if let Some(items) = property.get("items") {
        return Some(json!({ "type": "array", "items": fact_of(items)? }));
    }
    let options = property.get("anyOf").and_then(Value::as_array);
    let mut all = options.into_iter().flatten().chain([property]);
    let family = all.find(|it| it["type"] == "string").and_then(|it| it.get("x-fact"))?;
    Some(json!({ "type": ["object", "null"], "x-fact": family }))
}

/// What pages are made of and what `serve` answers: the page's types are generated from it. Of an
/// older draft, which the generator reads.
fn of_the_page() -> (&'static str, Schema) {
    let mut generator = SchemaSettings::draft07().for_serialize().into_generator();
    generator.subschema_for::<(SessionHead, Vec<ListRow>, Running, Second, Failure, Words)>();
    (PAGE, generator.into_root_schema_for::<Page>())
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(name)
}

fn generated() -> [(&'static str, Schema); 14] {
    [
        ("load.schema.json", schema_of::<LoadSummary>("sweetspot load --json")),
        (
            "capacity.schema.json",
            schema_of::<CapacitySummary>("sweetspot load --find-capacity --json"),
        ),
        ("tune.schema.json", schema_of::<TuneReport>("sweetspot tune --json")),
        ("watch.schema.json", schema_of::<WatchSecond>("a line of sweetspot watch --json")),
        ("doctor.schema.json", schema_of::<Vec<FindingReport>>("sweetspot doctor --json")),
        ("lab.schema.json", schema_of::<LabResult>("sweetspot lab run --json")),
        ("lab-tune.schema.json", schema_of::<LabTune>("sweetspot lab tune --json")),
        ("labs.schema.json", schema_of::<Vec<LabEntry>>("sweetspot lab list --json")),
        ("compare.schema.json", schema_of::<CompareReport>("sweetspot compare --json")),
        ("verify.schema.json", schema_of::<Verification>("sweetspot verify --json")),
        ("advise.schema.json", schema_of::<AdviseReport>("sweetspot advise --json")),
        ("predict.schema.json", schema_of::<PredictReport>("sweetspot predict --json")),
        (
            FACTS,
            schema_with::<AnyFact>(
                "the facts that sentences say, in fields named ..._fact",
                facts_within,
            ),
        ),
        ("sessions.schema.json", schema_of::<Vec<SessionEntry>>("sweetspot sessions list --json")),
    ]
}

/// Fails with every violation when `value` is not valid by the committed schema.
pub fn assert_valid(name: &str, value: &Value) {
    assert_valid_by(&committed(name), name, value);
}

/// Fails when a page, or this part of one, is not what its schema says in either language.
pub fn assert_on_page(name: &str, value: &Value) {
    let mut schema = committed(PAGE);
    if name != "Page" {
        let part = format!("#/definitions/{name}");
        schema["allOf"] = json!([{ "$ref": part }]);
        for of_a_whole_page in ["type", "properties", "required", "oneOf", "anyOf"] {
            schema.as_object_mut().unwrap().remove(of_a_whole_page);
        }
    }
    for language in ["en", "ja"] {
        assert_valid_by(&schema, name, &in_language(value, language));
    }
}

/// What the page shows, as it takes it out of what it is given.
fn in_language(value: &Value, language: &str) -> Value {
    match value {
        Value::Object(each) if each.len() == 2 && each.contains_key("en") => {
            in_language(&each[language], language)
        }
        Value::Object(fields) => {
            fields.iter().map(|(name, it)| (name.clone(), in_language(it, language))).collect()
        }
        Value::Array(values) => values.iter().map(|it| in_language(it, language)).collect(),
        other => other.clone(),
    }
}

fn committed(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file(name)).unwrap()).unwrap()
}

fn assert_valid_by(schema: &Value, name: &str, value: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
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
    for (name, schema) in generated().into_iter().chain([of_the_page()]) {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::create_dir_all(file("")).unwrap();
            std::fs::write(file(name), &text).unwrap();
        }
        let committed = std::fs::read_to_string(file(name)).unwrap_or_default();
        assert!(committed == text, "schema/{name} differs; UPDATE_SCHEMA=1 writes it anew");
    }
}

/// The names of all fields in a schema.
fn field_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            let fields = object.get("properties").and_then(Value::as_object);
            names.extend(fields.into_iter().flat_map(|fields| fields.keys().cloned()));
            object.values().for_each(|value| field_names(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| field_names(value, names)),
        _ => {}
    }
}

#[test]
fn every_field_that_is_printed_is_described() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut names = BTreeSet::new();
    for (_, schema) in generated().iter().filter(|(name, _)| *name != FACTS) {
        field_names(schema.as_value(), &mut names);
    }
    assert!(names.len() > 100, "{names:?}");
    // Described together.
    names.retain(|name| !name.ends_with("_fact"));
    names.retain(|name| !page.contains(&format!("`{name}`")));
    assert!(names.is_empty(), "docs/json.md does not describe {names:?}");
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
            let report = with_sentences(&report_of(&events, stored));
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
    assert_valid("sessions.schema.json", &with_sentences(&entries));
    assert_valid("sessions.schema.json", &json!([]));
}

#[test]
fn what_may_be_unknown_is_null_and_what_is_promised_may_not_be_missing() {
    let mut report = with_sentences(&report_of(&sample::events(), None));
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

/// What the command prints on standard output, however it ends.
fn printed(arguments: &[&str]) -> String {
    sweetspot(Path::new("."), arguments).stdout
}

#[test]
fn what_load_prints_is_valid_in_both_models_and_when_nobody_listens() {
    let server = Server::answering(ok("ok"));
    let (here, nowhere) = (server.url(), format!("http://{}/", unused_address()));
    for (url, load) in [
        (&here, ["--rate", "40/s", "--slo", "p95<5s,errors<1%"]),
        (&here, ["--clients", "2", "--think", "10ms"]),
        (&nowhere, ["--rate", "40/s", "--arrivals", "poisson"]),
    ] {
        let length = ["--requests", "20", "--connection", "fresh", "--json", "--quiet"];
        let arguments = [&["load", url][..], &load, &length].concat();
        let result: Value = serde_json::from_str(&printed(&arguments)).unwrap();
        assert_valid("load.schema.json", &result);
        let sum = |key: &str| -> u64 {
            result[key].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
        };
        assert_eq!(result["due"], sum("status") + sum("errors"), "{load:?}");
        assert_eq!(result["offered_load_rps"].is_null(), load[0] == "--clients");
        assert_eq!(result["clients"].is_null(), load[0] == "--rate");
        assert_eq!(result["goodput_rps"].is_null(), !load.contains(&"--slo"));
    }
}

#[test]
fn every_line_that_watch_prints_is_valid() {
    let pid = std::process::id().to_string();
    let text = printed(&["watch", "--pid", &pid, "--interval", "100ms", "--count", "2", "--json"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    for line in text.lines() {
        let second: Value = serde_json::from_str(line).unwrap();
        assert_valid("watch.schema.json", &second);
        // Other tests start processes below this one meanwhile: it need not stand first.
        let processes = second["processes"].as_array().unwrap();
        assert!(processes.iter().any(|process| process["pid"] == std::process::id()), "{line}");
    }
}

#[test]
fn what_doctor_prints_is_valid() {
    let findings: Value = serde_json::from_str(&printed(&["doctor", "--quick", "--json"])).unwrap();
    assert_valid("doctor.schema.json", &findings);
    assert!(!findings.as_array().unwrap().is_empty());
}
