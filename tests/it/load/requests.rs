//! What is asked: requests that differ each time, and where the command takes targets from.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use serde_json::Value;
use sweetspot::load::shape::Shape;
use sweetspot::load::{self, Length, LoadSpec, Variables};
use sweetspot::terms::{ConnectionMode, LiveSecond, StopSignal, Target};

use super::command::{EASY, sweetspot};
use super::engine::{ONE_CLIENT, at_rate, closing_between_requests, run, spec, total};
use super::server::{Server, ok};
use crate::process::{self, between, ended, program};

/// Requests that are due within half a second, by their due times and not by a count, so that each
/// loop has exactly its own.
const RATE: f64 = 400.0;
const COUNT: u64 = 200;

fn for_half_a_second(server: &Server, target: Target, rows: &[[&str; 2]]) -> LoadSpec {
    let mut variables = Variables::new(vec!["name".into(), "text".into()]).unwrap();
    rows.iter().for_each(|row| variables.push(row.iter().copied()));
    LoadSpec {
        targets: vec![target],
        variables: Some(Arc::new(variables)),
        length: Length::Duration(Duration::from_millis(500)),
        timeout: Duration::from_secs(20),
        loops: 2,
        ..spec(server, at_rate(RATE), 0)
    }
}

#[test]
fn requests_are_numbered_without_gaps_over_all_loops_and_have_uuids_of_their_own() {
    let target = Target {
        headers: vec![("X-Id".into(), "<{{uuid}}>".into())],
        ..Target::get("/n/{{seq}}?id={{uuid}}")
    };
    for connection in [ConnectionMode::KeepAlive, ConnectionMode::Fresh] {
        let server = Server::answering(ok(""));
        let spec = for_half_a_second(&server, target.clone(), &[["", ""]]);
        let all = total(&run(&LoadSpec { connection, ..spec }));
        assert_eq!(all.status, [(200, COUNT)].into(), "{:?}", all.errors);
        let requests = server.seen.requests.lock().unwrap();
        let sent: usize = requests.iter().map(String::len).sum();
        assert_eq!(all.bytes_out, sent as u64, "{connection}");
        let numbers: BTreeSet<u64> =
            requests.iter().map(|r| between(r, "GET /n/", "?").parse().unwrap()).collect();
        assert_eq!(numbers, (0..COUNT).collect(), "{connection}");
        let uuids: BTreeSet<&str> = requests.iter().map(|r| between(r, "?id=", " ")).collect();
        assert_eq!(uuids.len() as u64, COUNT);
        for request in requests.iter() {
            let uuid = between(request, "?id=", " ");
            assert_eq!(between(request, "X-Id: <", ">"), uuid, "one a request");
            assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }
}

#[test]
fn rows_are_taken_in_turn_and_every_body_has_its_length() {
    let long = "long ".repeat(60_000);
    let rows = [["Ann", "short"], ["Böb/ & co", ""], ["c", &long]];
    let target = Target {
        method: "POST".into(),
        headers: vec![("X-Name".into(), "{{name}}".into())],
        body: b"{{seq}}:{{text}}{{text}}.".to_vec(),
        ..Target::get("/{{seq}}/{{name}}")
    };
    let server = Server::answering(ok(""));
    let spec = for_half_a_second(&server, target, &rows);
    let length = Length::Duration(Duration::from_millis(100));
    let all = total(&run(&LoadSpec { length, ..spec }));
    assert_eq!(all.status, [(200, 40)].into(), "{:?}", all.errors);
    let requests = server.seen.requests.lock().unwrap();
    let mut numbers = BTreeSet::new();
    for request in requests.iter() {
        let number: usize = between(request, "POST /", "/").parse().unwrap();
        let [name, text] = rows[number % 3];
        let path = ["/Ann ", "/B%C3%B6b%2F%20%26%20co ", "/c "][number % 3];
        assert!(request.starts_with(&format!("POST /{number}{path}HTTP/1.1\r\n")));
        assert_eq!(between(request, "X-Name: ", "\r\n"), name);
        let body = format!("{number}:{text}{text}.");
        assert_eq!(between(request, "Content-Length: ", "\r\n"), body.len().to_string());
        let (_, arrived) = request.split_once("\r\n\r\n").unwrap();
        assert!(arrived == body, "request {number}");
        numbers.insert(number);
    }
    assert_eq!(numbers, (0..40).collect());
}

#[test]
fn a_request_that_is_sent_again_is_the_same_request() {
    // Every second request of a connection comes again on a new one.
    let server = closing_between_requests();
    let target = Target::get("/{{seq}}/{{uuid}}");
    let spec = LoadSpec { targets: vec![target], ..spec(&server, ONE_CLIENT, 20) };
    assert_eq!(total(&run(&spec)).status, [(200, 20)].into());
    let requests = server.seen.requests.lock().unwrap();
    let different: BTreeSet<&String> = requests.iter().collect();
    assert_eq!(different.len(), 20);
    assert!(requests.len() > 30, "{} arrived", requests.len());
}

#[test]
fn a_variable_that_is_unknown_or_does_not_fit_is_the_plans_mistake() {
    let server = Server::answering(ok(""));
    let refusal = |target: Target| {
        let spec = for_half_a_second(&server, target, &[["a", "s3cret\r\nX: y"]]);
        let go_on = &mut |_: &LiveSecond| ControlFlow::Continue(());
        load::run(&spec, &StopSignal::default(), go_on).unwrap_err().to_string()
    };
    let unknown = refusal(Target::get("/{{nam}}"));
    assert!(unknown.contains("known are seq, uuid, name, text"), "{unknown}");
    let header = vec![("X-A".into(), "{{text}}".into())];
    let broken = refusal(Target { headers: header, ..Target::get("/") });
    assert!(broken.contains("{{text}} stands in a header"), "{broken}");
    assert!(!broken.contains("s3cret"), "{broken}");
    assert!(server.seen.requests.lock().unwrap().is_empty());
}

/// Sets a cookie of its own for whoever has none, and ends those of whoever asks for `/end`.
fn setting_cookies() -> Server {
    let next = AtomicU64::new(0);
    Server::start(move |connection| {
        while let Some(request) = connection.request() {
            let cookie = match () {
                () if request.starts_with("GET /end ") => "Set-Cookie: id=; Max-Age=0\r\n".into(),
                () if request.contains("\r\nCookie: ") => String::new(),
                () => format!("Set-Cookie: id={}; Path=/\r\n", next.fetch_add(1, SeqCst)),
            };
            connection.send(format!("HTTP/1.1 200 OK\r\n{cookie}Content-Length: 0\r\n\r\n"));
        }
    })
}

#[test]
fn each_client_sends_the_cookies_that_it_was_given() {
    let three_clients = Shape::Clients { clients: 3, think: Duration::from_millis(5) };
    for connection in [ConnectionMode::KeepAlive, ConnectionMode::Fresh] {
        let server = setting_cookies();
        let spec = LoadSpec {
            keeps_cookies: true,
            connection,
            length: Length::Duration(Duration::from_millis(500)),
            timeout: Duration::from_secs(20),
            loops: 2,
            ..spec(&server, three_clients.clone(), 0)
        };
        let all = total(&run(&spec));
        assert_eq!(all.status, [(200, all.due)].into(), "{connection}: {:?}", all.errors);
        let requests = server.seen.requests.lock().unwrap();
        let with = |cookie: &str| {
            let header = format!("\r\nCookie: id={cookie}\r\n");
            requests.iter().filter(|request| request.contains(&header)).count()
        };
        let counts = [with("0"), with("1"), with("2")];
        let sum: usize = counts.iter().sum();
        assert_eq!(sum, requests.len() - 3, "{connection}: each lacked it once");
        assert!(counts.iter().all(|count| *count > 0), "{connection}: {counts:?}");
    }
}

#[test]
fn a_cookie_that_is_ended_is_sent_no_more_and_an_open_load_keeps_none() {
    let server = setting_cookies();
    let targets = vec![Target::get("/"), Target::get("/end")];
    let timeout = Duration::from_secs(20);
    let one = LoadSpec { targets, timeout, keeps_cookies: true, ..spec(&server, ONE_CLIENT, 40) };
    assert_eq!(total(&run(&one)).status, [(200, 40)].into());
    let requests = server.seen.requests.lock().unwrap();
    let mut has_cookie = false;
    for request in requests.iter() {
        assert_eq!(request.contains("\r\nCookie: "), has_cookie, "{request}");
        has_cookie = !request.starts_with("GET /end ");
    }
    let open = LoadSpec { keeps_cookies: true, ..spec(&server, at_rate(1.0), 1) };
    let go_on = &mut |_: &LiveSecond| ControlFlow::Continue(());
    let error = load::run(&open, &StopSignal::default(), go_on).unwrap_err().to_string();
    assert!(error.contains("only a closed load"), "{error}");
}

/// A file in a folder of its own.
fn file(content: &str) -> (tempfile::TempDir, String) {
    let folder = process::app(&[("file", content)]);
    let name = folder.path().join("file").to_str().unwrap().to_string();
    (folder, name)
}

/// How many requests began with each of these.
fn counts<const N: usize>(server: &Server, starts: [&str; N]) -> [usize; N] {
    let requests = server.seen.requests.lock().unwrap();
    starts.map(|start| requests.iter().filter(|request| request.starts_with(start)).count())
}

#[test]
fn targets_come_from_json_lines() {
    let server = Server::answering(ok(""));
    let (_folder, targets) = file(&format!(
        "{{\"method\":\"GET\",\"url\":\"{0}/a?b=1\",\"weight\":3}}\n\n{{\"method\":\"POST\",\
         \"url\":\"/orders\",\"header\":{{\"Content-Type\":[\"application/json\"]}},\
         \"body\":\"eyJuIjoxfQ==\"}}\n",
        server.url()
    ));
    let arguments = [&server.url(), "--rate", "200/s", "--requests", "40", "--targets", &targets];
    sweetspot(&[&arguments[..], &EASY].concat()).assert_code(0);
    assert_eq!(counts(&server, ["GET /a?b=1 HTTP/1.1\r\n", "POST /orders "]), [30, 10]);
    {
        let requests = server.seen.requests.lock().unwrap();
        let post = requests.iter().find(|request| request.starts_with("POST")).unwrap();
        assert!(post.contains("Content-Type: application/json\r\n"), "{post}");
        assert!(post.ends_with("\r\n\r\n{\"n\":1}"), "{post}");
    }
    // The file says where the server is.
    sweetspot(&[&arguments[1..], &EASY].concat()).assert_code(0);
    assert_eq!(counts(&server, ["GET /a?b=1 HTTP/1.1\r\n", "POST /orders "]), [60, 20]);

    let bad =
        "{\"method\":\"GET\",\"url\":\"/\"}\n\n{\"method\":\"GET\",\"url\":\"/\",\"body\":1}\n";
    let (_folder, bad) = file(bad);
    let output = sweetspot(&[&server.url(), "--rate", "1", "--targets", &bad]);
    output.assert_code(2);
    let said = output.stderr;
    assert!(said.contains("targets file, line 3: 'body' must be a text in base64"), "{said}");
}

#[test]
fn variables_come_from_a_csv_file() {
    let server = Server::answering(ok(""));
    let (_folder, table) = file("user,password\nAnn,\"p, 1\"\nBob,s3cret\n");
    let url = format!("{}/users/{{{{user}}}}", server.url());
    let arguments = [&url, "--rate", "200/s", "--requests", "20", "--variables", &table];
    let body = ["-d", "{\"n\":{{seq}},\"p\":\"{{password}}\"}"];
    let output = sweetspot(&[&arguments[..], &body, &EASY].concat());
    output.assert_code(0);
    assert_eq!(counts(&server, ["POST /users/Ann ", "POST /users/Bob "]), [10, 10]);
    let requests = server.seen.requests.lock().unwrap();
    assert!(requests.iter().any(|r| r.ends_with("{\"n\":7,\"p\":\"s3cret\"}")), "{requests:?}");
    assert!(requests.iter().any(|r| r.ends_with("{\"n\":18,\"p\":\"p, 1\"}")), "{requests:?}");
    let shown = output.stdout + &output.stderr;
    assert!(shown.contains("POST /users/{{user}}") && !shown.contains("s3cret"), "{shown}");

    let (_folder, bad) = file("user\nAnn\nBob,s3cret\n");
    for (table, path, expected) in [
        (&table, "{{usr}}", "{{usr}} is no variable (known are seq, uuid, user, password)"),
        (&bad, "{{user}}", "line 3: 2 values for 1 names"),
    ] {
        let url = format!("{}/{path}", server.url());
        let output = sweetspot(&[&url, "--rate", "1", "--variables", table]);
        let said = output.stderr;
        assert_eq!(output.code, Some(2), "{said}");
        assert!(said.contains(expected) && !said.contains("s3cret"), "{said}");
    }
}

const LOG: &str = concat!(
    "::1 - - [10/Oct/2025:13:55:36 +0200] \"GET /a?token=s3cret HTTP/1.1\" 200 5 \"-\" \"x\"\n",
    "::1 - - [10/Oct/2025:13:55:36 +0200] \"GET /b HTTP/1.1\" 200 5\n",
    "::1 - - [10/Oct/2025:13:55:37 +0200] \"POST /b HTTP/1.1\" 200 5 \"-\" \"x\"\n",
    "::1 - - [10/Oct/2025:13:55:37 +0200] \"-\" 408 0 \"-\" \"-\"\n",
    "{\"time_iso8601\":\"2025-10-10T13:55:37+02:00\",\"request\":\"GET /b HTTP/1.1\"}\n",
    "{\"time_local\":\"10/Oct/2025:13:55:38 +0200\",\"method\":\"GET\",\"uri\":\"/b\"}\n",
    "something else\n",
);

#[test]
fn an_access_log_gives_the_mix_and_what_is_left_out_is_said() {
    let server = Server::answering(ok(""));
    let (_folder, log) = file(LOG);
    let arguments = [&server.url(), "--rate", "200/s", "--requests", "40", "--access-log", &log];
    let output = sweetspot(&[&arguments[..], &EASY].concat());
    output.assert_code(0);
    assert_eq!(counts(&server, ["GET /a?token=s3cret ", "GET /b ", "POST"]), [10, 30, 0]);
    let shown = output.stdout + &output.stderr;
    let expected = "requests of the access log: 4; left out: lines not understood: 1 (the first is \
                    line 7); lines without a request: 1; requests of other methods than GET";
    assert!(shown.contains(expected) && !shown.contains("s3cret"), "{shown}");

    let server = Server::answering(ok(""));
    let mut load = program(Path::new("."));
    load.args(["load", &server.url(), "--rate", "200/s", "--requests", "50", "--json"]).args(EASY);
    load.args(["--access-log", "-", "--unsafe-methods"]).stdin(File::open(&log).unwrap());
    let output = ended(&mut load);
    output.assert_code(0);
    assert_eq!(counts(&server, ["GET /a", "GET /b ", "POST /b "]), [10, 30, 10]);
    assert!(output.stdout.contains("\"log_lines\""), "{}", output.stdout);
}

#[test]
fn a_replayed_log_is_asked_for_in_its_own_order_and_rhythm() {
    let server = Server::answering(ok(""));
    let (_folder, log) = file(LOG);
    let arguments = [&server.url(), "--access-log", &log, "--replay", "--speed", "10x", "--json"];
    // Four requests on a busy machine may be too late to be valid, but they are sent.
    let output = sweetspot(&arguments);
    assert!(matches!(output.code, Some(0 | 4)), "{}", output.stderr);
    let requests = server.seen.requests.lock().unwrap();
    let paths: Vec<&str> = requests.iter().map(|request| between(request, "GET ", " ")).collect();
    assert_eq!(paths, ["/a?token=s3cret", "/b", "/b", "/b"]);
    let result: Value = output.json();
    // The last was asked for two seconds after the first, and stands for a mean distance more.
    let duration_s = result["duration_s"].as_f64().unwrap();
    assert!((duration_s - 0.2 - 0.2 / 3.0).abs() < 1e-3, "{duration_s}");
    assert_eq!(result["due"], 4);
}

#[test]
fn a_log_that_cannot_be_used_ends_in_exit_code_2_with_the_way_out() {
    let (_folder, log) = file("GET /s3cret\n\nno log\n");
    let (_folder2, posts) = file("::1 - - [t] \"POST /b HTTP/1.1\" 200 5\n");
    for (arguments, expected) in [
        (&["--rate", "1", "--access-log", &log][..], "2 of 2 lines of the access log are not"),
        (&["--rate", "1", "--access-log", &log], "the first is line 1"),
        (&["--rate", "1", "--access-log", &posts], "--unsafe-methods"),
        (&["--rate", "1", "--access-log", "/no/such/file"], "/no/such/file"),
        (&["--rate", "1", "--access-log", &log, "--target", "/"], "cannot be used with"),
        (&["--rate", "1", "--unsafe-methods"], "--access-log"),
        (&["--access-log", &log], "--rate"),
        (&["--access-log", &log, "--replay", "--rate", "1"], "cannot be used with"),
        (&["--access-log", &log, "--replay", "--speed", "0x"], "is no speed from 0.001x"),
        (&["--access-log", &log, "--rate", "1", "--speed", "2x"], "cannot be used with"),
        (&["--access-log", &log, "--speed", "2x"], "--replay"),
        (&["--access-log", &log, "--replay", "--find-capacity"], "cannot be used with"),
    ] {
        let output = sweetspot(&[&["127.0.0.1:9"][..], arguments].concat());
        let said = output.stderr;
        assert_eq!(output.code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected) && !said.contains("s3cret"), "{arguments:?}: {said}");
    }
    sweetspot(&["127.0.0.1:9/path", "--rate", "1", "--access-log", &posts]).assert_code(2);
}
