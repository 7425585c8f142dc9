//! TrialRecord to TrialSummary: rates, quantiles, verdict, diagnosis.
//!
//! In: what was recorded. Out: what it means. Computes only: no clock, file, socket or thread.

pub mod load;
pub mod slo;
