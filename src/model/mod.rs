//! What a request costs, fitted to summaries; formulas and a simulator that say what a
//! configuration would do with it.
//!
//! In: throughputs, latencies, CPU and memory of configurations that were measured. Out:
//! throughput, latency, capacity, limit and memory of configurations that were not. Computes only;
//! must not know how anything is measured or which trial comes next.
//!
//! Bare numbers carry their unit in the name: `_s` seconds, `_rps` requests per second.

mod closed;
mod correction;
pub mod day;
mod demand;
pub(crate) mod event_loop;
mod fit;
mod fleet;
mod form;
mod goal;
mod least_squares;
mod limit;
mod measured;
mod memory;
mod mix;
mod observe;
mod open;
mod play;
mod predicted;
mod scalability;
pub mod simulator;
mod sizes;
mod what_if;

pub use closed::closed_throughput;
pub use correction::Correction;
pub use demand::Demand;
pub use fit::{Fit, Prior};
pub use fleet::{Fleet, FleetLoad, MachineSize};
pub use form::Form;
pub use goal::{common_p95_s, limit_that_binds};
pub use limit::limit;
pub use memory::{FULL, MemoryModel, fits, memory, memory_parts};
pub use observe::{Costs, Observation, server_cpu_s};
pub use open::{Stay, capacity, open_latency, stay, wait_that_explains};
pub use play::{Host, Played};
pub use scalability::Scalability;
pub use sizes::Sizes;
pub use what_if::{Expected, Measured, WhatIf};
