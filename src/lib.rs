//! Finds, by measuring, how many worker processes and threads a web application's server should run
//! on a given machine, how much load it then holds within a latency goal, and why not more.
//!
//! `ARCHITECTURE.md` shows how the folders work together; each folder's head says what comes in,
//! what goes out and what it must not do. What touches the world or prints says so below;
//! everything else only computes (`clippy.toml`).

#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_methods,
        clippy::exit,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::too_many_lines
    )
)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("counts of bytes and addresses of shared memory are taken to have 64 bits");

mod advise;
#[expect(
    clippy::disallowed_methods,
    reason = "reads its arguments and standard input, and writes what was asked for"
)]
mod cli;
#[expect(clippy::disallowed_methods, reason = "writes files")]
pub mod files;
#[expect(clippy::disallowed_methods, reason = "sockets, threads and the clock")]
pub mod fleet;
pub mod http_client;
mod lab;
#[expect(clippy::disallowed_methods, reason = "sends: sockets, threads and the clock")]
pub mod load;
pub mod model;
#[expect(clippy::disallowed_methods, reason = "reads the operating system")]
pub mod monitor;
pub mod observe;
pub mod place;
#[expect(clippy::disallowed_methods, reason = "reads the app's folder and the files named")]
pub mod plan;
pub mod report;
pub mod search;
pub mod serve;
pub mod server;
#[expect(
    clippy::disallowed_methods,
    reason = "does what a verb does, and tells those that compute the time"
)]
pub mod session;
pub mod stats;
#[expect(clippy::disallowed_methods, reason = "keeps sessions in a file")]
pub mod store;
pub mod summary;
pub mod terms;
pub mod trial;

pub use cli::main;

/// Private items for the targets in `fuzz/`; no other build has them.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::load::{FuzzedConnection, HeadCache, Malformed, Progress, Reply, fuzzed};
    pub use crate::place::local::log;
    pub use crate::plan::traffic::{LogSpec, Speed, Traffic, read_fuzzed};
    pub use crate::plan::traffic::{Url as Server, parse_targets, written as written_targets};
    pub use crate::plan::{PlanFile, parse as parse_plan};
}
