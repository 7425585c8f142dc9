//! What is printed without a terminal.

use super::*;

const TUNE: &[&str] =
    &["tune", "--workers", "1", "--threads", "1", "--budget", "20s", "--slo", "p95<1s"];

fn assert_plain(text: &str) {
    let control = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "{text:?}");
}

#[test]
fn without_a_terminal_lines_are_plain_and_json_is_alone_on_standard_output() {
    let site = Site::waiting();
    let ended = site.run(&[TUNE, &["--json"]].concat());
    ended.assert_code(0);
    assert_plain(&ended.stderr);
    ended.assert_says(&["trial 1: 1 x 1, unloaded, 1 client for 5 s; about 20 s left"]);
    let report = ended.json();
    crate::schema::assert_valid("tune.schema.json", &report);
    for trial in report["trials"].as_array().unwrap() {
        crate::schema::assert_valid("load.schema.json", &trial["summary"]);
    }
    assert_eq!(configuration(&report["decision"]), (1, 1));

    let sessions = site.run(&["sessions", "list", "--json"]);
    sessions.assert_code(0);
    crate::schema::assert_valid("sessions.schema.json", &sessions.json());
    let again = site.run(&["report", "1", "-o", "json"]);
    assert_eq!(again.json()["trials"], report["trials"], "replayed to the last digit");
}

#[test]
fn quiet_prints_the_decision_and_nothing_else() {
    let site = Site::answering("sleep 0.3; [200, {}, ['ok']]");
    let loud = &["tune", "--workers", "1", "--threads", "5", "--budget", "20s"];
    let ended = site.run(&[loud.as_slice(), &["--slo", "p95<100ms", "--quiet"]].concat());
    ended.assert_code(3);
    assert_plain(&ended.stdout);
    assert_eq!(ended.stderr, "");
    ended.assert_says(&["No configuration held any rate"]);
    let ended = site.run(&[loud.as_slice(), &["--slo", "p95<100ms", "-q", "--json"]].concat());
    ended.assert_code(3);
    assert_eq!(ended.stderr, "");
    let report = ended.json();
    crate::schema::assert_valid("tune.schema.json", &report);
    assert!(report["decision"].is_null());
}
