//! Asks somebody who answers in JSON over HTTP, each question once; its own limits hold.
//!
//! In: a path and parameters. Out: the status and an object, or why there is none.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use thiserror::Error;

use crate::http_client::{Limits, Peer};
use crate::report::outside::{line, truncate};

const LIMITS: Limits = Limits { time: Duration::from_secs(60), bytes: 64 << 20 };
/// What a URL's query does not hold as it is (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Longest text of theirs that is shown, characters.
const LONGEST: usize = 300;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AskError {
    #[error("could not reach {who} at {url}: {what}; is it running, and is that its address?")]
    Unreachable { who: &'static str, url: String, what: String },
    #[error("{who} at {url} answered {status}: {said}")]
    Refused { who: &'static str, url: String, status: u16, said: String },
    #[error("{url} answered {status}, but not as {who} does; {hint}")]
    Stranger { who: &'static str, url: String, status: u16, hint: &'static str },
    #[error("what {who} at {url} answered broke off, or is longer than 64 MiB")]
    Cut { who: &'static str, url: String },
}

impl AskError {
    /// The user's to mend on the command line.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Cut { .. } => false,
            // A question that is none, or that cannot be carried out.
            Self::Refused { status, .. } => [400, 422].contains(status),
            Self::Stranger { .. } => true,
        }
    }
}

/// Who is asked.
pub struct Api {
    pub peer: Peer,
    /// As messages call it.
    pub who: &'static str,
    /// What to do where somebody else answers.
    pub hint: &'static str,
}

impl Api {
    /// The status, and the object that came with it.
    ///
    /// # Errors
    /// Nobody answered, or not with an object.
    pub fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<(u16, Value), AskError> {
        let (who, url) = (self.who, self.peer.url.clone());
        let parameter = |(name, value): &(&str, &str)| {
            format!("{name}={}", utf8_percent_encode(value, RESERVED))
        };
        let query: Vec<String> = parameters.iter().map(parameter).collect();
        let reply = match self.peer.get(&format!("{path}?{}", query.join("&")), LIMITS) {
            Ok(reply) if reply.is_cut => return Err(AskError::Cut { who, url }),
            Ok(reply) => reply,
            Err(what) => return Err(AskError::Unreachable { who, url, what: line(&what) }),
        };
        match serde_json::from_str(&reply.body) {
            Ok(answer @ Value::Object(_)) => Ok((reply.status, answer)),
            // Proxies that want a name and a password answer as they like.
            _ if [401, 403, 429, 502, 503, 504].contains(&reply.status) => {
                Err(self.refused(reply.status, &reply.body))
            }
            _ => Err(self.stranger(reply.status)),
        }
    }

    /// It said no, in these words.
    pub fn refused(&self, status: u16, said: &str) -> AskError {
        let said = match truncate(&line(said), LONGEST) {
            empty if empty.is_empty() => "nothing more".to_string(),
            said => said,
        };
        AskError::Refused { who: self.who, url: self.peer.url.clone(), status, said }
    }

    /// Somebody else answered.
    pub fn stranger(&self, status: u16) -> AskError {
        let (who, hint) = (self.who, self.hint);
        AskError::Stranger { who, url: self.peer.url.clone(), status, hint }
    }
}
