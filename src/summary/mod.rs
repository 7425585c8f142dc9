//! TrialRecord to TrialSummary: rates, quantiles, verdict, diagnosis.
//!
//! In: what was recorded. Out: what it means. Computes only: no clock, file, socket or thread.

pub(crate) mod between;
pub(crate) mod compared;
pub(crate) mod flow;
pub(crate) mod goals;
pub(crate) mod hopeless;
pub(crate) mod instrument;
pub(crate) mod limit;
pub(crate) mod load;
pub(crate) mod slo;
pub mod trial;
pub(crate) mod used;
pub(crate) mod verdict;
pub(crate) mod warm_up;
