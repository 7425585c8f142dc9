//! What a request costs, fitted to summaries; formulas and a simulator that say what a configuration
//! would do with it.
//!
//! In: throughputs, latencies, CPU and memory of configurations that were measured. Out: throughput,
//! latency, capacity, limit and memory of configurations that were not. Computes only; must not know
//! how anything is measured or which trial comes next.
//!
//! Bare numbers carry their unit in the name: `_s` seconds, `_rps` requests per second.

pub mod simulator;
