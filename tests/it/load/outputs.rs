//! The forms that `sweetspot load` writes its results in, from the command to the file.

use std::path::PathBuf;

use serde_json::Value;
use sweetspot::report::NamedForm;

use super::command::sweetspot;
use super::server::{Server, ok};
use crate::process::Ended;

/// 40 requests in two seconds, after one of warm-up; any answer in time is good.
const LOAD: [&str; 9] =
    ["--rate", "20/s", "--duration", "2s", "--warmup", "1s", "--slo", "p50<10s", "-q"];

fn load(url: &str, outputs: &[String]) -> Ended {
    let outputs = outputs.iter().flat_map(|output| ["-o", output]);
    let arguments: Vec<&str> = [url].into_iter().chain(LOAD).chain(outputs).collect();
    sweetspot(&arguments)
}

fn columns(row: &str) -> Vec<String> {
    row.split(',').map(str::to_string).collect()
}

#[test]
fn every_form_of_one_load_is_written_to_its_file() {
    let server = Server::answering(ok("hello"));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    let names = ["json", "hgrm", "hlog", "csv", "vegeta", "vegeta-json", "wrk", "ab", "k6"];
    let outputs = names.map(|name| format!("{name}={}", file(name).display()));
    let output = load(&format!("{}/a?secret=1", server.url()), &outputs);
    output.assert_code(0);
    assert!(output.stdout.is_empty());
    let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let json = |name: &str| -> Value { serde_json::from_str(&text(name)).unwrap() };

    assert_eq!(json("json")["completed"], 40);
    assert!(text("hgrm").contains("Total count    =           40]"), "{}", text("hgrm"));
    assert!(text("vegeta").starts_with("Requests      [total, rate, throughput]         40, 20.5"));
    assert!(text("vegeta").contains("[code:count]                      200:40  \n"));
    assert_eq!(json("vegeta-json")["requests"], 40);
    assert!(text("wrk").contains("  40 requests in "), "{}", text("wrk"));
    assert!(text("wrk").contains(&format!("Running 2s test @ {}/a?…\n", server.url())));
    assert!(text("ab").contains("Complete requests:      40\n"), "{}", text("ab"));
    assert_eq!(json("k6")["metrics"]["http_reqs"]["count"], 40);
    assert_eq!(json("k6")["metrics"]["http_req_duration"]["thresholds"]["p(50)<10000"], false);
    // The measured seconds, counted from the beginning of the warm-up.
    let starts = ["1.000,1.000,", "Tag=exchange,1.000,", "2.000,1.000,", "Tag=exchange,2.000,"];
    let intervals: Vec<String> = text("hlog").lines().skip(5).map(str::to_string).collect();
    assert_eq!(intervals.len(), starts.len(), "{intervals:?}");
    for (interval, start) in intervals.iter().zip(starts) {
        assert!(interval.starts_with(start), "{interval}");
    }
    let rows: Vec<Vec<String>> = text("csv").lines().map(columns).collect();
    assert_eq!(rows.len(), 40, "the warm-up is left out: {}", text("csv"));
    for row in &rows {
        assert_eq!((row.len(), row[1].as_str(), row[9].as_str()), (12, "200", "GET"), "{row:?}");
        assert_eq!(row[10], format!("{}/a?…", server.url()));
    }
    let received: u64 = rows.iter().map(|row| row[4].parse::<u64>().unwrap()).sum();
    assert_eq!(json("json")["bytes_in"], received, "rows and seconds tell of the same bytes");
    for name in names {
        assert!(!text(name).contains("secret"), "{name}");
    }
}

#[test]
fn a_stream_that_cannot_be_begun_is_told_before_any_load_is_sent() {
    let server = Server::answering(ok(""));
    let output = load(&server.url(), &["hlog=/dev/full".to_string()]);
    output.assert_code(1);
    let said = output.stderr;
    assert!(said.contains("no load was sent") && said.contains("/dev/full"), "{said}");
    assert!(server.seen.requests.lock().unwrap().is_empty());
}

#[test]
fn the_help_names_every_format() {
    let help = sweetspot(&["--help"]).stdout;
    for (name, _) in sweetspot::report::load::Format::ALL {
        let is_named = help.split(|c: char| !c.is_alphanumeric() && c != '-').any(|w| w == *name);
        assert!(is_named, "{name} in {help}");
    }
}

#[test]
fn a_load_that_is_refused_leaves_the_last_results_as_they_were() {
    let server = Server::answering(ok(""));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("{name}={}", folder.path().join(name).display());
    let url = server.url();
    for name in ["csv", "hlog", "json"] {
        std::fs::write(folder.path().join(name), "yesterday's").unwrap();
    }
    for refused in [
        &["--warmup", "1500ms"][..],
        &["--target", "GET /{{usr}}"],
        &["--target", "GET /", "--from", "ssh://nowhere.invalid"],
    ] {
        let load = [&[&*url, "--rate", "20/s", "--duration", "1s"], refused].concat();
        let outputs = ["csv", "hlog", "json"].map(file);
        let outputs = outputs.iter().flat_map(|output| ["-o", output]);
        sweetspot(&load.into_iter().chain(outputs).collect::<Vec<_>>()).assert_code(2);
        for name in ["csv", "hlog", "json"] {
            let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
            assert_eq!(text, "yesterday's", "{refused:?}");
        }
    }
    assert!(server.seen.requests.lock().unwrap().is_empty());
}
