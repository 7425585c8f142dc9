//! Finds, by measuring, how many worker processes and threads a web application's server should run
//! on a given machine, how much load it then holds within a latency goal, and why not more.
//!
//! `ARCHITECTURE.md` shows the way through the house; each folder's head says what comes in, what
//! goes out and what it must not do.

pub mod cli;
mod lab;
pub mod load;
pub mod model;
pub mod monitor;
pub mod place;
pub mod plan;
pub mod report;
pub mod search;
pub mod serve;
pub mod server;
pub mod session;
pub mod stats;
pub mod store;
pub mod summary;
pub mod terms;
pub mod trial;

/// Doors to private rooms for the targets in `fuzz/`; no other build has them.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::load::{HeadCache, Malformed, Progress, Reply};
    pub use crate::plan::traffic::{Url as Server, parse_targets, written as written_targets};
    pub use crate::plan::{PlanFile, parse as parse_plan};
}
