//! What a request costs, fitted to summaries; formulas and a simulator that say what a
//! configuration would do with it.
//!
//! In: throughputs, latencies, CPU and memory of configurations that were measured. Out:
//! throughput, latency, capacity, limit and memory of configurations that were not. Computes only;
//! must not know how anything is measured or which trial comes next.
//!
//! Bare numbers carry their unit in the name: `_s` seconds, `_rps` requests per second.

mod closed;
mod demand;
mod fit;
mod limit;
mod memory;
mod open;
pub mod simulator;

pub use closed::closed_throughput;
pub use demand::Demand;
pub use fit::{Fit, Observation, fit};
pub use limit::limit;
pub use memory::{MemoryModel, memory, memory_parts};
pub use open::{OpenLatency, capacity, open_latency};
