//! Why a control group's limit could not be set.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the machine does not let us do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum LimitRefusal {
    /// We may not write to this file of the group.
    GroupNotWritable { file: String },
    /// The folder's group does not have the controller.
    NoController { controller: String, folder: String },
    /// The machine has no control groups for this limit.
    NoControlGroups,
    /// A process of ours could not join the group.
    MayNotJoin { error: String },
    /// The system said so, in its words.
    LimitRefused { error: String },
}

impl From<io::Error> for LimitRefusal {
    fn from(error: io::Error) -> Self {
        Self::LimitRefused { error: error.to_string() }
    }
}
