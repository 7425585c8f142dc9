//! TrialRecord to TrialSummary: rates, quantiles, verdict, diagnosis.
//!
//! In: what was recorded. Out: what it means. Computes only: no clock, file, socket or thread.

pub mod between;
pub mod flow;
pub mod goals;
mod instrument;
pub mod limit;
pub mod load;
pub mod slo;
pub mod trial;
pub mod used;
pub mod verdict;
pub mod warm_up;
