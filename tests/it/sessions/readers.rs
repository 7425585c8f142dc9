//! Reports in the hands of the programs that they are meant for.
//!
//! `make test-readers` installs them; see `load/readers.rs` for what is skipped where.

use std::io::Write;
use std::process::{Command, Stdio};

use super::reports::rendered;
use super::sample;
use crate::load::readers::is_there;
use sweetspot::report::push::otlp;
use sweetspot::report::{Format, fold, metrics};

/// Runs a command on this text; what it printed, with its errors.
fn fed(command: &mut Command, text: &str) -> (bool, String) {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (output.status.success(), said.concat())
}

/// Prints the name and the labels of every sample.
const READ_METRICS: &str = "
import sys
from prometheus_client.parser import text_string_to_metric_families as read
for family in read(sys.stdin.read()):
    for it in family.samples:
        print(family.type, it.name, it.labels.get('app'), it.labels.get('quantile'), it.value)
";

#[test]
fn prometheus_reads_our_metrics() {
    if !is_there(
        "prometheus_client",
        Command::new("python3").args(["-c", "import prometheus_client"]),
    ) {
        return;
    }
    let text = rendered(&sample::events(), Format::Prometheus);
    let (is_read, said) = fed(Command::new("python3").args(["-c", READ_METRICS]), &text);
    assert!(is_read, "{said}");
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(said.lines().count(), samples, "{said}");
    let app = "/srv/shop | `beta` <b>🛒</b>[31m";
    for expected in [
        format!("gauge sweetspot_capacity_requests_per_second {app} None 412.4"),
        format!("gauge sweetspot_memory_bytes {app} None 238026752.0"),
        format!("summary sweetspot_confirmed_latency_seconds {app} 0.95 0.152"),
    ] {
        assert!(said.contains(&expected), "no {expected} in {said}");
    }
}

/// Prints each metric's name, unit and number of points.
const READ_OTLP: &str = "
import sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service
request = json_format.Parse(sys.stdin.read(), service.ExportMetricsServiceRequest())
for metric in request.resource_metrics[0].scope_metrics[0].metrics:
    points = metric.gauge.data_points
    print(metric.name, metric.unit, len(points), points[0].as_double, points[0].time_unix_nano)
";

#[test]
fn opentelemetry_reads_what_is_pushed() {
    let probe = ["-c", "import opentelemetry.proto.collector.metrics.v1.metrics_service_pb2"];
    if !is_there("opentelemetry", Command::new("python3").args(probe)) {
        return;
    }
    let story = fold(&sample::events(), Some(sample::stored()));
    let at = jiff::Timestamp::from_second(1_700_000_000).unwrap();
    let document = otlp::document(&metrics::of_session(&story), at, "sweetspot");
    let (is_read, said) = fed(Command::new("python3").args(["-c", READ_OTLP]), &document);
    assert!(is_read, "{said}");
    for expected in [
        "sweetspot.capacity {request}/s 2 412.4 1700000000000000000",
        "sweetspot.memory By 1 238026752.0 1700000000000000000",
        "sweetspot.confirmed_latency s 7 ",
    ] {
        assert!(said.contains(expected), "no {expected} in {said}");
    }
}

#[test]
fn promtool_has_nothing_to_say_against_our_metrics() {
    if !is_there("promtool", Command::new("promtool").arg("--version")) {
        return;
    }
    let text = rendered(&sample::events(), Format::Prometheus);
    let (is_fit, said) = fed(Command::new("promtool").args(["check", "metrics"]), &text);
    assert!(is_fit && said.is_empty(), "{said}");
}

#[test]
fn our_junit_keeps_to_the_schema() {
    if !is_there("xmllint", Command::new("xmllint").arg("--version")) {
        return;
    }
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schema/JUnit.xsd");
    for events in [
        sample::events(),
        sample::hopeless_events(),
        sample::invalid_events(),
        sample::unfinished_events(),
    ] {
        let text = rendered(&events, Format::Junit);
        let check = ["--noout", "--schema", schema, "-"];
        let (is_valid, said) = fed(Command::new("xmllint").args(check), &text);
        assert!(is_valid, "{said}\n{text}");
    }
}
