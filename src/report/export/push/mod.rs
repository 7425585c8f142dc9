//! Sends metrics to somebody who keeps them: the only part of `report` that uses the network.
//!
//! In: metrics, and a [`Receiver`] whose addresses were looked up and allowed before. Out: nothing,
//! or why they were not taken.

pub mod otlp;

use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use thiserror::Error;

use crate::http_client::{Limits, Peer, Reply};
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
    pub peer: Peer,
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
    let limits = Limits { time: patience.attempt, bytes: REPLY_BYTES };
    let began = Instant::now();
    let mut pause = patience.pause;
    let mut attempt = 1;
    loop {
        let (error, asked) = match receiver.peer.post("application/json", json, limits) {
            Ok(reply) => match judge(receiver, &reply, attempt) {
                Ok(()) => return Ok(()),
                Err((error, Again::Never)) => return Err(error),
                Err((error, Again::After(asked))) => (error, asked),
            },
            Err(why) => (unreachable(receiver, &why, attempt), None),
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
fn judge(receiver: &Receiver, reply: &Reply, attempt: u32) -> Result<(), (PushError, Again)> {
    let Reply { status, body, .. } = reply;
    let url = receiver.peer.url.clone();
    if (200..300).contains(status) {
        return match otlp::rejected(body) {
            None => Ok(()),
            Some((points, why)) => {
                let said = said(&why);
                Err((PushError::Rejected { url, points, said }, Again::Never))
            }
        };
    }
    let again = match status {
        429 | 502 | 503 | 504 => Again::After(reply.asked_wait(SystemTime::now())),
        _ => Again::Never,
    };
    let said = said(&otlp::message(body));
    let refused = PushError::Refused { url, status: *status, said, tries: tries(attempt) };
    Err((refused, again))
}

fn unreachable(receiver: &Receiver, why: &str, attempt: u32) -> PushError {
    let url = receiver.peer.url.clone();
    PushError::Unreachable { url, what: line(why), tries: tries(attempt) }
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

#[cfg(test)]
mod tests {
    use super::*;

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
