//! How well the chosen one's capacity is known, and what more time would buy.

use super::Search;
use super::constants::VAGUE;
use crate::stats::Estimate;
use crate::terms::{Configuration, Precision, PrecisionNote};

impl Search {
    /// Of the one that is recommended.
    pub(super) fn precision(&self, chosen: Configuration) -> Precision {
        let asked_ratio = self.plan.precision;
        let known = self.blocks_estimate(chosen);
        let reached_ratio = known.map(|known| known.log_half_width());
        let more_s = known.map(|known| self.sharper_after_s(&known, asked_ratio));
        Precision { asked_ratio, reached_ratio, more_s }
    }

    /// Fresh starts of the one alone that would narrow its interval to that: it narrows with the
    /// root of their number.
    fn sharper_after_s(&self, known: &Estimate, asked_ratio: f64) -> f64 {
        let starts = known.count as f64;
        let needed = starts * (known.log_half_width() / asked_ratio).powi(2);
        (needed - starts).max(0.0).ceil() * self.confirm_cost_s(known.value)
    }

    /// What more minutes would buy; `None` where they would buy nothing that matters.
    pub(super) fn more_minutes(&self, precision: &Precision) -> Option<PrecisionNote> {
        let asked_ratio = precision.asked_ratio;
        let Some(reached_ratio) = precision.reached_ratio else {
            let budget_s = 2.0 * self.whole_budget.as_secs_f64();
            return Some(PrecisionNote::OneStart { budget_s });
        };
        let more_s = precision.more_s.filter(|_| !precision.is_reached())?;
        Some(match reached_ratio > VAGUE {
            true => PrecisionNote::TooVague { reached_ratio, asked_ratio, more_s },
            false => PrecisionNote::Improvable { reached_ratio, asked_ratio, more_s },
        })
    }
}
