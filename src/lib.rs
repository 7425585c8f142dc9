//! Finds, by measuring, how many worker processes and threads a web application's server should run
//! on a given machine, how much load it then holds within a latency goal, and why not more.
//!
//! `ARCHITECTURE.md` shows the way through the house; each folder's head says what comes in, what
//! goes out and what it must not do.

pub use sweetspot_engine::{lab, load, model, monitor, place, plan, search, server, store, summary, trial};
pub use sweetspot_report::report;
pub use sweetspot_terms::{stats, terms};
pub mod cli;
pub mod serve;
pub mod session;

/// Doors to private rooms for the targets in `fuzz/`; no other build has them.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::load::{HeadCache, Malformed, Progress, Reply};
    pub use crate::plan::{PlanFile, parse as parse_plan};
    pub use crate::session::load::{Server, parse as parse_targets, written as written_targets};
}
