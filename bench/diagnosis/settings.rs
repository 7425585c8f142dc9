//! How long and what, from environment variables.

use std::path::PathBuf;

use crate::Result;
use crate::environment::number;
use crate::situation::Situation;

/// The defaults are the evidence.
pub struct Settings {
    /// Length of the measured part of a load (`SECONDS`).
    pub seconds: u64,
    /// Nothing is measured: what was is judged again, whatever program measured it (`JUDGE=1`).
    pub only_judges: bool,
    /// Where records, rows and the report go (`FOLDER`).
    pub folder: PathBuf,
    /// Of these only (`SITUATIONS`); empty: all.
    names: Vec<String>,
}

impl Settings {
    pub fn from_environment() -> Result<Self> {
        let settings = Self {
            seconds: number("SECONDS", 6)?,
            only_judges: number("JUDGE", 0)? == 1,
            folder: std::env::var_os("FOLDER")
                .map_or("target/bench-diagnosis".into(), PathBuf::from),
            names: list("SITUATIONS"),
        };
        match settings.seconds {
            0 => Err("SECONDS must be above zero".into()),
            _ => Ok(settings),
        }
    }

    /// Those that are wanted. A mistyped name must not look like a result.
    pub fn choose(&self, mut all: Vec<Situation>) -> Result<Vec<Situation>> {
        let names: Vec<&str> = all.iter().map(|situation| situation.name).collect();
        if let Some(name) = self.names.iter().find(|name| !names.contains(&name.as_str())) {
            let there = names.join(", ");
            return Err(format!("'{name}' is no situation; there are {there}").into());
        }
        let wants = |name: &str| self.names.is_empty() || self.names.iter().any(|one| one == name);
        all.retain(|situation| wants(situation.name));
        Ok(all)
    }

    /// Where the records are.
    pub fn records(&self) -> PathBuf {
        self.folder.join("records")
    }
}

fn list(name: &str) -> Vec<String> {
    let text = std::env::var(name).unwrap_or_default();
    let is_between = |c: char| c == ',' || c.is_whitespace();
    text.split(is_between).filter(|one| !one.is_empty()).map(str::to_string).collect()
}
