//! What is searched over: workers x threads.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units::{Threads, UnitError, Workers};

/// Workers x threads of an app server. One worker means single mode where the server has one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Configuration {
    pub workers: Workers,
    pub threads: Threads,
}

impl Configuration {
    /// # Errors
    /// Either count is zero.
    pub fn new(workers: u16, threads: u16) -> Result<Self, UnitError> {
        Ok(Self { workers: Workers::new(workers)?, threads: Threads::new(threads)? })
    }

    /// Requests that can be inside the app at once: workers x threads.
    pub fn slots(self) -> u32 {
        u32::from(self.workers.get()) * u32::from(self.threads.get())
    }

    /// `3 workers`: for a server without threads to choose.
    pub fn in_workers(self) -> String {
        let workers = self.workers.get();
        format!("{workers} worker{}", if workers == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.workers, self.threads)
    }
}
