//! How well the chosen one's capacity is known, and what more time would buy.

use super::Search;
use crate::stats::Estimate;
use crate::terms::{Configuration, Precision};

/// Known no better than this, a setting that is a tenth better looks the same.
const VAGUE: f64 = 0.10;

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
    pub(super) fn more_minutes(&self, precision: &Precision) -> Option<String> {
        let percent = |ratio: f64| format!("\u{b1}{:.0} %", (ratio * 100.0).max(1.0));
        let Some(reached) = precision.reached_ratio else {
            let budget_s = self.whole_budget.as_secs_f64();
            return Some(format!(
                "the capacity rests on one start; a budget of {} measures the choice again on \
                 fresh ones",
                minutes(2.0 * budget_s)
            ));
        };
        let more_s = precision.more_s.filter(|_| !precision.is_reached())?;
        let (known, asked) = (percent(reached), percent(precision.asked_ratio));
        let told = format!(
            "fresh starts of this session tell the capacity to {known}; {asked} takes about {} \
             more",
            minutes(more_s)
        );
        Some(if reached > VAGUE {
            format!("{told}; settings this close are not told apart, so this may not be the best")
        } else {
            told
        })
    }
}

/// Whole minutes, as people plan them.
fn minutes(seconds: f64) -> String {
    match (seconds / 60.0).ceil() {
        ..=1.0 => "a minute".to_string(),
        minutes if minutes < 120.0 => format!("{minutes:.0} minutes"),
        minutes => format!("{} hours", (minutes / 6.0).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_as_people_plan_it() {
        let told = [20.0, 61.0, 1500.0, 9000.0].map(minutes);
        assert_eq!(told, ["a minute", "2 minutes", "25 minutes", "2.5 hours"]);
    }
}
