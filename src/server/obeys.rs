//! Which variables an app's own settings follow.
//!
//! In and out: names. Only computes.

use std::collections::BTreeMap;

use crate::terms::Configuration;

/// The environment variables that an app's own settings follow; `None` where they hold a fixed
/// number, or one that follows no variable that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Obeys {
    pub workers: Option<String>,
    /// The most threads of a worker.
    pub max_threads: Option<String>,
    pub min_threads: MinThreads,
}

impl Obeys {
    /// The variable that gives the app this many workers, where it follows one.
    pub fn workers_alone(&self, configuration: Configuration) -> BTreeMap<String, String> {
        let variable = self.workers.iter();
        variable.map(|name| (name.clone(), configuration.workers.to_string())).collect()
    }
}

/// Where the least threads of a worker come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MinThreads {
    /// A variable, often the same as for the most.
    Variable(String),
    /// Always this number; the most cannot be set below that.
    Fixed(u16),
}

impl Default for MinThreads {
    fn default() -> Self {
        Self::Fixed(0)
    }
}
