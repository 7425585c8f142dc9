//! What was measured of one size of a situation, in a file of its own: what is there is not
//! measured again, and can be judged anew when the rules have changed.
//!
//! In: the two trials. Out: the same, later.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sweetspot::monitor::host;
use sweetspot::terms::TrialRecord;

use crate::Result;

/// Both trials, raw.
#[derive(Serialize, Deserialize)]
pub struct Record {
    /// By what, and for how long: see [`build`].
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

/// What makes two records comparable: the bench, the program that is the guardian, the machine, and
/// how long was measured.
pub fn build(seconds: u64) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(std::env::current_exe()?)?.hash(&mut hasher);
    fs::read(crate::program())?.hash(&mut hasher);
    let (hash, cpu, kernel) = (hasher.finish(), host::cpu_model(), host::kernel());
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!("{version} {hash:016x} on {cpu}, kernel {kernel}, {seconds} s"))
}
