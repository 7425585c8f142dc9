//! The command `sweetspot load`, as people and scripts use it.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::server::{Server, ok};
use crate::failures::site::Running;
use crate::process::{self, Ended, Kept, codes, program, unused_address, wait_until};

pub fn sweetspot(arguments: &[&str]) -> Ended {
    process::sweetspot(Path::new("."), &[&["load"], arguments].concat())
}

/// A goal that any answer meets, and beside which no lag of a busy test machine matters.
pub const EASY: [&str; 2] = ["--slo", "p50<10s"];

#[track_caller]
pub fn json(ended: &Ended) -> Value {
    ended.assert_code(0);
    ended.json()
}

/// Puma with this app, in a folder of its own; ended when dropped.
pub struct Puma {
    pub address: SocketAddr,
    _process: Kept,
    folder: tempfile::TempDir,
}

impl Puma {
    pub fn start(app: &str, threads: u16) -> Self {
        let folder = process::app(&[("config.ru", app)]);
        let address = unused_address();
        let mut command = Command::new("puma");
        command.args(["-b", &format!("unix://{}/socket", folder.path().display())]);
        command.args(["-b", &format!("tcp://{address}")]);
        command.args(["-t", &format!("{threads}:{threads}"), "-w", "0", "-e", "production"]);
        command.args(["--no-config", "config.ru"]).current_dir(folder.path());
        let process = Kept::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let puma = Self { address, _process: process, folder };
        wait_until("Puma listens", || {
            UnixStream::connect(puma.socket()).is_ok() && TcpStream::connect(address).is_ok()
        });
        puma
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }
}

/// Answers quickly, or five megabytes.
const LARGE_APP: &str = r#"
    LARGE = "x" * 5_000_000
    run ->(env) { [200, {}, [env["PATH_INFO"] == "/large" ? LARGE : "hello"]] }
"#;

#[test]
fn a_real_server_on_a_unix_socket_is_measured() {
    let puma = Puma::start(LARGE_APP, 4);
    let socket = puma.socket();
    for connection in ["keep-alive", "fresh"] {
        let arguments = ["app.test", "--unix", socket.to_str().unwrap(), "--rate", "200/s"];
        let more = ["--requests", "100", "--json", "--connection", connection];
        let result = json(&sweetspot(&[&arguments[..], &more, &EASY].concat()));
        assert_eq!(result["status"]["200"], 100, "{connection}: {result}");
    }
    let arguments = ["app.test/large", "--unix", socket.to_str().unwrap(), "--clients", "2"];
    let result =
        json(&sweetspot(&[&arguments[..], &["--requests", "6", "--json"], &EASY].concat()));
    assert_eq!(result["status"]["200"], 6);
    assert!(result["bytes_in"].as_u64().unwrap() >= 6 * 5_000_000);
}

#[test]
fn the_json_has_the_names_that_scripts_rely_on() {
    let server = Server::answering(ok("hello"));
    let arguments = [&server.url(), "--rate", "100/s", "--duration", "1s", "--warmup", "1s"];
    let output = sweetspot(&[&arguments[..], &["--json", "--slo", "p95<2s,errors<5%"]].concat());
    let result: Value = json(&output);
    let expect = |of: &Value, names: &[&str]| {
        for name in names {
            assert!(of.get(name).is_some(), "{name} is missing in {of}");
        }
    };
    expect(
        &result,
        &[
            "offered_load_rps",
            "clients",
            "duration_s",
            "due",
            "sent",
            "completed",
            "throughput_rps",
            "goodput_rps",
            "latency_s",
            "exchange_time_s",
            "send_lag_s",
            "status",
            "errors",
            "bytes_in",
            "bytes_out",
            "windows",
            "generator",
            "slo",
            "valid",
            "warnings",
        ],
    );
    let latency = ["min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"];
    expect(&result["latency_s"], &latency);
    expect(&result["exchange_time_s"], &latency);
    expect(&result["send_lag_s"], &["p50", "p99", "max"]);
    expect(
        &result["errors"],
        &[
            "refused",
            "reset",
            "timeout",
            "malformed",
            "address_unavailable",
            "tls",
            "dns",
            "closed_early",
            "dropped",
        ],
    );
    let window = ["start_s", "due", "sent", "completed", "errors", "latency_s", "in_flight"];
    expect(&result["windows"][0], &window);
    expect(&result["windows"][0]["latency_s"], &["p50", "p95", "p99", "max"]);
    expect(&result["generator"], &["cpu_user_s", "cpu_system_s", "rss_bytes_max"]);
    expect(&result["slo"], &["met", "text"]);
    assert_eq!(result["slo"]["met"], true);
    assert_eq!((&result["due"], &result["clients"]), (&Value::from(100), &Value::Null));
    assert_eq!(result["windows"].as_array().unwrap().len(), 2, "the warm-up is there too");
    assert_eq!(result["latency_s"]["p50"].as_f64().map(|p50| p50 < 1.0), Some(true), "in seconds");
}

#[test]
fn a_missed_goal_ends_in_exit_code_3_and_an_undecided_one_in_4() {
    // A generator that has to wait for a core makes both results invalid, as it should.
    let _turn = crate::turn::take();
    let slow = Server::slow(1200);
    let url = slow.url();
    let arguments = [&url, "--rate", "60/s", "--duration", "1s", "--slo", "p50<1s"];
    let output = sweetspot(&arguments);
    output.assert_code(3);
    assert!(output.stdout.contains("p50<1s: not met (p50<1s: 60 of 60 were slower"));

    let arguments = [&url, "--rate", "50/s", "--requests", "10", "--slo", "p99<10s"];
    let output = sweetspot(&arguments);
    output.assert_code(4);
    assert!(output.stdout.contains("299 requests are needed"));
}

#[test]
fn credentials_of_the_url_arrive_and_are_printed_nowhere() {
    let server = Server::answering(ok(""));
    let url = format!("http://me:s3cret@{}/private?token=t0k3n", server.address);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("headers");
    std::fs::write(&file, "# kept out of the command line\nX-File: f1le\n").unwrap();
    let given = format!("@{}", file.display());
    let arguments = [&url, "--rate", "100/s", "--requests", "5", "-H", "X-Key: k3y", "-H", &given];
    let output = sweetspot(&[&arguments[..], &EASY].concat());
    let request = server.seen.requests.lock().unwrap()[0].clone();
    assert!(request.contains("\r\nX-File: f1le\r\n"), "{request}");
    assert!(request.starts_with("GET /private?token=t0k3n HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nAuthorization: Basic bWU6czNjcmV0\r\n"), "{request}");
    assert!(request.contains("\r\nX-Key: k3y\r\n"), "{request}");
    let shown = output.stdout + &output.stderr;
    for secret in ["s3cret", "t0k3n", "k3y", "bWU6", "f1le"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("GET /private?…"), "{shown}");
}

#[test]
fn targets_come_from_flags_and_a_file_with_bodies() {
    let server = Server::answering(ok(""));
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("order.json");
    std::fs::write(&body, "{\"n\":1}").unwrap();
    let file = folder.path().join("targets");
    let content = format!(
        "GET /a weight=2\n\nPOST {}/orders\nContent-Type: application/json\n@{}\n",
        server.url(),
        body.display()
    );
    std::fs::write(&file, content).unwrap();
    let (url, file) = (server.url(), file.to_str().unwrap().to_string());
    let arguments = [&url, "--rate", "200/s", "--requests", "40", "--targets", &file];
    let output = sweetspot(&[&arguments[..], &["--target", "/b", "-q"], &EASY].concat());
    output.assert_code(0);
    assert_eq!(output.stderr, "", "quiet");
    let requests = server.seen.requests.lock().unwrap();
    let count = |start: &str| requests.iter().filter(|request| request.starts_with(start)).count();
    assert_eq!([count("GET /a "), count("POST /orders "), count("GET /b ")], [20, 10, 10]);
    let post = requests.iter().find(|request| request.starts_with("POST")).unwrap();
    assert!(post.contains("Content-Type: application/json\r\n") && post.ends_with("{\"n\":1}"));
}

#[test]
fn what_makes_no_sense_ends_in_exit_code_2_with_the_way_out() {
    for (arguments, expected) in [
        (&["127.0.0.1:9"][..], "--rate 200/s"),
        (&["127.0.0.1:9"], "--ramp 0..500/s:60s"),
        (&["127.0.0.1:9", "--rate", "fast"], "200/s"),
        (&["127.0.0.1:9", "--rate", "1", "--clients", "1"], "cannot be used with"),
        (&["127.0.0.1:9", "--clients", "0"], "at least one client"),
        (&["127.0.0.1:9", "--rate", "1", "--think", "1s"], "--think"),
        (&["127.0.0.1:9", "--rate", "-5"], "-5 is not a rate"),
        (&["127.0.0.1:9", "--steps", "50/s:9s,100/s"], "'100/s' lacks the ':'"),
        (&["127.0.0.1:9", "--ramp", "0..fast:9s"], "'fast' is not a rate"),
        (&["127.0.0.1:9", "--ramp", "0..9e9/s:9s"], "1000000/s"),
        (&["127.0.0.1:9", "--steps", "1:1s", "--ramp", "0..1:1s"], "cannot be used with"),
        (&["127.0.0.1:9", "--steps", "1:1s", "--rate", "1"], "cannot be used with"),
        (&["127.0.0.1:9", "--steps", "1:1s", "--duration", "1s"], "cannot be used with"),
        (&["127.0.0.1:9", "--ramp", "0..1:1s", "--requests", "1"], "cannot be used with"),
        (&["127.0.0.1:9", "--ramp", "0..1:1s", "--think", "1s"], "cannot be used with"),
        (&["127.0.0.1:9", "--rate", "1", "--duration", "0s"], "above zero"),
        (&["127.0.0.1:9", "--rate", "1", "--user", "me"], "lacks the ':'"),
        (&["127.0.0.1:9", "--rate", "1", "-H", "Content-Length: 9"], "the length of their body"),
        (&["127.0.0.1:9", "--rate", "1", "-H", "Host: a", "-H", "host: b"], "given 2 times"),
        (&["::1", "--rate", "1"], "[::1]"),
        (&["127.0.0.1:9", "--rate", "1", "--warmup", "1500ms"], "whole seconds"),
        (&["127.0.0.1:9", "--rate", "1", "--slo", "speed<9"], "p95<200ms"),
        (&["127.0.0.1:9", "--find-capacity"], "--slo"),
        (&["127.0.0.1:9", "--find-capacity", "--slo", "p95<1s", "--clients", "2"], "--clients"),
        (&["127.0.0.1:9", "--find-capacity", "--slo", "p95<1s", "--requests", "2"], "--requests"),
        (&["127.0.0.1:9", "--find-capacity", "--slo", "p95<1s", "--rate", "0"], "above zero"),
        (&["127.0.0.1:9", "--find-capacity", "--slo", "p95<1s", "--duration", "5s"], "12s or more"),
        (&["127.0.0.1:9", "--rate", "1", "-o", "xml"], "text, json, hgrm"),
        (&["127.0.0.1:9", "--rate", "1", "-o", "ab", "-o", "wrk"], "both ab and wrk"),
        (&["127.0.0.1:9", "--rate", "1", "--targets", "/no/such/file"], "/no/such/file"),
        (&["https://127.0.0.1:9", "--rate", "1", "--cert", "own.pem"], "--key"),
        (&["https://127.0.0.1:9", "--rate", "1", "--cacert", "/no/such/ca"], "/no/such/ca"),
        (&["http://127.0.0.1:9", "--rate", "1", "--insecure"], "write https://"),
        (&["http://192.0.2.1/", "--rate", "1"], "--allow-public"),
        (&["http://169.254.169.254/", "--rate", "1", "--allow-public"], "its credentials"),
        (&["http://[2001:db8::1]:3000/", "--rate", "1"], "--allow-public"),
    ] {
        let output = sweetspot(arguments);
        let said = output.stderr;
        assert_eq!(output.code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn steps_and_ramps_are_sent_as_written() {
    let server = Server::answering(ok("hello"));
    let url = server.url();
    let steps = [&url, "--steps", "20/s:1s,40/s:1s", "--loops", "2", "--max-in-flight", "50"];
    let result = json(&sweetspot(&[&steps[..], &["--json"], &EASY].concat()));
    let due: Vec<u64> = result["windows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|window| window["due"].as_u64().unwrap())
        .collect();
    assert_eq!(due, [20, 40]);
    assert_eq!(result["offered_load_rps"], 30.0);
    assert_eq!(result["duration_s"], 2.0);

    let ramp = [&url, "--ramp", "0..40/s:1s", "--arrivals", "uniform", "--warmup", "1s"];
    let output = sweetspot(&[&ramp[..], &EASY].concat());
    let shown = output.stdout;
    assert!(shown.contains("0.00/s to 40.0/s in 1s, uniform arrivals, for 1s after 1s"), "{shown}");
    assert!(shown.contains("20 due, 20 sent, 20 answered in 1.0 s"), "{shown}");
}

#[test]
fn a_server_that_is_not_there_ends_in_exit_code_1_with_the_reason() {
    let url = format!("http://{}", unused_address());
    let output = sweetspot(&[&url, "--rate", "100/s", "--requests", "5"]);
    output.assert_code(1);
    let said = output.stderr;
    assert!(said.contains("5 of 5 were refused"), "{said}");
    assert!(output.stdout.contains("refused: 5"), "the result is there all the same");
    let missing =
        sweetspot(&["app.test", "--unix", "/no/such/socket", "--rate", "9", "--requests", "2"]);
    missing.assert_code(1);
}

#[test]
fn results_go_to_files_in_several_formats() {
    let server = Server::answering(ok(""));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let to = |format: &str, name: &str| format!("{format}={}", file(name).display());
    let (url, json, plain) = (server.url(), to("json", "a.json"), to("text", "a.txt"));
    let arguments = [&url, "--rate", "100/s", "--requests", "5", "-o", &json, "-o", &plain];
    let output = sweetspot(&[&arguments[..], &EASY].concat());
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let result: Value = serde_json::from_str(&read(&file("a.json"))).unwrap();
    assert_eq!(result["completed"], 5);
    assert!(read(&file("a.txt")).contains("Latency"));
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_before_any_load_is_sent() {
    let server = Server::answering(ok(""));
    let folder = tempfile::tempdir().unwrap();
    let missing = format!("json={}/no/such.json", folder.path().display());
    let output = sweetspot(&[&server.url(), "--rate", "100/s", "--requests", "5", "-o", &missing]);
    output.assert_code(1);
    let said = output.stderr;
    assert!(said.contains("no load was sent") && said.contains("no/such.json"), "{said}");
    assert!(server.seen.requests.lock().unwrap().is_empty());
}

#[test]
fn one_result_that_cannot_be_written_does_not_cost_the_others() {
    let server = Server::answering(ok(""));
    let arguments = [&server.url(), "--rate", "100/s", "--requests", "5", "-o", "json=/dev/full"];
    let output = sweetspot(&[&arguments[..], &["-o", "text"]].concat());
    output.assert_code(1);
    assert!(output.stderr.contains("could not write the result to /dev/full"));
    assert!(output.stdout.contains("Status      200: 5"), "{}", output.stdout);
}

#[test]
fn headers_given_twice_and_users_without_a_password_arrive_as_given() {
    let server = Server::answering(ok(""));
    let url = format!("http://me@{}/", server.address);
    let cookies = ["-H", "Cookie: a=1", "-H", "Cookie: b=2"];
    sweetspot(&[&[&url, "--rate", "100/s", "--requests", "1"][..], &cookies].concat());
    let request = server.seen.requests.lock().unwrap()[0].clone();
    assert!(request.contains("\r\nCookie: a=1\r\nCookie: b=2\r\n"), "{request}");
    // "me:"
    assert!(request.contains("\r\nAuthorization: Basic bWU6\r\n"), "{request}");
}

#[test]
fn a_cause_is_told_once() {
    let output = sweetspot(&["http://no-such-host.invalid/", "--rate", "1"]);
    let said = output.stderr;
    assert_eq!(output.code, Some(1), "{said}");
    assert_eq!(said.matches("lookup").count(), 1, "{said}");
    assert!(said.contains("'no-such-host.invalid' (check the name)"), "{said}");
}

#[test]
fn an_interrupt_says_that_replies_are_awaited_and_how_to_give_them_up() {
    let silent = Server::start(|connection| while connection.request().is_some() {});
    let mut load = program(Path::new("."));
    load.args(["load", &silent.url(), "--rate", "5/s", "--timeout", "10m", "--duration", "10m"]);
    let mut process = Kept::start(load.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
    let mut says = |wanted: &str| lines.by_ref().any(|line| line.unwrap().contains(wanted));
    assert!(says("measuring"));
    process.signal(libc::SIGINT);
    assert!(says("Ctrl-C once more"));
    process.signal(libc::SIGINT);
    assert!(says("not one request was answered"));
    assert_eq!(process.0.wait().unwrap().code(), Some(1));
}

#[test]
fn an_interrupt_prints_the_result_so_far() {
    let server = Server::answering(ok(""));
    let mut load = program(Path::new("."));
    load.args(["load", &server.url(), "--rate", "50/s", "--duration", "10m", "--json"]).args(EASY);
    let mut running = Running::begin(load);
    running.expect("measuring");
    let first = running.stderr();
    assert!(first.lines().count() == 1 && first.contains("due 50"), "{first}");
    running.signal(libc::SIGINT);
    let ended = running.end();
    let result = ended.json();
    assert!(result["due"].as_u64().unwrap() >= 50);
    assert!(codes(&result).contains(&"cut_short"), "{result}");
    ended.assert_code(0);
}

#[test]
fn each_target_is_judged_by_its_own_goal_and_named_when_it_misses_it() {
    let _turn = crate::turn::take();
    let server = Server::start(|connection| {
        while let Some(request) = connection.request() {
            if request.starts_with("GET /report") {
                std::thread::sleep(Duration::from_millis(1200));
            }
            connection.send(ok(""));
        }
    });
    let url = server.url();
    let load = |goals: &[&str]| {
        let shape = [&url, "--rate", "80/s", "--duration", "2s", "--json"];
        let output = sweetspot(&[&shape[..], goals].concat());
        (output.code, output.json())
    };
    let own = ["--target", "/", "--target", "/report slo=p95<9s", "--slo", "p50<10s"];
    let (code, met) = load(&own);
    assert_eq!((code, &met["slo"]["met"]), (Some(0), &Value::Bool(true)), "{met:#}");
    crate::schema::assert_valid("load.schema.json", &met);
    let report = &met["goals"][1];
    assert_eq!((&report["slo"], &report["due"]), (&"p95<9s".into(), &80.into()), "{report:#}");
    assert!(report["latency_s"]["p50"].as_f64().unwrap() >= 1.2, "{report:#}");
    assert_eq!(met["goals"][0]["targets"][0]["target"], "GET /");

    let (code, missed) = load(&["--target", "/", "--target", "/report slo=p95<1s"]);
    assert_eq!(code, Some(3), "{missed:#}");
    let reason = missed["slo"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("GET /report: p95<1s: 80 of 80 were slower"), "{reason}");
    assert_eq!(missed["goals"][0]["slo"], Value::Null, "nothing was asked of the others");

    let contradiction = ["--target", "/ slo=p95<1s", "--slo", "p95<2s", "--rate", "1/s"];
    let output = sweetspot(&[&[url.as_str()], &contradiction[..]].concat());
    output.assert_code(2);
    assert!(output.stderr.contains("every target has a goal of its own"));
}
