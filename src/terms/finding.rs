//! One check of a machine that is to be measured on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a check came out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// Fit.
    Ok,
    /// Figures will be noisier or lower than they could be.
    Warn,
    /// Figures would mislead, or nothing can be measured.
    Bad,
}

/// What was checked, what was found, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable, for scripts.
    pub code: String,
    pub state: FindingState,
    /// What was checked: "steal".
    pub what: String,
    /// What was found, with its unit: "0.0 % of 1.0 s".
    pub figure: String,
    /// What to do; empty when nothing need be done.
    pub advice: String,
}

impl Finding {
    /// A check that came out well.
    pub fn ok(code: &str, what: &str, figure: impl Into<String>) -> Self {
        Self::new(code, FindingState::Ok, what, figure, "")
    }

    /// A check with its state and advice.
    pub fn new(
        code: &str,
        state: FindingState,
        what: &str,
        figure: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            code: code.to_string(),
            state,
            what: what.to_string(),
            figure: figure.into(),
            advice: advice.into(),
        }
    }
}
