//! How long, how often and what, from environment variables.

use std::path::PathBuf;

use crate::Result;
use crate::environment::number;

/// Small figures try the bench out; the defaults are the evidence.
pub struct Settings {
    /// Rounds in which every tool has its turn (`PAIRS`).
    pub pairs: u32,
    /// Length of a turn (`SECONDS`).
    pub seconds: u64,
    /// Length of the short memory runs (`SHORT`).
    pub short: u64,
    /// Length of the long ones (`LONG`).
    pub long: u64,
    /// Whether instructions are counted, which takes a minute and valgrind (`CALLGRIND=1`).
    pub counts_instructions: bool,
    /// Where the report, the rows and built tools go (`FOLDER`).
    pub folder: PathBuf,
    /// Of these only (`CASES`); empty: all.
    cases: Vec<String>,
    /// Of these only (`TOOLS`); empty: all.
    tools: Vec<String>,
}

impl Settings {
    pub fn from_environment() -> Result<Self> {
        let settings = Self {
            pairs: number("PAIRS", 7)?,
            seconds: number("SECONDS", 5)?,
            short: number("SHORT", 10)?,
            long: number("LONG", 60)?,
            counts_instructions: number("CALLGRIND", 0)? == 1,
            folder: std::env::var_os("FOLDER").map_or("target/bench-load".into(), PathBuf::from),
            cases: list("CASES"),
            tools: list("TOOLS"),
        };
        let lengths = [u64::from(settings.pairs), settings.seconds, settings.short, settings.long];
        if lengths.contains(&0) {
            return Err("PAIRS, SECONDS, SHORT and LONG must be above zero".into());
        }
        Ok(settings)
    }

    /// Whether `CASES` names this case or its group: `memory` names all that begin with `memory-`.
    pub fn wants_case(&self, name: &str) -> bool {
        let group = name.split('-').next().unwrap_or(name);
        self.cases.is_empty() || self.cases.iter().any(|case| case == name || case == group)
    }

    pub fn wants_tool(&self, name: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|tool| tool == name)
    }

    /// Names in `CASES` and `TOOLS` that are none: a mistyped one must not look like a result.
    pub fn check(&self, cases: &[&str], tools: &[&str]) -> Result<()> {
        for case in self.cases.iter().map(String::as_str) {
            let is_named = |name: &&str| name.split('-').next() == Some(case) || *name == case;
            if !cases.iter().any(is_named) {
                return Err(format!("'{case}' is no case; there are {}", cases.join(", ")).into());
            }
        }
        for tool in &self.tools {
            if !tools.contains(&tool.as_str()) {
                return Err(format!("'{tool}' is no tool; there are {}", tools.join(", ")).into());
            }
        }
        Ok(())
    }
}

fn list(name: &str) -> Vec<String> {
    let text = std::env::var(name).unwrap_or_default();
    text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_string).collect()
}
