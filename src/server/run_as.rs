//! Whom an app's processes belong to, where sweetspot itself is root.
//!
//! In and out: values.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A user of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    pub name: String,
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
    /// All groups, the primary one among them.
    pub groups: Vec<u32>,
    pub home: PathBuf,
}

impl RunAs {
    /// The variables by which programs find out whose they are.
    pub fn env(&self) -> [(&'static str, String); 3] {
        let home = self.home.display().to_string();
        [("HOME", home), ("USER", self.name.clone()), ("LOGNAME", self.name.clone())]
    }
}
