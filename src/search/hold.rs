//! The last part: the chosen setting is started afresh and sent the rate that is to be printed, for
//! long enough to know. A miss lowers the rate, and it is held again while there is time. Where
//! fresh starts are cold, it is a cold one that holds it, at a lower rate than a warm one would.
//!
//! Everything before this estimates a capacity from short windows; what is printed as held was held
//! here.

use std::time::Duration;

use super::ask::TrialRequest;
use super::belief::observe;
use super::constants::{
    COLD_SD_LOG, HOLD_ATTEMPTS, HOLD_LEAST_S, HOLD_MOST_S, HOLD_SHARE, HOLD_WARM_UP, SHORT_BUDGET,
    START_SD_LOG, STEP_DOWN, SURE, WITHOUT_ERRORS,
};
use super::estimates::{capacity, drift_sd_log};
use super::ledger::Ledger;
use super::recommend::Ending;
use crate::stats::{Estimate, RatePosterior};
use crate::terms::{
    Certainty, Configuration, HeldRate, Reason, SloTerm, TrialPurpose, TrialSummary, Verdict,
};

/// The chosen setting at the rate to be printed.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    configuration: Configuration,
    /// Of its capacity: what the fresh starts said, and what each attempt adds.
    belief: RatePosterior,
    /// What is sent next, requests/s.
    rate_rps: f64,
    duration: Duration,
    /// The last rate that was held, unless a lower one was missed after it: rates only go down.
    held: Option<HeldRate>,
    /// The last rate that was missed.
    missed_rps: Option<f64>,
    /// What was held but for requests that failed, as long as it is not known whether the rate is
    /// why they did.
    in_doubt: Option<HeldRate>,
    /// The rate is the user's, and no other is tried.
    is_asked: bool,
    /// What a warm start holds at most, where fresh ones are cold, requests/s.
    warm_high_rps: Option<f64>,
    is_over: bool,
}

/// What comes after it.
pub(super) enum AfterHold {
    /// The setting cannot be run any more: another one is to be held.
    Another,
    /// Nothing of it. `None`: nothing was tried.
    Ended(Option<Ending>),
}

/// Time of the budget that the last part is kept, seconds.
pub(super) fn kept_s(ledger: &Ledger) -> f64 {
    if ledger.plan.budget < SHORT_BUDGET {
        return 0.0;
    }
    let most_s = HOLD_ATTEMPTS * (before_s(ledger) + HOLD_MOST_S);
    (HOLD_SHARE * ledger.plan.budget.as_secs_f64()).min(most_s)
}

/// What the shortest attempt alone takes of it, seconds.
pub(super) fn kept_at_least_s(ledger: &Ledger) -> f64 {
    kept_s(ledger).min(before_s(ledger) + HOLD_LEAST_S)
}

/// What an attempt takes before it counts, seconds.
pub(super) fn before_s(ledger: &Ledger) -> f64 {
    ledger.start_cost_s + HOLD_WARM_UP.as_secs_f64()
}

/// How long the next attempt measures: all of the time that is left but the shortest attempt's
/// after it, where there is time for two. `None`: there is no time for one.
fn attempt(ledger: &Ledger) -> Option<Duration> {
    let shortest_s = before_s(ledger) + HOLD_LEAST_S;
    let left_s = ledger.left_s();
    let is_time = shortest_s <= left_s && ledger.plan.budget >= SHORT_BUDGET;
    let later_s = if 2.0 * shortest_s <= left_s { shortest_s } else { 0.0 };
    let measured_s = (left_s - later_s - before_s(ledger)).clamp(HOLD_LEAST_S, HOLD_MOST_S);
    is_time.then(|| Duration::from_secs_f64(measured_s.floor()))
}

impl Hold {
    /// Of this setting; `None` when nothing is known of it, or there is no time. `asked_rps`: the
    /// user's rate, and no other is tried. `before`: how it went at that one.
    pub fn begin(
        ledger: &Ledger,
        configuration: Configuration,
        asked_rps: Option<f64>,
        before: Option<&Ending>,
    ) -> Option<Self> {
        let (estimate, coldness) = match before {
            Some(ending) => (ending.capacity, 1.0),
            None => (capacity(ledger, configuration)?, ledger.warmth.coldness()),
        };
        let duration = attempt(ledger)?;
        let sd_log = (estimate.high / estimate.low).ln() / (2.0 * 1.96);
        let is_cold = coldness > 1.0;
        let sd_log = if is_cold { sd_log.hypot(COLD_SD_LOG) } else { sd_log };
        let belief = RatePosterior::with_prior(estimate.value / coldness, sd_log);
        let belief = belief.knowing(ledger.powers);
        let missed_rps = before.and_then(|ending| ending.missed_rps);
        let below = missed_rps.map_or(f64::INFINITY, |missed| missed * STEP_DOWN);
        let likely_rps = belief.quantile(1.0 - SURE).min(below);
        let rate_rps = asked_rps.unwrap_or_else(|| printable(likely_rps));
        Some(Self {
            configuration,
            belief,
            rate_rps,
            duration,
            held: None,
            missed_rps,
            in_doubt: None,
            is_asked: asked_rps.is_some(),
            warm_high_rps: is_cold.then_some(estimate.high),
            is_over: false,
        })
    }

    /// The next attempt; `None` when it is over.
    pub fn request(&self, ledger: &Ledger) -> Option<TrialRequest> {
        let (at, purpose) = (self.configuration, TrialPurpose::Hold);
        if self.is_over || !ledger.is_open(&at) {
            return None;
        }
        let rate = (self.rate_rps, ledger.plan.arrivals);
        Some(TrialRequest::hold(at, purpose, rate, self.duration))
    }

    /// Takes the result of an attempt.
    pub fn take(&mut self, ledger: &Ledger, summary: &TrialSummary) {
        let in_doubt = self.in_doubt;
        match ledger.at_any_rate.is_rate_in_doubt() {
            true => self.doubt(summary),
            false => self.learn(summary, ledger.at_any_rate.is_held_despite()),
        }
        let next = attempt(ledger);
        // Where so few requests came that none could be sure, a shorter load tells less. A rate in
        // doubt that is held after all gives way to none below the one that showed it.
        let is_sure = |held: HeldRate| held.certain || Some(held) == in_doubt;
        let is_settled = self.held.is_some_and(|held| is_sure(held) || is_short(summary));
        self.is_over = is_settled || self.is_asked || next.is_none();
        self.duration = next.unwrap_or(self.duration);
    }

    /// Ends it with what is known: it could not be measured.
    pub fn give_up(&mut self) {
        self.is_over = true;
    }

    /// What it came to.
    pub fn end(mut self, ledger: &Ledger) -> AfterHold {
        if !ledger.is_open(&self.configuration) {
            return AfterHold::Another;
        }
        self.held = self.held.or(self.in_doubt);
        AfterHold::Ended(self.ending(START_SD_LOG.hypot(drift_sd_log(ledger))))
    }

    /// A much lower rate is to show whether the rate is why requests fail.
    fn doubt(&mut self, summary: &TrialSummary) {
        self.in_doubt = Some(held_rate(self.rate_rps, summary, false));
        self.rate_rps = printable(self.rate_rps * WITHOUT_ERRORS);
    }

    /// `is_despite`: it was held but for failures, of which there are as many at any rate.
    fn learn(&mut self, summary: &TrialSummary, is_despite: bool) {
        observe(&mut self.belief, self.rate_rps, summary);
        let in_doubt = self.in_doubt.take().filter(|_| is_despite);
        self.held = in_doubt.or_else(|| held(self.rate_rps, summary));
        if self.held.is_none() {
            self.missed_rps = Some(self.rate_rps);
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
        let high = self.warm_high_rps.unwrap_or(high).max(high);
        let printed_rps = self.held.map_or(self.rate_rps, |held| held.rate_rps);
        let (value, low) = match self.is_asked {
            true => (self.belief.median(), low),
            false => (printed_rps, low.min(printed_rps * (-1.96 * others_sd_log).exp())),
        };
        let count = self.belief.count() as u64;
        let capacity = Estimate { value, low, high: high.max(value), count };
        let &Self { configuration, held, missed_rps, is_asked, .. } = self;
        Some(Ending { configuration, held, missed_rps, is_asked, capacity })
    }
}

/// A rate as this load held it; `None` where it was missed.
pub(super) fn held(rate_rps: f64, summary: &TrialSummary) -> Option<HeldRate> {
    let is_held = summary.leaning == Verdict::Yes && summary.verdict != Verdict::No;
    is_held.then(|| held_rate(rate_rps, summary, summary.verdict == Verdict::Yes))
}

fn held_rate(rate_rps: f64, summary: &TrialSummary, certain: bool) -> HeldRate {
    HeldRate {
        rate_rps,
        duration_s: summary.summary.duration_s,
        requests: summary.summary.due,
        failed: summary.summary.failed(),
        trial: summary.id,
        certain,
    }
}

/// Had it too few requests to be sure of a latency, however they fared?
fn is_short(summary: &TrialSummary) -> bool {
    let (Some(Reason::Counted { goals })
    | Some(Reason::MetButUncertain { goals })
    | Some(Reason::NotToldApart { goals, .. })) = summary.reason.fact()
    else {
        return false;
    };
    goals.iter().flat_map(|goal| &goal.terms).any(|count| {
        let is_latency = matches!(count.term, SloTerm::Latency { .. });
        is_latency && matches!(count.certainty, Certainty::TooFew { .. })
    })
}

/// The next rate below that is printed as it is, with at least three significant digits: what is
/// printed is what was sent.
pub(super) fn printable(rate_rps: f64) -> f64 {
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
    use crate::search::ask::tests_trial;
    use crate::search::plan::tests_plan;
    use crate::terms::LatencyVerdict;

    /// Three in a thousand, at any rate, where one in a thousand may.
    fn failing(rate_rps: f64, thousands: u64) -> TrialSummary {
        let (yes, no) = (Verdict::Yes, Verdict::No);
        let by_latency = Some(LatencyVerdict { verdict: yes, leaning: yes, edge: None });
        let failed = (1000 * thousands, 3 * thousands);
        let trial = tests_trial(TrialPurpose::Hold, rate_rps, failed);
        TrialSummary { verdict: no, leaning: no, by_latency, ..trial }
    }

    #[test]
    fn a_rate_that_is_held_as_half_of_it_has_as_many_failures_gives_way_to_no_lower_one() {
        let mut ledger = Ledger::new(tests_plan());
        let mut hold = Hold {
            configuration: ledger.plan.current,
            belief: RatePosterior::with_prior(100.0, 0.05),
            rate_rps: 100.0,
            duration: Duration::from_secs(30),
            held: None,
            missed_rps: None,
            in_doubt: None,
            is_asked: false,
            warm_high_rps: None,
            is_over: false,
        };
        for (rate_rps, thousands) in [(100.0, 6), (50.0, 3)] {
            assert_eq!((hold.rate_rps, hold.is_over), (rate_rps, false));
            let trial = ledger.at_any_rate.apart(&failing(rate_rps, thousands));
            hold.take(&ledger, &trial);
        }
        assert_eq!(hold.held.map(|held| held.rate_rps), Some(100.0));
        assert_eq!(hold.request(&ledger), None, "there is time, and no doubt");
    }

    #[test]
    fn a_rate_is_sent_as_it_is_printed_and_never_printed_higher() {
        for (rate, sent) in [(1234.9, 1234.0), (247.99, 247.0), (99.99, 99.9), (17.0, 17.0)] {
            assert!((printable(rate) - sent).abs() < 1e-9, "{rate}: {}", printable(rate));
        }
        assert!((printable(9.876) - 9.87).abs() < 1e-9);
        assert_eq!(printable(0.001), 0.01);
    }
}
