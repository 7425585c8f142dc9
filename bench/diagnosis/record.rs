//! What was measured of one size of a situation, in a file of its own: what is there is not
//! measured again, and can be judged anew when the rules have changed.
//!
//! In: the two trials. Out: the same, later.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sweetspot::terms::TrialRecord;

use crate::common::Result;

/// Both trials, raw.
#[derive(Serialize, Deserialize)]
pub struct Record {
    /// By what, and for how long.
    pub build: String,
    /// Cores that the server could use.
    pub cores: f64,
    /// With one client.
    pub unloaded: TrialRecord,
    /// Under the load that is to show the limit.
    pub pushed: TrialRecord,
}

impl Record {
    /// `None`: it is not there, or was written before the types changed.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Writes it whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let unfinished = path.with_extension("new");
        fs::write(&unfinished, serde_json::to_vec(self)?)?;
        Ok(fs::rename(&unfinished, path)?)
    }
}
