//! `sweetspot serve`: who is answered, what the page is told, and what it is told while a session
//! is written.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use sweetspot::serve::{self, ServeError, Served};
use sweetspot::store::Store;
use sweetspot::terms::{Event, EventKind, LiveSecond, Phase, StopSignal};
use tempfile::TempDir;

use crate::process::sweetspot;
use crate::schema::assert_on_page;
use crate::sessions::{change, filled, head, sample};

const TOKEN: &str = "0123456789abcdef";

/// A server on a port of its own, which ends with this value.
pub struct Running {
    address: SocketAddr,
    stop: StopSignal,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    pub fn on(store: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = StopSignal::default();
        let (served, signal) = (Served::new(store, TOKEN.to_string()), stop.clone());
        let thread = std::thread::spawn(move || serve::run(listener, served, &signal));
        Self { address, stop, thread: Some(thread) }
    }

    /// The reply to a request with these header lines: status and body.
    fn ask_as(&self, path: &str, headers: &str) -> (u16, String) {
        let mut stream = self.send(path, headers);
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let status = reply.split(' ').nth(1).unwrap().parse().unwrap();
        let body = reply.split_once("\r\n\r\n").map(|(_, body)| body.to_string());
        (status, body.unwrap_or_default())
    }

    fn send(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
        stream
    }

    pub fn ask(&self, path: &str) -> (u16, String) {
        self.ask_as(&format!("/{TOKEN}/{path}"), "Host: 127.0.0.1\r\n")
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.ask(path);
        assert_eq!(status, 200, "{path}: {body}");
        let value = serde_json::from_str(&body).unwrap();
        match path.split('?').next().unwrap() {
            "api/sessions" => assert_message("sessions", &value),
            "api/predict" => assert_on_page("Predictions", &value),
            _ => assert_on_page("Page", &value),
        }
        value
    }

    fn listen(&self, path: &str, headers: &str) -> Messages {
        let stream =
            self.send(&format!("/{TOKEN}/{path}"), &format!("Host: localhost\r\n{headers}"));
        Messages(BufReader::new(stream))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.raise();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

/// Fails where a message is not what the page's types say.
fn assert_message(name: &str, data: &Value) {
    match (name, data) {
        ("sessions", Value::Array(rows)) => {
            rows.iter().for_each(|row| assert_on_page("ListRow", row));
        }
        ("running", Value::Null) => {}
        ("running", _) => assert_on_page("Running", data),
        ("session", _) => assert_on_page("SessionHead", data),
        ("trial", _) => assert_on_page("TrialRow", data),
        ("second", _) => assert_on_page("Second", data),
        _ => panic!("the page knows no message {name}"),
    }
}

/// Server-sent events as they come.
struct Messages(BufReader<TcpStream>);

impl Messages {
    /// The next one of this name, with its number; others are skipped.
    fn next(&mut self, wanted: &str) -> (Value, String) {
        let (mut name, mut id) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "ended before '{wanted}' came");
            let line = line.trim_end();
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.to_string();
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = text.to_string();
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| name == wanted) {
                // The number follows its data.
                let data = serde_json::from_str(data).unwrap();
                assert_message(&name, &data);
                let mut rest = String::new();
                self.0.read_line(&mut rest).unwrap();
                if let Some(text) = rest.trim_end().strip_prefix("id: ") {
                    id = text.to_string();
                }
                return (data, id);
            }
        }
    }

    /// The trial that runs, once it is as wanted.
    fn running(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (running, _) = self.next("running");
            if is_it(&running) {
                return running;
            }
        }
    }
}

/// A server of a store with these sessions, and where that is.
fn serving(sessions: &[Vec<Event>]) -> (TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    sessions.iter().for_each(|events| drop(filled(&store_in(folder.path()), events)));
    let served = Running::on(store_in(folder.path()));
    (folder, served)
}

fn store_in(folder: &Path) -> PathBuf {
    folder.join("s.db")
}

#[test]
fn only_who_knows_the_token_and_asks_this_machine_by_its_own_name_is_answered() {
    let (_folder, served) = serving(&[sample::events()]);
    assert_eq!(served.ask("").0, 200);
    assert_eq!(served.ask_as(&format!("/{TOKEN}"), "Host: localhost\r\n").0, 308);
    for path in ["/", "/api/sessions", "/0123456789abcdee/api/sessions", "/../api/sessions"] {
        assert_eq!(served.ask_as(path, "Host: 127.0.0.1\r\n").0, 404, "{path}");
    }
    let path = format!("/{TOKEN}/api/sessions");
    for host in ["Host: example.com\r\n", "Host: 127.0.0.1.example.com\r\n"] {
        assert_eq!(served.ask_as(&path, host).0, 403, "{host}");
    }
    // A request without a Host is none of HTTP/1.1.
    assert!(served.ask_as(&path, "").0 >= 400);
}

#[test]
fn sessions_are_listed_and_shown_as_their_reports_are() {
    let (_folder, served) = serving(&[sample::events(), sample::hopeless_events()]);
    let list = served.json("api/sessions");
    assert_eq!((&list[0]["id"], &list[1]["id"]), (&2.into(), &1.into()));
    assert_eq!(list[1]["decision"], "3 x 5, 412/s");
    assert!(list[0]["decision"].is_null());
    let page = served.json("api/sessions/1");
    assert_eq!(page["session"]["decision"]["workers"], 3);
    assert_eq!(page["session"]["trials"].as_array().unwrap().len(), 12);
    let (status, body) = served.ask("api/sessions/9");
    assert_eq!(status, 404);
    assert!(body.contains("there is no session 9"), "{body}");
}

#[test]
fn all_that_is_asked_of_a_recorded_session_is_as_its_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/test/recorded/demo.db.gz");
    let mut packed = flate2::read::GzDecoder::new(std::fs::File::open(recorded).unwrap());
    let mut store = std::fs::File::create(store_in(folder.path())).unwrap();
    std::io::copy(&mut packed, &mut store).unwrap();
    let served = Running::on(store_in(folder.path()));
    let id = &served.json("api/sessions")[0]["id"];
    let page = served.json(&format!("api/sessions/{id}"));
    let seconds = &page["session"]["trials"][0]["detail"]["due"];
    assert!(seconds.as_array().is_some_and(|it| it.len() > 1), "{seconds}");
    let compared = served.json(&format!("api/compare?a={id}&b={id}"));
    assert!(compared["compare"]["reason"].is_object(), "{compared}");
    let wanted = "cores=2&wait=1&workers=1,2&threads=5";
    let predicted = served.json(&format!("api/predict?session={id}&{wanted}"));
    assert_eq!(predicted["capacity_rps"].as_array().unwrap().len(), 2);
    assert_eq!(page["session"]["predict"]["measured_cores"], predicted["measured_cores"]);
}

#[test]
fn a_session_that_cannot_be_read_whole_says_so_in_the_list_beside_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(folder.path());
    (0..3).for_each(|_| drop(filled(&path, &sample::events())));
    change(
        &path,
        "UPDATE events SET kind = 'trial_paused', json = '{\"at_s\":1.0,\"kind\":
         {\"trial_paused\":1}}' WHERE session = 1 AND seq = 5;
         UPDATE sessions SET decision = '{' WHERE id = 2",
    );
    let served = Running::on(path);
    let list = served.json("api/sessions");
    let said = |row: usize| list[row]["decision"].as_str().unwrap();
    assert_eq!(said(0), "3 x 5, 412/s");
    assert!(said(1).contains("row of table sessions with id 2 is damaged"), "{}", said(1));
    assert!(said(2).contains("session 1 was written by a newer sweetspot"), "{}", said(2));
    let page = served.json("api/sessions/1");
    assert_eq!(page["session"]["decision"]["workers"], 3);
    let (session, _) = served.listen("api/sessions/1/live", "").next("session");
    assert_eq!(session["state"], "done", "what is behind the unknown event is read too");
}

#[test]
fn questions_that_make_no_sense_are_refused_with_a_reason() {
    let (_folder, served) = serving(&[sample::events()]);
    for path in [
        "api/compare?a=/etc/passwd&b=1",
        "api/compare?a=1@x&b=1",
        "api/compare?a=1@x:2&b=1",
        "api/compare?a=1&b=other.db:1",
        "api/predict?session=1&cores=x&wait=1&workers=1&threads=1",
        "api/predict?session=1&cores=0&wait=1&workers=1&threads=1",
        "api/predict?session=1&cores=1&wait=1&workers=0&threads=1",
    ] {
        let (status, body) = served.ask(path);
        assert_eq!(status, 400, "{path}: {body}");
        assert_on_page("Failure", &serde_json::from_str(&body).unwrap());
    }
}

#[test]
fn a_store_that_is_not_there_yet_is_an_empty_list() {
    let (_folder, served) = serving(&[]);
    assert_eq!(served.json("api/sessions"), serde_json::json!([]));
}

#[test]
fn what_a_session_writes_is_told_as_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(folder.path());
    let events = sample::events();
    let is_started = |kind: &EventKind| matches!(kind, EventKind::TrialStarted { .. });
    let first = events.iter().position(|event| is_started(&event.kind)).unwrap();
    let (mut store, id) = filled(&path, &events[..first]);
    let served = Running::on(path);
    let mut messages = served.listen("api/sessions/1/live", "");
    let (list, _) = messages.next("sessions");
    assert_eq!(list[0]["is_alive"], true);
    let (session, _) = messages.next("session");
    assert_eq!((&session["state"], &session["decision"]), (&"running".into(), &Value::Null));

    store.append(id, &events[first]).unwrap();
    let running = messages.running(|it| !it.is_null());
    let text = running["text"]["en"].as_str().unwrap();
    assert!(text.contains(": 1 x 5, unloaded, 1 client for"), "{text}");

    let (phase, p95) = (Phase::WarmUp, Some(Duration::from_millis(14)));
    let second = LiveSecond { phase, due: 80, p95, ..sample::second(1) };
    store.show(id, &second).unwrap();
    let (shown, _) = messages.next("second");
    assert_eq!((&shown["due"], &shown["phase"]), (&80.into(), &"warm_up".into()));
    assert_eq!(shown["p95_s"], 0.014);

    store.append(id, &events[first + 1]).unwrap();
    let (trial, number) = messages.next("trial");
    assert_eq!((&trial["id"], &trial["purpose"]), (&1.into(), &"unloaded".into()));
    messages.running(Value::is_null);
    assert_eq!(store.shown(id, 0).unwrap(), [], "the trial's own record has its seconds");

    for event in &events[first + 2..] {
        store.append(id, event).unwrap();
    }
    loop {
        let (session, _) = messages.next("session");
        if session["state"] == "done" {
            assert_eq!(session["decision"]["workers"], 3);
            break;
        }
    }

    // A browser that was cut off gets what came since, and nothing twice.
    let mut again = served.listen("api/sessions/1/live", &format!("Last-Event-ID: {number}\r\n"));
    let (trial, _) = again.next("trial");
    assert_eq!(trial["id"], 2);
}

#[test]
fn nothing_is_served_to_a_network() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let served = Served::new("s.db".into(), TOKEN.to_string());
    let error = serve::run(listener, served, &StopSignal::default()).unwrap_err();
    assert!(error.to_string().contains("no loopback address"), "{error}");
}

#[test]
fn a_port_that_is_taken_is_said_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = sweetspot(folder.path(), &["serve", "--port", &port]);
    assert_eq!(ended.code, Some(2));
    let said = ended.stderr;
    assert!(said.contains(&port) && said.contains("--port 0"), "{said}");
}

#[test]
fn a_session_that_begins_later_comes_into_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(folder.path());
    let mut store = Store::open(&path).unwrap();
    store.begin(&head(), "2026-11-20T18:46:44Z").unwrap();
    let served = Running::on(path);
    let mut messages = served.listen("api/sessions/1/live", "");
    assert_eq!(messages.next("sessions").0[0]["id"], 1);
    store.begin(&head(), "2026-11-20T18:46:45Z").unwrap();
    assert_eq!(messages.next("sessions").0[0]["id"], 2);
}

#[test]
fn each_of_two_pages_that_follow_a_session_is_told_all_of_it() {
    let events = sample::unfinished_events();
    let is_end = |event: &&Event| matches!(event.kind, EventKind::TrialFinished { .. });
    let trials = events.iter().filter(is_end).count();
    let (_folder, served) = serving(&[events]);
    let [mut first, mut second] = [(); 2].map(|()| served.listen("api/sessions/1/live", ""));
    for messages in [&mut first, &mut second] {
        let ids: Vec<_> = (0..trials).map(|_| messages.next("trial").0["id"].clone()).collect();
        assert_eq!(ids.len(), trials, "{ids:?}");
        let (session, _) = messages.next("session");
        assert_eq!(session["state"], "running", "this process has written it");
    }
}
