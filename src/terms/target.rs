//! What to ask: a request without its address, and how connections are used.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::slo::{Slo, SloError};

/// One kind of request in the mix.
#[derive(Clone, PartialEq)]
pub struct Target {
    /// Upper case, such as `GET`.
    pub method: String,
    /// Path with query, beginning with `/`.
    pub path: String,
    /// Sent as given, in this order. Values may be secret: they never reach the store or a report.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Share in the mix relative to the others' weights; 1 or more.
    pub weight: u32,
    /// What its requests are judged by; `None`: by what holds for all without a goal of their own.
    pub slo: Option<Slo>,
}

impl Target {
    /// A plain `GET` with weight 1.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
            weight: 1,
            slo: None,
        }
    }

    /// A request without headers or body, weight 1; the method may be in lower case.
    ///
    /// # Errors
    /// A method we do not send, or a path that cannot stand in a request line.
    pub fn new(method: &str, path: &str) -> Result<Self, TargetError> {
        let method = method.to_ascii_uppercase();
        if !METHODS.contains(&method.as_str()) {
            return Err(TargetError::Method { method });
        }
        if !path.starts_with('/') {
            let without_query = path.split('?').next().unwrap_or_default();
            return Err(match without_query.contains([':', '@']) {
                true => TargetError::Url,
                false => TargetError::RelativePath { path: without_query.to_string() },
            });
        }
        let forbidden = |c: &char| !c.is_ascii_graphic() || *c == '#';
        if let Some(character) = path.chars().find(forbidden) {
            return Err(TargetError::PathCharacter { character });
        }
        Ok(Self { method, ..Self::get(path) })
    }

    /// This target with another share in the mix.
    ///
    /// # Errors
    /// Zero, or more than 10000.
    pub fn with_weight(self, weight: u32) -> Result<Self, TargetError> {
        if (1..=LARGEST_WEIGHT).contains(&weight) {
            Ok(Self { weight, ..self })
        } else {
            Err(TargetError::Weight { text: weight.to_string() })
        }
    }

    /// Another asks for the very same, whatever its weight and goal.
    pub fn is_same_request(&self, other: &Self) -> bool {
        let Self { method, path, headers, body, weight: _, slo: _ } = self;
        (method, path) == (&other.method, &other.path)
            && (headers, body) == (&other.headers, &other.body)
    }

    /// Method and path without its query, which may be secret.
    pub fn name(&self) -> String {
        let path = self.path.split('?').next().unwrap_or("/");
        let query = if self.path.contains('?') { "?…" } else { "" };
        format!("{} {path}{query}", self.method)
    }

    /// Reads what may follow the path: `weight=3`, `slo=p95<2s`.
    fn with_word(self, word: &str) -> Result<Self, TargetError> {
        match word.split_once('=') {
            Some(("weight", text)) => {
                let number = text.parse().map_err(|_| TargetError::Weight { text: text.into() })?;
                self.with_weight(number)
            }
            Some(("slo", text)) => Ok(Self { slo: Some(text.parse()?), ..self }),
            // What follows a '=' may be a secret that was meant for the body.
            Some((name, _)) => Err(TargetError::Surplus { text: format!("{name}=…") }),
            None => Err(TargetError::Surplus { text: word.to_string() }),
        }
    }
}

/// The methods that can be sent. `TRACE` and `CONNECT` are for proxies.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Bounds the sum of the weights; shares finer than this do not show in a run.
const LARGEST_WEIGHT: u32 = 10_000;

/// A text that is no target. URLs and queries may hold secrets, so neither is repeated here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    #[error("the target names no path; write for example 'GET /orders' or 'POST /orders weight=3'")]
    NoPath,
    #[error("'{method}' is no method we send; use one of {}", METHODS.join(", "))]
    Method { method: String },
    #[error("a target is a path of the app, not a URL; write for example 'GET /orders'")]
    Url,
    #[error("the path '{path}' does not begin with '/'; write for example 'GET /orders'")]
    RelativePath { path: String },
    #[error("the path contains {character:?}; percent-encode it (a space is %20)")]
    PathCharacter { character: char },
    #[error("'{text}' is no weight from 1 to {LARGEST_WEIGHT}; write for example weight=3")]
    Weight { text: String },
    #[error(
        "'{text}' after the path is unknown; only weight=N and slo=GOAL (without spaces) may \
         follow it"
    )]
    Surplus { text: String },
    #[error("'{key}=' stands there twice; a target has one, so leave one of the two out")]
    Twice { key: &'static str },
    #[error("its goal cannot be read: {0}")]
    Slo(#[from] SloError),
}

/// Reads `/path` (a `GET`), `GET /path`, or `POST /path weight=3 slo=p95<2s`.
impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let mut words = text.split_ascii_whitespace().peekable();
        let method = match words.peek() {
            None => return Err(TargetError::NoPath),
            Some(word) if word.contains('/') => "GET",
            Some(_) => words.next().unwrap_or_default(),
        };
        let path = words.next().ok_or(TargetError::NoPath)?;
        let target = Self::new(method, path)?;
        let words: Vec<&str> = words.collect();
        for key in ["weight", "slo"] {
            let is_it = |word: &&&str| word.split_once('=').is_some_and(|(name, _)| name == key);
            if words.iter().filter(is_it).count() > 1 {
                return Err(TargetError::Twice { key });
            }
        }
        words.into_iter().try_fold(target, Self::with_word)
    }
}

/// Its name, the weight when it is not 1, and its own goal.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = (self.weight != 1).then(|| format!("weight {}", self.weight));
        let goal = self.slo.as_ref().map(Slo::to_string);
        let rest: Vec<String> = weight.into_iter().chain(goal).collect();
        f.write_str(&self.name())?;
        if rest.is_empty() { Ok(()) } else { write!(f, " ({})", rest.join(", ")) }
    }
}

/// As `Display`: header values and the body stay out of logs.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// How connections are used; the two are never mixed in one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionMode {
    /// A new connection for every request, as a default nginx in front opens them.
    Fresh,
    /// Connections are used again.
    KeepAlive,
}

impl fmt::Display for ConnectionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fresh => "fresh",
            Self::KeepAlive => "keep-alive",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_in_each_spelling() {
        for (text, method, path, weight) in [
            ("/", "GET", "/", 1),
            ("GET /orders?page=2", "GET", "/orders?page=2", 1),
            ("get /orders", "GET", "/orders", 1),
            ("POST /orders weight=3", "POST", "/orders", 3),
            ("  /a%20b   weight=10000 ", "GET", "/a%20b", 10_000),
        ] {
            let target: Target = text.parse().unwrap();
            assert_eq!(
                (target.method.as_str(), target.path.as_str(), target.weight),
                (method, path, weight),
                "{text}"
            );
        }
    }

    #[test]
    fn a_target_may_have_a_goal_of_its_own() {
        let target: Target = "GET /report?q=secret slo=p95<2s,errors<1% weight=2".parse().unwrap();
        assert_eq!((target.weight, target.slo), (2, Some("p95<2s,errors<1%".parse().unwrap())));
        let target: Target = "GET /report?q=secret weight=2 slo=p95<2s".parse().unwrap();
        assert_eq!(target.to_string(), "GET /report?… (weight 2, p95<2s)");
        assert_eq!("/ slo=p95<2s".parse::<Target>().unwrap().to_string(), "GET / (p95<2s)");
    }

    #[test]
    fn what_is_no_target_is_named_with_the_way_out() {
        for (text, expected) in [
            ("", "the target names no path"),
            ("GET", "the target names no path"),
            ("FETCH /", "'FETCH' is no method we send; use one of GET, HEAD"),
            ("CONNECT /", "'CONNECT' is no method"),
            ("GET orders", "the path 'orders' does not begin with '/'"),
            ("GET /a#top", "the path contains '#'"),
            ("GET /käse", "the path contains 'ä'"),
            ("GET / weight=0", "'0' is no weight from 1 to 10000"),
            ("GET / weight=-1", "'-1' is no weight"),
            ("GET / weight=10001", "'10001' is no weight"),
            ("GET / HTTP/1.1", "'HTTP/1.1' after the path is unknown"),
            ("POST / password=secret", "'password=…' after the path is unknown; only weight=N and"),
            ("GET / slo=fast", "its goal cannot be read: 'fast' is no SLO term"),
            ("GET / slo=", "its goal cannot be read: the SLO is empty"),
            ("GET / slo=p95<1s slo=p99<2s", "'slo=' stands there twice"),
            ("GET / slo=p95 < 1s", "its goal cannot be read: 'p95' is no SLO term"),
        ] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_url_given_as_a_target_is_not_repeated_with_its_password() {
        let error = "GET http://me:secret@app.test/".parse::<Target>().unwrap_err();
        assert_eq!(error, TargetError::Url);
        assert!(!error.to_string().contains("secret"));
    }
}
