//! Sends metrics to somebody who keeps them: the only part of `report` that uses the network.
//!
//! In: metrics, and a [`Receiver`] whose addresses were looked up and allowed before. Out: nothing,
//! or why they were not taken. It connects to these addresses and no others, follows no redirect
//! and uses no proxy.

pub mod otlp;

use std::io::Read as _;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use thiserror::Error;
use ureq::http::{HeaderMap, Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body};

use crate::report::outside::{line, truncate};

/// Where to, as it is typed: `otlp=http://127.0.0.1:4318`.
#[derive(Clone, PartialEq, Eq)]
pub struct Wanted {
    /// As it was typed: it may hold a password.
    pub url: String,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wanted")
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("otlp", url)) if !url.is_empty() => Ok(Self { url: url.to_string() }),
            _ => Err("write for example otlp=http://127.0.0.1:4318".to_string()),
        }
    }
}

/// Who takes the metrics.
#[derive(Clone)]
pub struct Receiver {
    /// With its path, and without user, password and query.
    pub url: String,
    /// Those of its host; the first 16 are tried.
    pub addresses: Vec<SocketAddr>,
    /// Sent with the request, never shown.
    pub headers: Vec<(String, String)>,
    /// Who sends: OpenTelemetry's `service.name`.
    pub service: String,
}

/// How long to try.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Requests in all; at least one is made.
    pub attempts: u32,
    /// For one request, from connecting to the end of the reply.
    pub attempt: Duration,
    /// Before the second; doubled before each later one.
    pub pause: Duration,
    /// For everything: a longer wait that the receiver asks for is not made.
    pub all: Duration,
}

impl Patience {
    /// Somebody waits for the program to end.
    pub const DEFAULT: Self = Self {
        attempts: 4,
        attempt: Duration::from_secs(10),
        pause: Duration::from_millis(500),
        all: Duration::from_secs(30),
    };
}

/// Why metrics were not taken.
#[derive(Debug, Error)]
pub enum PushError {
    #[error("could not reach {url}: {what} ({tries})")]
    Unreachable { url: String, what: String, tries: String },
    #[error("{url} answered {status}{said} ({tries})")]
    Refused { url: String, status: u16, said: String, tries: String },
    /// The rest was taken.
    #[error("{url} rejected {points} of the values{said}")]
    Rejected { url: String, points: u64, said: String },
}

/// At most this much of a reply is read, for its message.
const REPLY_BYTES: u64 = 16 << 10;

/// Sends a JSON document. Again, when the receiver says that it may come back, or can't be reached:
/// statuses 429, 502, 503 and 504, as OTLP has it.
///
/// # Errors
/// It was not taken.
pub fn send(receiver: &Receiver, json: &str, patience: Patience) -> Result<(), PushError> {
    let agent = agent(receiver, patience);
    let began = Instant::now();
    let mut pause = patience.pause;
    let mut attempt = 1;
    loop {
        let (error, asked) = match post(&agent, receiver, json) {
            Ok(reply) => match judge(receiver, reply, attempt) {
                Ok(()) => return Ok(()),
                Err((error, Again::Never)) => return Err(error),
                Err((error, Again::After(asked))) => (error, asked),
            },
            Err(error) => (unreachable(receiver, &error, attempt), None),
        };
        let wait = asked.unwrap_or(pause);
        if attempt >= patience.attempts || began.elapsed().saturating_add(wait) > patience.all {
            return Err(error);
        }
        thread::sleep(wait);
        pause *= 2;
        attempt += 1;
    }
}

/// May it be sent once more?
enum Again {
    Never,
    /// After this time where the receiver named one.
    After(Option<Duration>),
}

/// What a reply means.
fn judge(
    receiver: &Receiver,
    mut reply: Response<Body>,
    attempt: u32,
) -> Result<(), (PushError, Again)> {
    let status = reply.status();
    let url = receiver.url.clone();
    let body = text(reply.body_mut());
    if status.is_success() {
        return match otlp::rejected(&body) {
            None => Ok(()),
            Some((points, why)) => {
                let said = said(&why);
                Err((PushError::Rejected { url, points, said }, Again::Never))
            }
        };
    }
    let again = match status.as_u16() {
        429 | 502 | 503 | 504 => Again::After(retry_after(reply.headers(), SystemTime::now())),
        _ => Again::Never,
    };
    let said = said(&otlp::message(&body));
    let refused = PushError::Refused { url, status: status.as_u16(), said, tries: tries(attempt) };
    Err((refused, again))
}

fn unreachable(receiver: &Receiver, error: &ureq::Error, attempt: u32) -> PushError {
    let what = match error {
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => "it did not answer in time".to_string(),
        other => line(&other.to_string()),
    };
    PushError::Unreachable { url: receiver.url.clone(), what, tries: tries(attempt) }
}

fn tries(attempt: u32) -> String {
    if attempt == 1 { "tried once".to_string() } else { format!("tried {attempt} times") }
}

/// What the receiver says, as a part of a sentence.
fn said(message: &str) -> String {
    match truncate(&line(message), 200) {
        empty if empty.is_empty() => String::new(),
        message => format!(": {message}"),
    }
}

fn text(body: &mut Body) -> String {
    let mut bytes = Vec::new();
    // A reply that breaks off says less; its status stands.
    drop(body.as_reader().take(REPLY_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get("retry-after")?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let at = SystemTime::from(date);
    Some(at.duration_since(now).unwrap_or_default())
}

fn post(agent: &Agent, receiver: &Receiver, json: &str) -> Result<Response<Body>, ureq::Error> {
    let mut request = agent.post(&receiver.url).content_type("application/json");
    for (name, value) in &receiver.headers {
        request = request.header(name, value);
    }
    request.send(json)
}

fn agent(receiver: &Receiver, patience: Patience) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(patience.attempt))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .max_idle_connections(0)
        .user_agent(concat!("sweetspot/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls(&receiver.url))
        .build();
    let addresses = Addresses(receiver.addresses.clone());
    Agent::with_parts(config, DefaultConnector::new(), addresses)
}

/// The system's certificates are read only where they are needed.
fn tls(url: &str) -> TlsConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let loaded = match url.starts_with("https:") {
        true => rustls_native_certs::load_native_certs().certs,
        false => Vec::new(),
    };
    let certificates: Vec<Certificate<'static>> =
        loaded.iter().map(|it| Certificate::from_der(it).to_owned()).collect();
    builder.root_certs(RootCerts::new_with_certs(&certificates)).build()
}

/// Answers every question with the addresses that were allowed.
#[derive(Debug)]
struct Addresses(Vec<SocketAddr>);

impl Resolver for Addresses {
    fn resolve(
        &self,
        _: &Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        const MOST: usize = 16;
        let mut found = self.empty();
        self.0.iter().take(MOST).for_each(|address| found.push(*address));
        if self.0.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", value.parse().unwrap());
            retry_after(&headers, now)
        };
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("Tue, 14 Nov 2023 22:13:25 GMT"), Some(Duration::from_secs(5)));
        assert_eq!(read("Tue, 14 Nov 2023 22:13:00 GMT"), Some(Duration::ZERO));
        assert_eq!(read("soon"), None);
    }

    #[test]
    fn what_is_typed_names_a_protocol_and_an_address() {
        let wanted: Wanted = "otlp=http://user:secret@host:4318".parse().unwrap();
        assert_eq!(wanted.url, "http://user:secret@host:4318");
        assert!(!format!("{wanted:?}").contains("secret"));
        for wrong in ["otlp", "otlp=", "statsd=http://host", ""] {
            assert!(wrong.parse::<Wanted>().is_err(), "{wrong}");
        }
    }
}
