//! Asks somebody who answers in JSON over HTTP; its own limits hold. A question is asked once, but
//! for one that is answered that too much is asked: then again for half a minute, or when it says.
//!
//! In: a path and parameters. Out: the status and an object, or why there is none.

use std::thread;
use std::time::{Duration, SystemTime};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use thiserror::Error;

use crate::http_client::{Limits, Peer, Reply};
use crate::report::outside::{line, truncate};

const LIMITS: Limits = Limits { time: Duration::from_secs(60), bytes: 64 << 20 };
/// What a URL's query does not hold as it is (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Longest text of theirs that is shown, characters.
const LONGEST: usize = 300;

/// The status that says that too much is asked.
const TOO_MUCH: u16 = 429;

/// How long it is left alone then before each time that it is asked again, unless it asks for more;
/// and what it may ask for.
const WAITS_S: [u64; 5] = [1, 2, 4, 8, 16];
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Receives what is to be said to people meanwhile, a line each.
pub type Tell = fn(&str);

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AskError {
    #[error(
        "could not reach {who} at {url}: {what}; is it running, and is that its address? Where it \
         only takes long, ask for a shorter range"
    )]
    Unreachable { who: &'static str, url: String, what: String },
    #[error("{who} at {url} answered {status}: {said}")]
    Refused { who: &'static str, url: String, status: u16, said: String },
    #[error("{url} answered {status}, but not as {who} does; {hint}")]
    Stranger { who: &'static str, url: String, status: u16, hint: &'static str },
    #[error(
        "what {who} at {url} answered broke off, took longer than a minute or is longer than 64 \
         MiB; ask for a shorter range"
    )]
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
    pub tell: Tell,
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
        let rest = format!("{path}?{}", query.join("&"));
        let tell = |wait: Duration| {
            let wait_s = wait.as_secs();
            (self.tell)(&format!("{who} wants to be asked less; it is asked again in {wait_s} s"));
        };
        let reply = patiently(|| self.peer.get(&rest, LIMITS), tell, thread::sleep);
        let reply = match reply {
            Ok(reply) if reply.is_cut => return Err(AskError::Cut { who, url }),
            Ok(reply) => reply,
            Err(what) => return Err(AskError::Unreachable { who, url, what: line(&what) }),
        };
        match serde_json::from_str(&reply.body) {
            Ok(answer @ Value::Object(_)) => Ok((reply.status, answer)),
            _ => Err(self.unlike(reply.status, &reply.body)),
        }
    }

    /// Why an answer is none of theirs.
    pub fn unlike(&self, status: u16, body: &str) -> AskError {
        match status {
            // Proxies that want a name and a password answer as they like.
            401 | 403 | TOO_MUCH | 502 | 503 | 504 => self.refused(status, body),
            _ => self.stranger(status),
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

/// Asks again where too much is asked. `tell`: before each wait.
fn patiently(
    ask: impl Fn() -> Result<Reply, String>,
    tell: impl Fn(Duration),
    wait: impl Fn(Duration),
) -> Result<Reply, String> {
    let mut waits = WAITS_S.into_iter().map(Duration::from_secs);
    loop {
        let reply = ask()?;
        let Some(usual) = waits.next().filter(|_| reply.status == TOO_MUCH) else {
            return Ok(reply);
        };
        let length = reply.asked_wait(SystemTime::now()).unwrap_or_default().max(usual);
        if length > LONGEST_WAIT {
            return Ok(reply);
        }
        tell(length);
        wait(length);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// How it ends, and for how long was waited, where it is asked too much so many times.
    fn waits(times: usize, retry_after: Option<&str>) -> (u16, Vec<u64>) {
        let (asked, told, waited) = (Cell::new(0), Cell::new(0), RefCell::new(Vec::new()));
        let ask = || {
            asked.set(asked.get() + 1);
            Ok(Reply {
                status: if asked.get() > times { 200 } else { TOO_MUCH },
                retry_after: retry_after.map(str::to_string),
                body: String::new(),
                is_cut: false,
            })
        };
        let wait = |length: Duration| waited.borrow_mut().push(length.as_secs());
        let reply = patiently(ask, |_| told.set(told.get() + 1), wait).unwrap();
        assert_eq!(told.get(), waited.borrow().len(), "nobody waits without a word");
        (reply.status, waited.into_inner())
    }

    #[test]
    fn who_asks_too_much_asks_again_for_half_a_minute_or_when_it_is_told() {
        assert_eq!(waits(0, None), (200, Vec::new()));
        assert_eq!(waits(2, None), (200, vec![1, 2]));
        assert_eq!(waits(9, None), (TOO_MUCH, WAITS_S.to_vec()));
        assert_eq!(waits(2, Some("7")), (200, vec![7, 7]));
        assert_eq!(waits(1, Some("0")), (200, vec![1]), "never at once");
        assert_eq!(waits(1, Some("3600")), (TOO_MUCH, Vec::new()), "an hour is too long");
    }
}
