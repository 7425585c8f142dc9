//! `--push`: what a collector on this machine is sent, and what becomes of the result when it does
//! not take it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use sweetspot::http_client::Peer;
use sweetspot::report::push::{self, Patience, PushError};

use super::sample;
use super::store::filled;
use crate::load::server::{Server, ok};
use crate::process::{self, Ended, ended, program, unused_address};

/// A request as it arrived.
pub struct Request {
    /// The request line and the headers, in small letters but for values.
    pub head: Vec<String>,
    pub body: String,
}

impl Request {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Gives these replies in turn, one a connection.
pub fn collector(replies: Vec<String>) -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = channel();
    thread::spawn(move || {
        for reply in replies {
            let (stream, _) = listener.accept().unwrap();
            let sent = sender.send(read(&stream));
            // Who has its reply finds the request here.
            (&stream).write_all(reply.as_bytes()).unwrap();
            if sent.is_err() {
                return;
            }
        }
    });
    (address, requests)
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_string()),
        }
    }
    let length = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).unwrap();
    Request { head, body: String::from_utf8(body).unwrap() }
}

pub fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

/// Runs the program on a folder with the sample in its store.
fn sweetspot(arguments: &[&str]) -> (tempfile::TempDir, Ended) {
    let folder = tempfile::tempdir().unwrap();
    filled(&folder.path().join(".sweetspot/sweetspot.db"), &sample::events());
    let mut command = program(folder.path());
    // A proxy of the machine's must not be asked.
    command.args(arguments).env("http_proxy", "http://127.0.0.1:9");
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s3cret%20key");
    command.env_remove("OTEL_EXPORTER_OTLP_METRICS_HEADERS").env_remove("OTEL_SERVICE_NAME");
    let ended = ended(&mut command);
    (folder, ended)
}

#[test]
fn a_session_is_pushed_as_gauges_with_their_attributes_and_the_time_of_its_end() {
    let (address, requests) = collector(vec![reply("200 OK", "", "{}")]);
    let url = format!("otlp=http://{address}");
    let (folder, output) = sweetspot(&["report", "last", "--push", &url]);
    output.assert_code(0);
    assert!(output.stdout.is_empty(), "what is pushed is not printed as well");
    let request = requests.try_recv().unwrap();
    assert_eq!(request.head[0], "POST /v1/metrics HTTP/1.1");
    let has = |header: &str| request.head.iter().any(|line| line.eq_ignore_ascii_case(header));
    assert!(has("content-type: application/json"), "{:?}", request.head);
    assert!(has("api-key: s3cret key"), "{:?}", request.head);
    assert!(has(&format!("host: {address}")), "{:?}", request.head);

    let json = request.json();
    let resource = &json["resourceMetrics"][0];
    assert_eq!(resource["resource"]["attributes"][0]["key"], "service.name");
    assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "sweetspot");
    let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let points = |name: &str| {
        let metric = metrics.iter().find(|it| it["name"] == name);
        metric.unwrap_or_else(|| panic!("no {name}"))["gauge"]["dataPoints"].clone()
    };
    let capacity = points("sweetspot.capacity");
    assert_eq!(capacity[0]["asDouble"], 412.4);
    assert_eq!(capacity[1]["asDouble"], 270.1);
    let report = process::sweetspot(folder.path(), &["report", "last", "--json"]);
    let report = report.json();
    let began: jiff::Timestamp = report["started_at"].as_str().unwrap().parse().unwrap();
    let ended = began.as_nanosecond() + 371_800_000_000;
    assert_eq!(capacity[0]["timeUnixNano"], ended.to_string());
    let attributes = capacity[0]["attributes"].as_array().unwrap();
    let of = |name: &str| {
        let attribute = attributes.iter().find(|it| it["key"] == name).unwrap();
        attribute["value"]["stringValue"].as_str().unwrap().to_string()
    };
    assert_eq!(
        (of("workers"), of("threads"), of("setting")),
        ("3".into(), "5".into(), "chosen".into())
    );
    assert!(!of("app").contains('\u{1b}'), "{}", of("app"));
    assert_eq!(points("sweetspot.confirmed_latency").as_array().unwrap().len(), 7);
}

#[test]
fn a_load_is_pushed_when_its_result_is_written() {
    let server = Server::answering(ok("hello"));
    let (address, requests) = collector(vec![reply("200 OK", "", "{}")]);
    let (push, url) = (format!("otlp=http://{address}"), server.url());
    let load = ["load", &url, "--rate", "20/s", "--duration", "1s", "-q", "-o", "json=load.json"];
    let (folder, output) = sweetspot(&[&load[..], &["--push", &push]].concat());
    // On a busy machine it may not be valid; it is pushed all the same, and says so.
    assert!(matches!(output.code, Some(0 | 4)), "{}", output.stderr);
    assert!(folder.path().join("load.json").is_file());
    let json = requests.try_recv().unwrap().json();
    let metrics = &json["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let due = metrics.as_array().unwrap().iter().find(|it| it["name"] == "sweetspot.load_requests");
    assert_eq!(due.unwrap()["gauge"]["dataPoints"][0]["asDouble"], 20.0, "{metrics}");
}

#[test]
fn a_busy_collector_is_asked_again_and_one_that_refuses_is_not() {
    let busy = reply("503 Service Unavailable", "retry-after: 0\r\n", "");
    let (address, requests) = collector(vec![busy.clone(), busy, reply("200 OK", "", "")]);
    let url = format!("otlp=http://{address}/custom/path");
    let (_folder, output) = sweetspot(&["report", "last", "--push", &url]);
    output.assert_code(0);
    let paths: Vec<String> = requests.iter().take(3).map(|it| it.head[0].clone()).collect();
    assert_eq!(paths, ["POST /custom/path HTTP/1.1"; 3]);

    let refusal =
        reply("400 Bad Request", "", r#"{"code":3,"message":"no \u001b[31msuch metric"}"#);
    let (address, _requests) = collector(vec![refusal]);
    let url = format!("otlp=http://{address}");
    let arguments = ["report", "last", "-o", "json=a.json", "--push", &url];
    let (folder, output) = sweetspot(&arguments);
    let said = output.stderr;
    assert_eq!(output.code, Some(1), "{said}");
    assert!(folder.path().join("a.json").is_file(), "the report is written all the same");
    let expected = format!(
        "the result was not pushed: http://{address}/v1/metrics answered 400: no [31msuch metric \
         (tried once)"
    );
    assert!(said.contains(&expected), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_wait_beyond_any_clock_is_not_made() {
    for seconds in ["18446744073709551615", "99999999999999999999999", "3600"] {
        let wait = format!("retry-after: {seconds}\r\n");
        let busy = reply("503 Service Unavailable", &wait, "");
        let (address, _requests) = collector(vec![busy]);
        let url = format!("otlp=http://{address}");
        let (_folder, output) = sweetspot(&["report", "last", "--push", &url]);
        output.assert_code(1);
        assert!(output.stderr.contains("answered 503"), "{seconds}: {}", output.stderr);
    }
}

#[test]
fn a_collector_that_rejects_values_or_sends_us_elsewhere_is_a_failure() {
    let partial = r#"{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too old"}}"#;
    for (reply, expected) in [
        (reply("200 OK", "", partial), "rejected 2 of the values: too old"),
        (reply("302 Found", "location: http://127.0.0.1:9/\r\n", ""), "answered 302 (tried once)"),
    ] {
        let (address, _requests) = collector(vec![reply]);
        let url = format!("otlp=http://{address}");
        let (_folder, output) = sweetspot(&["report", "last", "--push", &url]);
        output.assert_code(1);
        assert!(output.stderr.contains(expected), "{}", output.stderr);
    }
}

#[test]
fn addresses_that_are_public_or_hold_secrets_are_refused_before_anything_is_done() {
    for (url, expected) in [
        ("otlp=http://192.0.2.1:4318", "192.0.2.1, a public address"),
        ("otlp=http://me:s3cret@127.0.0.1:4318", "user and password do not stand in the address"),
        ("statsd=http://127.0.0.1", "write for example otlp=http://127.0.0.1:4318"),
    ] {
        let (folder, output) = sweetspot(&["report", "last", "-o", "json=a.json", "--push", url]);
        let said = output.stderr;
        assert_eq!(output.code, Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(!folder.path().join("a.json").exists());
    }
}

fn receiver(address: SocketAddr) -> push::Receiver {
    let url = format!("http://{address}/v1/metrics");
    let peer = Peer { url, addresses: vec![address], headers: Vec::new() };
    push::Receiver { peer, service: "sweetspot".into() }
}

#[test]
fn nobody_there_is_told_after_as_many_tries_as_there_is_patience_for() {
    let address = unused_address();
    let receiver = receiver(address);
    let patience = Patience { attempts: 3, pause: Duration::ZERO, ..Patience::DEFAULT };
    let error = push::send(&receiver, "{}", patience).unwrap_err();
    assert!(matches!(error, PushError::Unreachable { .. }), "{error}");
    assert!(error.to_string().ends_with("(tried 3 times)"), "{error}");

    // A wait that is longer than all the time there is is not begun.
    let asks = reply("429 Too Many Requests", "retry-after: 3600\r\n", "");
    let (address, _requests) = collector(vec![asks]);
    let error = push::send(&self::receiver(address), "{}", Patience::DEFAULT).unwrap_err();
    assert!(error.to_string().ends_with("answered 429 (tried once)"), "{error}");
}
