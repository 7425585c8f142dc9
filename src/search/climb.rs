//! One configuration's capacity: a saturating burst, then probes where the belief is most divided.

use std::time::Duration;

use super::constants::{
    ABOVE_BAR, AS_EXPECTED, BELOW_SATURATION_SD_LOG, BOLD, BUDGET_PER_PROBE_S, BURST_REQUESTS,
    BURST_SD_LOG, CLIENTS_MOST, COLLAPSED, FAR_BELOW_SATURATION_SD_LOG, FAR_MORE, FEWER,
    MANY_CLIENTS, NEAR_SATURATION_SD_LOG, OUT_BY_BURST, PROBE_REQUESTS, PROBES_MAX,
    PROBES_PRECISION, REFERENCE_PROBES, SETTLE, SHORT_BUDGET, WINDOW_LEAST_S, WINDOW_MOST_S,
    WINDOWS_OF_BUDGET,
};
use super::rate::{self, WindowAnswer};
use super::{Search, TrialRequest};
use crate::model::{Form, event_loop};
use crate::stats::RatePosterior;
use crate::terms::{
    Configuration, Obstacle, Offered, Rate, TrialPurpose, TrialSummary, Variant, Verdict,
};

/// A configuration that is being measured on one start of its server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Climb {
    pub configuration: Configuration,
    /// The best capacity so far: a configuration that cannot reach it needs no exact figure.
    pub bar_rps: Option<f64>,
    /// What the model expected a burst to get through, before there was one.
    expected_rps: Option<f64>,
    is_repeated: bool,
    has_burst: bool,
    probes: u32,
    has_missed: bool,
    is_over: bool,
}

impl Climb {
    pub fn new(
        configuration: Configuration,
        bar_rps: Option<f64>,
        expected_rps: Option<f64>,
    ) -> Self {
        Self {
            configuration,
            bar_rps,
            expected_rps,
            is_repeated: false,
            has_burst: false,
            probes: 0,
            has_missed: false,
            is_over: false,
        }
    }

    /// One hiccup of the machine during a burst must not rule out what was expected to do about as
    /// well as the best: it is asked once more.
    fn is_doubtful(&self) -> bool {
        let both = self.expected_rps.zip(self.bar_rps);
        !self.is_repeated && both.is_some_and(|(expected, bar)| expected > AS_EXPECTED * bar)
    }
}

impl Search {
    pub(super) fn climb_request(&self, climb: &Climb) -> Option<TrialRequest> {
        let cell = self.cells.get(&climb.configuration)?;
        if climb.is_over || !cell.is_open() {
            return None;
        }
        if !climb.has_burst {
            return Some(self.burst_request(climb.configuration));
        }
        if climb.bar_rps.is_none() && self.can_wait(climb.configuration) {
            return None;
        }
        let belief = cell.race.as_ref()?;
        let probes_most =
            (self.plan.budget.as_secs_f64() / BUDGET_PER_PROBE_S).clamp(2.0, PROBES_MAX) as u32;
        let probes_most = match climb.bar_rps {
            Some(_) => probes_most,
            None => probes_most.min(REFERENCE_PROBES),
        };
        let is_enough = climb.probes >= probes_most
            || (climb.probes >= 2 && belief.sd_log() <= PROBES_PRECISION)
            || (climb.probes >= 1 && self.time_left() < self.plan.budget.mul_f64(0.25));
        if is_enough {
            return None;
        }
        let rate = match climb.bar_rps {
            // Is it worth more time at all? Asked just above the best so far.
            Some(bar) if belief.median() < bar * ABOVE_BAR => bar * ABOVE_BAR,
            // Nothing above what was held is known.
            _ if climb.probes >= 1 && !climb.has_missed => belief.quantile(BOLD),
            _ => belief.median(),
        };
        Some(self.probe_request(climb.configuration, rate, TrialPurpose::Probe))
    }

    pub(super) fn burst_request(&self, configuration: Configuration) -> TrialRequest {
        let clients = match self.unloaded.filter(|_| self.plan.form == Form::EventLoop) {
            Some(alone) => {
                let cpu_s = alone.cpu_per_request_s.unwrap_or(alone.latency_mean_s);
                let each = event_loop::places(alone.latency_mean_s, cpu_s);
                (u32::from(each) * u32::from(configuration.workers.get())).min(CLIENTS_MOST)
            }
            None => burst_clients(configuration),
        };
        let has_collapsed = self.cells.get(&configuration).is_some_and(|cell| cell.has_collapsed);
        let clients = if has_collapsed { (clients / FEWER).max(2) } else { clients };
        let is_reference = configuration == self.plan.current && self.starts <= 1;
        TrialRequest {
            configuration,
            variant: Variant::AS_IT_IS,
            fresh_start: !is_reference || has_collapsed || self.setbacks > 0,
            purpose: TrialPurpose::Saturate,
            offered: Offered::Closed { clients, think: Duration::ZERO },
            warm_up: Duration::from_secs(2),
            duration: self.burst_duration(configuration),
            common_arrivals: None,
        }
    }

    /// Long enough for [`BURST_REQUESTS`] as far as is known.
    fn burst_duration(&self, configuration: Configuration) -> Duration {
        let most = self.seconds(0.015, 3.0, 8.0);
        let Some(expected_rps) = self.expectations().map(|e| e.saturated_rps(configuration)) else {
            return most;
        };
        let needed_s = (BURST_REQUESTS / expected_rps.max(1.0)).ceil();
        Duration::from_secs_f64(needed_s.max(3.0)).min(most)
    }

    /// One window at one rate, on the server that runs; long enough for [`PROBE_REQUESTS`] within
    /// the budget's means.
    pub(super) fn probe_request(
        &self,
        configuration: Configuration,
        rate_rps: f64,
        purpose: TrialPurpose,
    ) -> TrialRequest {
        let rate_rps = rate_rps.max(0.1);
        let most_s = (self.plan.budget.as_secs_f64() / WINDOWS_OF_BUDGET)
            .clamp(WINDOW_LEAST_S, WINDOW_MOST_S);
        let duration_s = (PROBE_REQUESTS / rate_rps).clamp(WINDOW_LEAST_S, most_s).round();
        let rate = Rate::per_second(rate_rps).expect("a belief's median is finite and positive");
        TrialRequest {
            configuration,
            variant: Variant::AS_IT_IS,
            fresh_start: self.setbacks > 0,
            purpose,
            offered: Offered::Open { rate, arrivals: self.plan.arrivals },
            warm_up: SETTLE,
            duration: Duration::from_secs_f64(duration_s),
            common_arrivals: None,
        }
    }

    /// The reference, while so much more is expected of others that only the blocks need its
    /// figure: half a minute that is better spent on what may win.
    fn can_wait(&self, configuration: Configuration) -> bool {
        let has_blocks = self.plan.budget >= SHORT_BUDGET;
        if configuration != self.plan.current || !has_blocks {
            return false;
        }
        let Some(expectations) = self.expectations() else { return false };
        let here_rps = expectations.capacity_rps(configuration);
        self.untried().any(|it| expectations.capacity_rps(it) > here_rps * FAR_MORE)
    }

    fn climb_mut(&mut self) -> Option<&mut Climb> {
        match &mut self.stage {
            super::Stage::Reference(climb) | super::Stage::Race(Some(climb)) => Some(climb),
            _ => None,
        }
    }

    /// Ends the present climb with what it knows.
    pub(super) fn end_climb(&mut self) {
        if let Some(climb) = self.climb_mut() {
            climb.is_over = true;
        }
    }

    pub(super) fn take_burst(&mut self, summary: &TrialSummary) {
        let burst_rps = summary.summary.got_through_rps();
        if self.has_collapsed(summary) {
            self.cell_mut(summary.configuration).has_collapsed = true;
            return;
        }
        let most_rps = most_rps(summary);
        let prior = self.prior(summary.configuration, burst_rps, most_rps);
        let Some(climb) = self.climb_mut() else { return };
        // Even saturated it stays clearly below the best: no rate search is needed.
        let is_below = |bar_rps| most_rps.is_some_and(|most_rps| most_rps * OUT_BY_BURST < bar_rps);
        let is_below_bar = climb.bar_rps.is_some_and(is_below);
        if burst_rps > 0.0 && is_below_bar && climb.is_doubtful() {
            climb.is_repeated = true;
            return;
        }
        climb.has_burst = true;
        climb.is_over = burst_rps <= 0.0 || is_below_bar;
        let cell = self.cell_mut(summary.configuration);
        if burst_rps > 0.0 {
            cell.race = Some(prior);
        } else {
            cell.rule_out(Obstacle::AnsweredNothing);
        }
    }

    /// So many clients at once got less than one alone would: they wait for something that only one
    /// can have, and what they were given says nothing of what fewer would get.
    fn has_collapsed(&self, summary: &TrialSummary) -> bool {
        let alone_rps = self.unloaded_s().map_or(0.0, |unloaded_s| 1.0 / unloaded_s.max(1e-6));
        let is_second = self.cells[&summary.configuration].has_collapsed;
        let is_many = summary.offered.clients().is_some_and(|clients| clients >= 2 * FEWER);
        !is_second && is_many && summary.summary.throughput_rps < 0.8 * alone_rps
    }

    /// What the burst says of the capacity. It cannot hold more than it gets when saturated, and
    /// how much less depends on the goal: the model says, with room for its error.
    fn prior(
        &self,
        configuration: Configuration,
        burst_rps: f64,
        most_rps: Option<f64>,
    ) -> RatePosterior {
        let share = self
            .expectations()
            .and_then(|e| e.capacity_share(configuration))
            .unwrap_or(0.9)
            .clamp(0.1, 0.97);
        let sd_log = match share {
            0.8.. if most_rps.is_some() => NEAR_SATURATION_SD_LOG,
            0.4.. => BELOW_SATURATION_SD_LOG,
            _ => FAR_BELOW_SATURATION_SD_LOG,
        };
        let mut belief = RatePosterior::with_prior((burst_rps * share).max(0.01), sd_log);
        cap(&mut belief, most_rps);
        belief
    }

    pub(super) fn take_probe(&mut self, summary: &TrialSummary) {
        let Some(rate) = summary.offered.rate() else { return };
        let cell = self.cell_mut(summary.configuration);
        cell.probes += 1;
        let Some(belief) = cell.race.as_mut() else { return };
        observe(belief, rate.as_per_second(), summary);
        let best_case = belief.quantile(0.95);
        let median = belief.median();
        let burst = cell.burst_rps.unwrap_or(0.0);
        if let Some(climb) = self.climb_mut() {
            climb.probes += 1;
            climb.has_missed |= summary.edge.is_some() || summary.leaning == Verdict::No;
            let is_beaten = climb.bar_rps.is_some_and(|bar| best_case < bar);
            // A rate this far below saturation is no answer anybody wants to an exact figure.
            let is_hopeless = median < burst * 0.01;
            climb.is_over = is_beaten || is_hopeless;
        }
    }
}

/// Clients that saturate it: twice the slots keep every thread busy while replies travel; more only
/// lengthens the queue.
pub(super) fn burst_clients(configuration: Configuration) -> u32 {
    let slots = configuration.slots();
    (slots * 2).clamp(4, MANY_CLIENTS).max(slots.min(CLIENTS_MOST))
}

/// What a burst shows that nothing can exceed, requests/s: what got through, unless there were
/// fewer clients than the server has threads because more would have been too many.
pub(super) fn most_rps(summary: &TrialSummary) -> Option<f64> {
    let slots = summary.configuration.slots();
    let is_cut =
        summary.offered.clients().is_some_and(|clients| (MANY_CLIENTS..slots).contains(&clients));
    (!is_cut).then(|| summary.summary.got_through_rps())
}

/// No open load holds more than a closed one gets when it saturates.
/// `most_rps`: what the burst showed, if it showed anything.
pub(super) fn cap(belief: &mut RatePosterior, most_rps: Option<f64>) {
    if let Some(most_rps) = most_rps.filter(|rps| *rps > 0.0) {
        belief.observe(most_rps * (1.0 + BURST_SD_LOG), false, BURST_SD_LOG);
    }
}

/// Lets one trial move the belief. What a server answers under too much is all that it can be
/// trusted with: Puma with one thread a worker, which waits on kept connections, answers 110/s to
/// clients that send again at once and 30/s of 95/s that come as they like.
pub(super) fn observe(belief: &mut RatePosterior, rate_rps: f64, summary: &TrialSummary) {
    rate::observe(belief, &WindowAnswer::of_trial(rate_rps, summary));
    let answered_rps = summary.summary.throughput_rps;
    if summary.verdict == Verdict::No && answered_rps < COLLAPSED * rate_rps {
        cap(belief, Some(answered_rps));
    }
}
