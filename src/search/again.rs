//! The rate that a session printed, sent to a fresh start once more: the best of three attempts.
//!
//! In: the rate, and what each attempt showed. Out: the next attempt, and whether it was held.
//! Computes only.

use std::time::Duration;

use super::ask::TrialRequest;
use super::constants::{
    AGAIN_SHARE, HOLD_LEAST_S, HOLD_MOST_S, HOLD_WARM_UP, START_COST_S, VERIFY_MISSES,
};
use super::hold::held;
use crate::terms::{Arrivals, Configuration, HeldRate, TrialPurpose, TrialSummary};

/// The attempts so far.
#[derive(Debug, Clone)]
pub(super) struct Again {
    rate_rps: f64,
    /// Of the first attempt; of others the shortest.
    first_s: f64,
    /// The last that was held.
    pub held: Option<HeldRate>,
    holds: u32,
    misses: u32,
    /// What the attempts took, seconds.
    pub spent_s: f64,
}

impl Again {
    /// Of a verification with this budget.
    pub fn new(rate_rps: f64, budget: Duration) -> Self {
        let share_s = AGAIN_SHARE * budget.as_secs_f64() - before_s();
        Self {
            rate_rps,
            first_s: share_s.clamp(HOLD_LEAST_S, HOLD_MOST_S).floor(),
            held: None,
            holds: 0,
            misses: 0,
            spent_s: 0.0,
        }
    }

    pub fn attempts(&self) -> u32 {
        self.holds + self.misses
    }

    /// Held at once, or missed twice, or either of them after one of each.
    pub fn is_settled(&self) -> bool {
        self.is_missed() || self.holds > self.misses
    }

    /// Beyond a mishap.
    pub fn is_missed(&self) -> bool {
        self.misses >= VERIFY_MISSES
    }

    pub fn has_time(&self, left: Duration) -> bool {
        before_s() + self.seconds() <= left.as_secs_f64()
    }

    /// The next attempt.
    pub fn request(&self, at: Configuration, arrivals: Arrivals) -> TrialRequest {
        let duration = Duration::from_secs_f64(self.seconds());
        TrialRequest::hold(at, TrialPurpose::Hold, (self.rate_rps, arrivals), duration)
    }

    /// Takes the result of an attempt.
    pub fn take(&mut self, summary: &TrialSummary) {
        self.spent_s += START_COST_S + summary.load_s;
        match held(self.rate_rps, summary) {
            Some(held) => {
                self.held = Some(held);
                self.holds += 1;
            }
            None => self.misses += 1,
        }
    }

    fn seconds(&self) -> f64 {
        if self.attempts() == 0 { self.first_s } else { HOLD_LEAST_S }
    }
}

fn before_s() -> f64 {
    START_COST_S + HOLD_WARM_UP.as_secs_f64()
}
