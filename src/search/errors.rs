//! Errors that do not come from the load: an app that fails some of its requests at any rate.
//!
//! In: every trial at a rate. Out: how many requests failed where latencies were within the goal,
//! and whether these are more than the goal allows. Computes only.

use super::Search;
use crate::stats::binomial;
use crate::terms::{SearchNote, TrialSummary};

/// Requests of trials at a rate whose latencies were within the goal, however many failed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AtAnyRate {
    requests: u64,
    failed: u64,
}

/// It is said that more fail than allowed when the lower bound of this level is above the goal.
const LEVEL: f64 = 0.99;

impl Search {
    /// Takes a trial; those at a rate count whose latencies were within the goal, whatever failed.
    pub(super) fn take_errors(&mut self, summary: &TrialSummary) {
        let Some(limit) = self.limit else { return };
        let p95_s = crate::model::common_p95_s(&summary.summary);
        if summary.offered.rate().is_some() && p95_s <= limit.limit.as_secs_f64() {
            self.errors.requests += summary.summary.due;
            self.errors.failed += summary.summary.failed();
        }
    }

    /// Where more fail than the goal allows although the load is no reason, no rate meets it.
    pub(super) fn errors_at_any_rate(&self) -> Option<SearchNote> {
        let allowed_ratio = self.slo.as_ref()?.errors?.get();
        let AtAnyRate { requests, failed } = self.errors;
        let note = SearchNote::ErrorsAtAnyRate { failed, requests, allowed_ratio };
        self.errors.are_more_than(allowed_ratio).then_some(note)
    }
}

impl AtAnyRate {
    fn are_more_than(self, allowed_ratio: f64) -> bool {
        binomial::lower_bound(self.requests, self.failed, LEVEL) > allowed_ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_allowed_is_said_only_where_chance_does_not_explain_it() {
        let are_more = |failed, requests| AtAnyRate { requests, failed }.are_more_than(0.001);
        assert!(are_more(170, 100_000));
        assert!(!are_more(12, 10_000), "0.12 % of so few may be 0.1 %");
        assert!(are_more(120 * 5, 500_000), "0.12 % of many is not");
        assert!(!are_more(0, 100_000));
        assert!(!are_more(0, 0));
    }
}
