//! A doubt about a measurement, with what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One doubt: `code` is stable and for scripts, `message` says what was seen with its figure,
/// `advice` what to do (empty when nothing can be done).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    pub code: String,
    pub message: String,
    pub advice: String,
}

impl Warning {
    /// A doubt with its advice.
    pub fn new(code: &str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { code: code.to_string(), message: message.into(), advice: advice.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.advice.as_str() {
            "" => f.write_str(&self.message),
            advice => write!(f, "{}; {advice}", self.message),
        }
    }
}
