//! Where metrics are pushed to: looked up and allowed before anything is measured, sent after
//! everything else is written.
//!
//! In: what was typed, and the environment's headers. Out: a receiver, or what is wrong.

use std::env;

use super::peer::{Of, PeerError, peer};
use crate::plan::traffic::percent_decoded;
use crate::report::Story;
use crate::report::load::LoadResult;
use crate::report::metrics::{self, Metric};
use crate::report::push::{self, Patience, PushError, Receiver, Wanted, otlp};

/// What headers the environment names, the more particular variable first.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// What holds for the address of a receiver.
const PUSH: Of = Of {
    name: "--push",
    no_user: "user and password do not stand in the address; put them into \
              OTEL_EXPORTER_OTLP_HEADERS, such as authorization=Basic%20…",
    no_query: "the address has no query; headers stand in OTEL_EXPORTER_OTLP_HEADERS",
    rule: "results are sent to this machine and private networks only, unless you say \
           --allow-public-push",
    // Where OTLP/HTTP takes metrics.
    bare_path: "/v1/metrics",
};

/// Finds the receiver.
///
/// # Errors
/// The URL or the headers cannot be read, the name is not known, or an address is public without
/// that being allowed. No message repeats a password or a header's value.
pub fn prepare(wanted: &Wanted, allows_public: bool) -> Result<Receiver, PeerError> {
    let headers = headers_set(|name| env::var(name).ok())?;
    let peer = peer(&PUSH, &wanted.url, headers, allows_public)?;
    let service = env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    Ok(Receiver { peer, service: service.unwrap_or_else(|| "sweetspot".to_string()) })
}

/// Sends a stored session's metrics, as of its end by its own clock: a pause before it was taken up
/// is not stored, and leaves that too early.
///
/// # Errors
/// They were not taken.
pub fn session(receiver: &Receiver, story: &Story) -> Result<(), PushError> {
    let began = story.stored.as_ref().and_then(|stored| stored.started_at.parse().ok());
    let ended = began.and_then(|began: jiff::Timestamp| {
        began.checked_add(jiff::SignedDuration::try_from_secs_f64(story.elapsed_s).ok()?).ok()
    });
    send(receiver, &metrics::of_session(story), ended.unwrap_or_else(jiff::Timestamp::now))
}

/// Sends the metrics of a session that has just ended, as of now.
///
/// # Errors
/// They were not taken.
pub fn session_just_ended(receiver: &Receiver, story: &Story) -> Result<(), PushError> {
    send(receiver, &metrics::of_session(story), jiff::Timestamp::now())
}

/// Sends a load's metrics, as of its end.
///
/// # Errors
/// They were not taken.
pub fn load(receiver: &Receiver, result: &LoadResult<'_>) -> Result<(), PushError> {
    let summary = result.summary;
    let length = jiff::SignedDuration::try_from_secs_f64(summary.warm_up_s + summary.duration_s);
    let ended = length.ok().and_then(|length| result.about.began.checked_add(length).ok());
    send(receiver, &metrics::of_load(result), ended.unwrap_or_else(jiff::Timestamp::now))
}

fn send(receiver: &Receiver, all: &[Metric], at: jiff::Timestamp) -> Result<(), PushError> {
    push::send(receiver, &otlp::document(all, at, &receiver.service), Patience::DEFAULT)
}

/// The headers that the environment names, whose variables `of` gives. An empty one counts as unset
/// (OpenTelemetry's "Environment Variable Specification").
fn headers_set(of: impl Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>, PeerError> {
    let is_set = |text: &String| !text.trim().is_empty();
    let set = HEADERS.iter().find_map(|name| Some((name, of(name).filter(is_set)?)));
    let Some((name, text)) = set else { return Ok(Vec::new()) };
    headers(&text).ok_or_else(|| {
        let what = format!("{name} is no list of headers; write name=value,name=value");
        PeerError::Usage { of: PUSH.name, what }
    })
}

/// Reads `name=value,name=value`, values percent-encoded, as OpenTelemetry has it. `None` when it
/// is no such list, or a header could not be sent.
fn headers(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            let (name, value) = (name.trim(), percent_decoded(value.trim()));
            let is_name = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            let is_value = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            (is_name && is_value).then(|| (name.to_string(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;
    use crate::report::Stored;

    /// The time that values have when they reach a collector.
    fn dated(send: impl FnOnce(&Receiver) -> Result<(), PushError>) -> jiff::Timestamp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let receiver = prepare(&Wanted { url }, false).unwrap();
        let collector = thread::spawn(move || taken(&listener.accept().unwrap().0));
        send(&receiver).unwrap();
        let json: serde_json::Value = serde_json::from_str(&collector.join().unwrap()).unwrap();
        let point = "/resourceMetrics/0/scopeMetrics/0/metrics/0/gauge/dataPoints/0";
        let time = json.pointer(point).unwrap()["timeUnixNano"].as_str().unwrap();
        jiff::Timestamp::from_nanosecond(time.parse().unwrap()).unwrap()
    }

    /// The body of a request, which is answered as one that was taken.
    fn taken(mut stream: &TcpStream) -> String {
        let mut reader = BufReader::new(stream);
        let mut length = 0_usize;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().unwrap();
                }
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(reply).unwrap();
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn a_stored_session_is_dated_by_its_own_clock_and_one_that_has_just_ended_by_now() {
        let started_at = "2020-01-02T03:04:05Z".to_string();
        let stored = Stored { session: 1, store: "s.db".to_string(), started_at };
        let story = Story { stored: Some(stored), elapsed_s: 60.0, ..Story::default() };
        let at = dated(|receiver| session(receiver, &story));
        assert_eq!(at.to_string(), "2020-01-02T03:05:05Z");
        let before = jiff::Timestamp::now();
        let at = dated(|receiver| session_just_ended(receiver, &story));
        assert!((before..=jiff::Timestamp::now()).contains(&at), "{at}");
    }

    #[test]
    fn headers_are_read_as_opentelemetry_writes_them() {
        let read = |text: &str| headers(text);
        assert_eq!(read(""), Some(Vec::new()));
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(
            read("api-key=abc, authorization=Bearer%20x%3D%3D"),
            Some(vec![pair("api-key", "abc"), pair("authorization", "Bearer x==")])
        );
        for wrong in ["abc", "=x", "a b=c", "a=b%0d%0ac: d"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_empty_variable_hides_no_headers_and_a_wrong_one_is_named() {
        let set = |of_metrics: Option<&str>, of_all: Option<&str>| {
            let of = |name: &str| if name == HEADERS[0] { of_metrics } else { of_all };
            headers_set(|name| of(name).map(String::from)).map_err(|error| error.to_string())
        };
        let pair = |value: &str| vec![("api-key".to_string(), value.to_string())];
        assert_eq!(set(Some("api-key=a"), Some("api-key=b")), Ok(pair("a")));
        for empty in [None, Some(""), Some(" ")] {
            assert_eq!(set(empty, Some("api-key=b")), Ok(pair("b")), "{empty:?}");
            assert_eq!(set(empty, empty), Ok(Vec::new()), "{empty:?}");
        }
        let said = set(Some("s3cret"), Some("api-key=b")).unwrap_err();
        assert!(said.contains("OTEL_EXPORTER_OTLP_METRICS_HEADERS is no list"), "{said}");
        let said = set(Some(""), Some("s3cret")).unwrap_err();
        assert!(said.contains(" OTEL_EXPORTER_OTLP_HEADERS is no list"), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }

    #[test]
    fn an_address_gets_its_path_and_must_be_near() {
        let near = |url: &str| prepare(&Wanted { url: url.to_string() }, false);
        assert_eq!(
            near("http://127.0.0.1:4318").unwrap().peer.url,
            "http://127.0.0.1:4318/v1/metrics"
        );
        assert_eq!(near("127.0.0.1:9/a/b").unwrap().peer.url, "http://127.0.0.1:9/a/b");
        assert!(matches!(near("http://192.0.2.1"), Err(PeerError::PublicAddress { .. })));
        assert!(prepare(&Wanted { url: "http://192.0.2.1".into() }, true).is_ok());
        for wrong in ["http://u:secret@127.0.0.1", "http://127.0.0.1/?key=secret", "ftp://a"] {
            let error = near(wrong).err().unwrap().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
