//! One configuration's capacity: a saturating burst, then probes where the belief is most divided.

use super::ask::TrialRequest;
use super::belief::{Most, Sides, after_burst, observe};
use super::constants::{
    ABOVE_BAR, AS_EXPECTED, AS_IF_ALONE, BELOW_SATURATION_SD_LOG, BOLD, BUDGET_PER_PROBE_S,
    CLIENTS_MOST, FAR_MORE, FEWER, MORE_CLIENTS, NEAR_SATURATION_SD_LOG, PROBES_MAX,
    PROBES_PRECISION, REFERENCE_PROBES, SHORT_BUDGET,
};
use super::expect::Expectations;
use super::ledger::Ledger;
use super::loads;
use crate::model::Form;
use crate::stats::RatePosterior;
use crate::terms::{Configuration, Obstacle, TrialPurpose, TrialSummary};

/// A configuration that is being measured on one start of its server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Climb {
    configuration: Configuration,
    /// The best capacity so far: a configuration that cannot reach it needs no exact figure.
    bar_rps: Option<f64>,
    /// What the model expected a burst to get through, before there was one.
    expected_rps: Option<f64>,
    is_repeated: bool,
    has_burst: bool,
    probes: u32,
    sides: Sides,
    is_over: bool,
}

impl Climb {
    pub fn new(at: Configuration, bar_rps: Option<f64>, expected_rps: Option<f64>) -> Self {
        Self {
            configuration: at,
            bar_rps,
            expected_rps,
            is_repeated: false,
            has_burst: false,
            probes: 0,
            sides: Sides::default(),
            is_over: false,
        }
    }

    pub fn configuration(&self) -> Configuration {
        self.configuration
    }

    /// The next trial; `None` when enough is known.
    pub fn request(&self, ledger: &Ledger) -> Option<TrialRequest> {
        let cell = ledger.cells.get(&self.configuration)?;
        if self.is_over || !cell.is_open() {
            return None;
        }
        if !self.has_burst {
            return Some(loads::burst(ledger, self.configuration));
        }
        if self.bar_rps.is_none() && can_wait(ledger, self.configuration) {
            return None;
        }
        let belief = cell.race.as_ref()?;
        let budget = ledger.plan.budget;
        let probes_most = (budget.as_secs_f64() / BUDGET_PER_PROBE_S).clamp(2.0, PROBES_MAX) as u32;
        let probes_most = match self.bar_rps {
            Some(_) => probes_most,
            None => probes_most.min(REFERENCE_PROBES),
        };
        let is_enough = self.probes >= probes_most
            || (self.probes >= 2 && belief.sd_log() <= PROBES_PRECISION)
            || (self.probes >= 1 && ledger.time_left() < budget.mul_f64(0.25));
        if is_enough {
            return None;
        }
        let rate = match self.bar_rps {
            // Is it worth more time at all? Asked just above the best so far.
            Some(bar) if belief.median() < bar * ABOVE_BAR => bar * ABOVE_BAR,
            // Nothing above what was held is known.
            _ if self.probes >= 1 && !self.sides.missed => belief.quantile(BOLD),
            _ => belief.median(),
        };
        Some(loads::probe(ledger, self.configuration, rate))
    }

    /// Takes the result.
    pub fn take(&mut self, ledger: &mut Ledger, summary: &TrialSummary) {
        match summary.offered.rate() {
            None => self.take_burst(ledger, summary),
            Some(rate) => self.take_probe(ledger, rate.as_per_second(), summary),
        }
    }

    /// It could not be measured: what its probes have shown stays, and without any it is out.
    pub fn give_up(&mut self, ledger: &mut Ledger, summary: &TrialSummary) {
        let cell = ledger.cell_mut(self.configuration);
        if summary.purpose == TrialPurpose::Probe && cell.probes > 0 {
            self.is_over = true;
        } else {
            cell.rule_out(Obstacle::NotMeasurable { why: summary.reason.clone() });
        }
    }

    fn take_burst(&mut self, ledger: &mut Ledger, summary: &TrialSummary) {
        let burst_rps = summary.summary.got_through_rps();
        if let Some(collapsed_rps) = collapsed_rps(ledger, summary) {
            ledger.cell_mut(self.configuration).collapsed_rps = Some(collapsed_rps);
            return;
        }
        if is_unsaturated(ledger, summary) {
            ledger.clients_times *= MORE_CLIENTS;
            return;
        }
        let most = Most::of(summary, ledger.cv2());
        // Even saturated it stays clearly below the best: no rate search is needed.
        let is_below = |bar_rps| most.is_some_and(|most| most.is_below(bar_rps));
        let is_below_bar = self.bar_rps.is_some_and(is_below);
        // One hiccup of the machine must not rule out what was expected to do about as well as the
        // best: it is asked once more.
        let both = self.expected_rps.zip(self.bar_rps);
        let is_doubtful = both.is_some_and(|(expected, bar)| expected > AS_EXPECTED * bar);
        if burst_rps > 0.0 && is_below_bar && is_doubtful && !self.is_repeated {
            self.is_repeated = true;
            return;
        }
        self.has_burst = true;
        self.is_over = burst_rps <= 0.0 || is_below_bar;
        if burst_rps > 0.0 {
            let prior = prior(ledger, summary);
            ledger.cell_mut(self.configuration).race = Some(prior);
        } else {
            ledger.cell_mut(self.configuration).rule_out(Obstacle::AnsweredNothing);
        }
    }

    fn take_probe(&mut self, ledger: &mut Ledger, rate_rps: f64, summary: &TrialSummary) {
        let known = ledger.powers;
        let cell = ledger.cell_mut(self.configuration);
        cell.probes += 1;
        let Some(belief) = cell.race.as_mut() else { return };
        observe(belief, rate_rps, summary);
        let powers = belief.powers().or(known);
        self.probes += 1;
        self.sides.take(summary);
        let is_beaten = self.bar_rps.is_some_and(|bar| belief.quantile(0.95) < bar);
        // A rate this far below saturation is no answer anybody wants to an exact figure.
        let is_hopeless = belief.median() < cell.burst_rps.unwrap_or(0.0) * 0.01;
        self.is_over = is_beaten || is_hopeless;
        ledger.powers = powers;
    }
}

/// The reference, while so much more is expected of others that only the blocks need its figure:
/// half a minute that is better spent on what may win.
fn can_wait(ledger: &Ledger, configuration: Configuration) -> bool {
    let has_blocks = ledger.plan.budget >= SHORT_BUDGET;
    if configuration != ledger.plan.current || !has_blocks {
        return false;
    }
    let Some(expectations) = Expectations::of(ledger) else { return false };
    let here_rps = expectations.capacity_rps(configuration);
    ledger.untried().any(|it| expectations.capacity_rps(it) > here_rps * FAR_MORE)
}

/// What so many clients at once got, where one alone would get more: they wait for something that
/// only one can have, and it says nothing of what fewer would get. `None`: they got more, or are
/// the fewer ones already. How much less it was says little below half.
fn collapsed_rps(ledger: &Ledger, summary: &TrialSummary) -> Option<f64> {
    let alone_rps = ledger.alone.map_or(0.0, |alone| 1.0 / alone.latency_mean_s.max(1e-6));
    let is_first = ledger.cells[&summary.configuration].collapsed_rps.is_none();
    let is_many = summary.offered.clients().is_some_and(|clients| clients >= 2 * FEWER);
    let got_rps = summary.summary.throughput_rps;
    let has_collapsed = is_first && is_many && got_rps < 0.8 * alone_rps;
    has_collapsed.then(|| got_rps.max(0.5 * alone_rps))
}

/// Was each of the clients served about as one alone is? Then the server, which is not known to be
/// an event loop, takes in more requests at once than its slots, and so few clients show nothing of
/// what it gets through.
fn is_unsaturated(ledger: &Ledger, summary: &TrialSummary) -> bool {
    let (Some(alone), Some(clients)) = (ledger.alone, summary.offered.clients()) else {
        return false;
    };
    let alone_s = alone.latency_mean_s / ledger.warmth.coldness();
    let at_once = summary.summary.throughput_rps * alone_s;
    let is_many = (summary.configuration.slots() + 1..CLIENTS_MOST).contains(&clients);
    is_many && ledger.plan.form != Form::EventLoop && at_once > AS_IF_ALONE * f64::from(clients)
}

/// What the burst says of the capacity. It cannot hold more than it gets when saturated, and how
/// much less depends on the goal: the model says, with room for its error.
fn prior(ledger: &Ledger, summary: &TrialSummary) -> RatePosterior {
    let burst_rps = summary.summary.got_through_rps();
    let most = Most::of(summary, ledger.cv2());
    let share = Expectations::of(ledger)
        .and_then(|e| e.capacity_share(summary.configuration))
        .unwrap_or(0.9)
        .clamp(0.1, 0.97);
    let sd_log = match share {
        0.8.. if most.is_some() => NEAR_SATURATION_SD_LOG,
        _ => BELOW_SATURATION_SD_LOG,
    };
    after_burst((burst_rps * share).max(0.01), sd_log, most).knowing(ledger.powers)
}
