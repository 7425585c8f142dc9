//! What is to be said of an answer besides its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::obstacle::Obstacle;

/// Why the search ended where it did, and what more minutes would buy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Note {
    /// The app as it is could not be measured beside the changes.
    KnobsNotCompared { why: Obstacle },
}
