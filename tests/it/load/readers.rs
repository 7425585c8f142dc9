//! Our output files in the hands of the programs that they are meant for: what these read is what
//! was recorded.
//!
//! `make test-readers` installs them. Where one is not installed its test is skipped, with a line
//! that says so, unless the variable SWEETSPOT_READERS names it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use sweetspot::report::load::{About, LoadResult, Report, RequestLine, Sinks, Stream};
use sweetspot::terms::{
    ErrorCounts, GeneratorSummary, Latencies, LatencySummary, LoadSecond, LoadSummary,
    RequestError, RequestRow, SendLagSummary,
};

/// Whether the reader can be started; where it has to be and can't, that fails the test.
pub fn is_there(reader: &str, probe: &mut Command) -> bool {
    let is_there = probe.output().is_ok_and(|output| output.status.success());
    let needed = std::env::var("SWEETSPOT_READERS").unwrap_or_default();
    let is_needed = needed.split(' ').any(|name| name == reader);
    assert!(is_there || !is_needed, "{reader} has to be there and cannot be started");
    if !is_there {
        eprintln!("SKIPPED: {reader} is not installed; `make test-readers` installs it");
    }
    is_there
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A stream into this file, as a load writes it.
fn written(stream: Stream, file: &Path, write: impl FnOnce(&mut Sinks)) {
    let mut sinks = Sinks::default();
    let out = Box::new(std::fs::File::create(file).unwrap());
    sinks.add(stream, &about(), file.display().to_string(), out).unwrap();
    write(&mut sinks);
    assert!(sinks.finish().is_empty());
}

fn about() -> About {
    About {
        description: Vec::new(),
        server: "http://127.0.0.1:9292".into(),
        host: "127.0.0.1".into(),
        port: 9292,
        targets: vec![
            RequestLine { method: "GET".into(), path: "/a,\"b\"?…".into() },
            RequestLine { method: "POST".into(), path: "/orders".into() },
        ],
        has_bodies: true,
        began: Timestamp::from_second(1_700_000_000).unwrap(),
        duration: Some(Duration::from_secs(1)),
        loops: 1,
    }
}

const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// Prints the intervals of a log as JSON.
const READ_LOG: &str = "
import json, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3600 * 1000 * 1000, 3))
intervals = []
while True:
    interval = reader.get_next_interval_histogram()
    if interval is None:
        break
    intervals.append({
        'tag': interval.get_tag(),
        'start_ms': interval.get_start_time_stamp(),
        'count': interval.get_total_count(),
        'values': [interval.get_value_at_percentile(100 * float(q)) for q in sys.argv[2:]],
    })
print(json.dumps(intervals))
";

fn intervals(log: &Path) -> Vec<Value> {
    let quantiles = QUANTILES.map(|quantile| quantile.to_string());
    let text = output_of(Command::new("python3").args(["-c", READ_LOG]).arg(log).args(quantiles));
    serde_json::from_str(&text).unwrap()
}

/// A thousand values from `least` microseconds to a thousand times that.
fn spread(least: u64) -> Latencies {
    let mut latencies = Latencies::default();
    (1..=1000).for_each(|step| latencies.record(Duration::from_micros(least * step)));
    latencies
}

#[test]
fn hdrhistograms_python_package_reads_the_quantiles_that_were_recorded() {
    if !is_there("hdrhistogram", Command::new("python3").args(["-c", "import hdrh.log"])) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let second = |least| LoadSecond {
        latency: spread(2 * least),
        exchange_time: spread(least),
        ..LoadSecond::default()
    };
    let seconds: [(u32, LoadSecond); 4] =
        [(3, second(1)), (4, second(900)), (5, LoadSecond::default()), (6, second(40))];
    let log = folder.path().join("load.hlog");
    written(Stream::Hlog, &log, |sinks| {
        seconds.iter().for_each(|(index, second)| sinks.second(u64::from(*index), second));
    });

    let recorded = seconds.iter().flat_map(|(index, second)| {
        [
            (*index, Value::Null, &second.latency),
            (*index, Value::from("exchange"), &second.exchange_time),
        ]
    });
    let (read, recorded) = (intervals(&log), recorded.collect::<Vec<_>>());
    assert_eq!(read.len(), recorded.len());
    for (interval, (index, tag, recorded)) in read.iter().zip(recorded) {
        assert_eq!(interval["tag"], tag);
        assert_eq!(interval["start_ms"], (1_700_000_000.0 + f64::from(index)) * 1000.0);
        assert_eq!(interval["count"], recorded.count());
        for (value, quantile) in interval["values"].as_array().unwrap().iter().zip(QUANTILES) {
            let us = recorded.quantile(quantile).unwrap_or_default().as_micros() as u64;
            assert_eq!(value.as_u64(), Some(us), "{quantile} of second {index}");
        }
    }
}

/// 100 requests, one each 10 ms, 2 ms each: 94 good, three of 503, two refused, one given up.
fn rows() -> Vec<RequestRow> {
    let row = |at: u64| {
        let (status, error) = match at {
            10 | 20 => (0, Some(RequestError::Refused)),
            30 => (0, Some(RequestError::Timeout)),
            40 | 50 | 60 => (503, None),
            _ => (200, None),
        };
        RequestRow {
            due_ns: at * 10_000_000,
            latency_ns: 2_000_000,
            bytes_in: if error.is_some() { 0 } else { 150 },
            bytes_out: 80,
            sequence: at,
            target: (at % 2) as u32,
            status,
            error,
        }
    };
    (0..100).map(row).collect()
}

/// The load of [`rows`] as its seconds have it.
fn all() -> LoadSecond {
    let mut all = LoadSecond {
        due: 100,
        sent: 100,
        status: [(200, 94), (503, 3)].into(),
        errors: ErrorCounts { refused: 2, timeout: 1, ..ErrorCounts::default() },
        bytes_in: 97 * 150,
        bytes_out: 8000,
        ..LoadSecond::default()
    };
    all.latency.record_n(Duration::from_millis(2), 100);
    all
}

fn summary(all: &LoadSecond) -> LoadSummary {
    let none = LatencySummary::default();
    let summary = json!({
        "offered_load_rps": 100.0,
        "duration_s": 1.0,
        "due": all.due,
        "sent": all.sent,
        "completed": all.completed(),
        "throughput_rps": 94.0,
        "latency_s": none,
        "exchange_time_s": none,
        "send_lag_s": SendLagSummary::default(),
        "status": all.status,
        "errors": all.errors,
        "bytes_in": all.bytes_in,
        "bytes_out": all.bytes_out,
        "windows": [],
        "generator": GeneratorSummary::default(),
        "valid": true,
        "warnings": [],
    });
    serde_json::from_value(summary).unwrap()
}

#[test]
fn vegeta_reads_our_rows_and_prints_the_report_that_we_print() {
    if !is_there("vegeta", Command::new("vegeta").arg("-version")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("load.csv");
    written(Stream::Csv, &table, |sinks| rows().chunks(7).for_each(|some| sinks.rows(some)));
    let about = about();
    let report = |form: &str| output_of(Command::new("vegeta").args(["report", form]).arg(&table));
    let all = all();
    let result = LoadResult { about: &about, summary: &summary(&all), all: &all };
    assert_eq!(report("-type=text"), Report::Vegeta.render(&result));

    let theirs: Value = serde_json::from_str(&report("-type=json")).unwrap();
    let ours: Value = serde_json::from_str(&Report::VegetaJson.render(&result)).unwrap();
    for name in ["latencies", "duration", "wait", "requests", "rate", "throughput", "success"] {
        assert_eq!(theirs[name], ours[name], "{name}");
    }
    for name in ["bytes_in", "bytes_out"] {
        // One writes a whole mean with a decimal and the other without.
        let figures = |of: &Value| [of[name]["total"].as_f64(), of[name]["mean"].as_f64()];
        assert_eq!(figures(&theirs), figures(&ours), "{name}");
    }
    for name in ["status_codes", "errors"] {
        assert_eq!(theirs[name], ours[name], "{name}");
    }
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(names(&theirs), names(&ours));
}
