//! The last part: the chosen setting is started afresh and sent the rate that is to be printed, for
//! long enough to know. A miss lowers the rate, and it is held again while there is time.
//!
//! Everything before this estimates a capacity from short windows; what is printed as held was held
//! here.

use std::time::Duration;

use super::climb::observe;
use super::constants::{
    HOLD_ATTEMPTS, HOLD_LEAST_S, HOLD_MOST_S, HOLD_SHARE, HOLD_WARM_UP, SHORT_BUDGET, START_SD_LOG,
    STEP_DOWN, SURE,
};
use super::{Search, Stage, TrialRequest};
use crate::stats::{Estimate, RatePosterior};
use crate::terms::{
    Configuration, HeldRate, Offered, Rate, SearchNote, TrialPurpose, TrialSummary, Variant,
    Verdict,
};

/// The chosen setting at the rate to be printed.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub configuration: Configuration,
    /// Of its capacity: what the fresh starts said, and what each attempt adds.
    belief: RatePosterior,
    /// What is sent next, requests/s.
    rate_rps: f64,
    duration: Duration,
    /// The last rate that was held, unless a lower one was missed after it: rates only go down.
    held: Option<HeldRate>,
    /// The last rate that was missed.
    missed_rps: Option<f64>,
    /// The rate is the user's, and no other is tried.
    is_asked: bool,
    is_over: bool,
}

/// How the last part came out.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub configuration: Configuration,
    pub held: Option<HeldRate>,
    /// Capacity by all that is known, with its 95 % interval.
    pub capacity: Estimate,
}

impl Search {
    /// Time of the budget that the last part is kept, seconds.
    pub(super) fn kept_for_hold_s(&self) -> f64 {
        if self.plan.budget < SHORT_BUDGET {
            return 0.0;
        }
        let most_s = HOLD_ATTEMPTS * (self.before_hold_s() + HOLD_MOST_S);
        (HOLD_SHARE * self.plan.budget.as_secs_f64()).min(most_s)
    }

    /// What the shortest attempt alone takes of it, seconds.
    pub(super) fn kept_at_least_s(&self) -> f64 {
        self.kept_for_hold_s().min(self.before_hold_s() + HOLD_LEAST_S)
    }

    fn before_hold_s(&self) -> f64 {
        self.start_cost_s + HOLD_WARM_UP.as_secs_f64()
    }

    /// How long the next attempt measures: all of the time that is left but the shortest attempt's
    /// after it. `None`: there is no time for one.
    fn attempt(&self) -> Option<Duration> {
        let left_s = self.time_left().as_secs_f64();
        let is_time =
            self.before_hold_s() + HOLD_LEAST_S <= left_s && self.plan.budget >= SHORT_BUDGET;
        let measured_s =
            (left_s - 2.0 * self.before_hold_s() - HOLD_LEAST_S).clamp(HOLD_LEAST_S, HOLD_MOST_S);
        is_time.then(|| Duration::from_secs_f64(measured_s.round()))
    }

    /// What the search turns to when the choice is made.
    pub(super) fn begin_hold(&mut self) -> Stage {
        match self.to_hold() {
            Some(hold) => Stage::Hold(hold),
            None => self.begin_screen(),
        }
    }

    fn to_hold(&self) -> Option<Hold> {
        let configuration = self.to_recommend()?;
        let estimate = self.capacity(configuration)?.rps;
        let duration = self.attempt()?;
        let sd_log = (estimate.high / estimate.low).ln() / (2.0 * 1.96);
        let belief = RatePosterior::with_prior(estimate.value, sd_log);
        let asked_rps = self.plan.objective.rate_rps();
        let rate_rps = asked_rps.unwrap_or_else(|| printable(belief.quantile(1.0 - SURE)));
        Some(Hold {
            configuration,
            belief,
            rate_rps,
            duration,
            held: None,
            missed_rps: None,
            is_asked: asked_rps.is_some(),
            is_over: false,
        })
    }

    pub(super) fn hold_request(&self, hold: &Hold) -> Option<TrialRequest> {
        let is_open = self.cells[&hold.configuration].is_open();
        (!hold.is_over && is_open).then(|| TrialRequest {
            configuration: hold.configuration,
            variant: Variant::AS_IT_IS,
            fresh_start: true,
            purpose: TrialPurpose::Hold,
            offered: Offered::Open {
                rate: Rate::per_second(hold.rate_rps).expect("finite and positive"),
                arrivals: self.plan.arrivals,
            },
            warm_up: HOLD_WARM_UP,
            duration: hold.duration,
            common_arrivals: None,
        })
    }

    pub(super) fn take_hold(&mut self, summary: &TrialSummary) {
        let next = self.attempt();
        let Stage::Hold(hold) = &mut self.stage else { return };
        hold.take(summary);
        let is_settled = hold.held.is_some_and(|held| held.certain);
        hold.is_over = is_settled || hold.is_asked || next.is_none();
        hold.duration = next.unwrap_or(hold.duration);
    }

    /// Ends the last part with what it came to.
    pub(super) fn end_hold(&mut self, hold: Hold) -> Stage {
        if !self.cells[&hold.configuration].is_open() {
            return self.begin_hold();
        }
        let others_sd_log = START_SD_LOG.hypot(self.drift_sd_log());
        if let Some(ending) = hold.ending(others_sd_log) {
            if let (None, Some(rate_rps)) = (ending.held, hold.missed_rps) {
                self.note(SearchNote::NothingHeldAtEnd { rate_rps });
            }
            self.ending = Some(ending);
        }
        self.begin_screen()
    }

    /// Gives up on the last part: it could not be measured.
    pub(super) fn drop_hold(&mut self) {
        if let Stage::Hold(hold) = &mut self.stage {
            hold.is_over = true;
        }
    }

    /// How the last part came out, if it was about this setting.
    pub(super) fn ending_of(&self, chosen: Configuration) -> Option<&Ending> {
        self.ending.as_ref().filter(|ending| ending.configuration == chosen)
    }
}

impl Hold {
    fn take(&mut self, summary: &TrialSummary) {
        observe(&mut self.belief, self.rate_rps, summary);
        let is_held = summary.leaning == Verdict::Yes && summary.verdict != Verdict::No;
        if is_held {
            let held = HeldRate {
                rate_rps: self.rate_rps,
                duration_s: summary.summary.duration_s,
                requests: summary.summary.due,
                failed: summary.summary.failed(),
                trial: summary.id,
                certain: summary.verdict == Verdict::Yes,
            };
            self.held = Some(held);
        } else {
            self.missed_rps = Some(self.rate_rps);
            self.held = None;
        }
        let below = self.rate_rps * STEP_DOWN;
        self.rate_rps = printable(self.belief.quantile(1.0 - SURE).min(below));
    }

    /// `None` when nothing was tried. The figure is what was held, and where nothing was, what
    /// would have been tried next; a rate that was asked for is not the capacity, which stays what
    /// is believed. `others_sd_log`: by how much other starts, at another time, differ from those
    /// of the session.
    fn ending(&self, others_sd_log: f64) -> Option<Ending> {
        if self.held.is_none() && self.missed_rps.is_none() {
            return None;
        }
        let (low, high) = self.belief.interval(0.95);
        let printed_rps = self.held.map_or(self.rate_rps, |held| held.rate_rps);
        let (value, low) = match self.is_asked {
            true => (self.belief.median(), low),
            false => (printed_rps, low.min(printed_rps * (-1.96 * others_sd_log).exp())),
        };
        let count = self.belief.count() as u64;
        let capacity = Estimate { value, low, high: high.max(value), count };
        Some(Ending { configuration: self.configuration, held: self.held, capacity })
    }
}

/// The next rate below that is printed as it is, with three significant digits: what is printed is
/// what was sent.
fn printable(rate_rps: f64) -> f64 {
    let step = match rate_rps {
        rate if rate >= 100.0 => 1.0,
        rate if rate >= 10.0 => 0.1,
        _ => 0.01,
    };
    ((rate_rps / step + 1e-9).floor() * step).max(0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_sent_as_it_is_printed_and_never_printed_higher() {
        for (rate, sent) in [(1234.9, 1234.0), (247.99, 247.0), (99.99, 99.9), (17.0, 17.0)] {
            assert!((printable(rate) - sent).abs() < 1e-9, "{rate}: {}", printable(rate));
        }
        assert!((printable(9.876) - 9.87).abs() < 1e-9);
        assert_eq!(printable(0.001), 0.01);
    }
}
