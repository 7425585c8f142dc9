//! What the app does at any rate: requests that fail, and requests that are slow by themselves.
//! Neither is a reason against a rate.
//!
//! In: every trial, oldest first. Out: the trial as it speaks of its rate. Computes only.

use super::errors::Errors;
use super::slow_alone::SlowAlone;
use crate::terms::{SearchNote, Slo, TrialSummary};

/// What is known of it so far.
#[derive(Debug, Clone, Default)]
pub(super) struct AtAnyRate {
    errors: Errors,
    slow: SlowAlone,
}

impl AtAnyRate {
    /// Takes a usable trial, and says what is left of it when what comes at any rate is left out.
    pub fn apart(&mut self, trial: &TrialSummary) -> TrialSummary {
        self.slow.take(trial);
        let mut apart = self.errors.apart(trial);
        apart.edge = apart.edge.map(|edge| self.slow.beyond(edge));
        apart
    }

    /// Is it not known whether the rate is why more failed than the goal allows, of the last load
    /// that was to hold it?
    pub fn is_rate_in_doubt(&self) -> bool {
        self.errors.is_rate_in_doubt()
    }

    /// The last load that was to hold a rate did, but for more failures than the goal allows, of
    /// which there are as many at any rate as far as is known.
    pub fn is_held_despite(&self) -> bool {
        self.errors.is_held_despite()
    }

    /// What is to be said of the goal's share of errors; `None` where it was shown to be met.
    pub fn note(&self, slo: &Slo) -> Option<SearchNote> {
        self.errors.note(slo)
    }
}
