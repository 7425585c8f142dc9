//! What to ask: a request without its address, and how connections are used.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of request in the mix.
#[derive(Clone, PartialEq, Eq)]
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
        }
    }
}

/// Method and path without its query (which may be secret), and the weight when it is not 1.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.split('?').next().unwrap_or("/");
        let query = if self.path.contains('?') { "?…" } else { "" };
        write!(f, "{} {path}{query}", self.method)?;
        if self.weight == 1 { Ok(()) } else { write!(f, " (weight {})", self.weight) }
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
