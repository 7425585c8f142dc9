//! Why a setting, or a change of one, was not measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::BootCause;
use super::reason::Reason;
use super::stated::Stated;

/// What stood in the way of measuring a setting or a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Obstacle {
    /// More memory than there is.
    NeedsMemory { needed_bytes: u64, limit_bytes: u64 },
    /// More database connections than there are.
    NeedsDatabaseConnections { needed: u32, limit: u32 },
    /// The server does not become ready; `why` says what kept it.
    DoesNotStart { why: Stated<BootCause> },
    /// The server ended under load, and again when that was repeated.
    DiedTwice,
    /// Trials broke or were invalid, and again when repeated; `why` is the last one's reason.
    NotMeasurable { why: Stated<Reason> },
    /// Under a saturating load no request was answered.
    AnsweredNothing,
    /// The change sets what `tune` tries anyway.
    SetsWorkersOrThreads { variable: String },
    /// The server has the setting from a later version on than the one that runs.
    SettingTooNew { server: String, setting: String, since: String, version: String },
    /// The version that runs has the setting no more.
    SettingGone {
        server: String,
        setting: String,
        until: String,
        /// What there is instead.
        instead: String,
        version: String,
    },
    /// This Ruby was built without the compiler.
    NoYjit { runtime: String },
    /// The budget was used up before it; about `more_s` more would do.
    NoTimeLeft { more_s: f64 },
    /// The session ended first.
    SessionEnded,
}
