//! The capacity of one configuration, measured for a given time on one start: the same burst and
//! the same bisection as in the race, without a race around it.

use std::time::Duration;

use super::TrialRequest;
use super::climb::{burst_clients, cap, observe};
use crate::stats::{Estimate, RatePosterior};
use crate::terms::{Arrivals, Configuration, Offered, Rate, TrialPurpose, TrialSummary};

/// A measurement of one capacity, as far as it is.
#[derive(Debug, Clone)]
pub struct CapacitySearch {
    configuration: Configuration,
    arrivals: Arrivals,
    /// Load seconds that may be used in all.
    time: Duration,
    used_s: f64,
    belief: Option<RatePosterior>,
    has_burst: bool,
    probes: u32,
}

/// Before each window the server gets used to the rate; left out.
const SETTLE: Duration = Duration::from_secs(2);
const BURST: Duration = Duration::from_secs(5);
const BURST_WARM_UP: Duration = Duration::from_secs(3);
/// A window is a seventh of what is left of the time after the burst, but no shorter than this.
const WINDOW_LEAST_S: f64 = 4.0;
const WINDOWS: f64 = 7.0;

impl CapacitySearch {
    /// Begins with a fresh start and a saturating burst.
    pub fn new(configuration: Configuration, arrivals: Arrivals, time: Duration) -> Self {
        Self {
            configuration,
            arrivals,
            time,
            used_s: 0.0,
            belief: None,
            has_burst: false,
            probes: 0,
        }
    }

    /// The next trial; `None` when the time is used.
    pub fn next(&self) -> Option<TrialRequest> {
        if !self.has_burst {
            return Some(self.burst());
        }
        let belief = self.belief.as_ref()?;
        let after_burst_s = (self.time - BURST - BURST_WARM_UP).as_secs_f64();
        let window_s = (after_burst_s / WINDOWS).max(WINDOW_LEAST_S + SETTLE.as_secs_f64()).floor();
        if self.used_s + window_s > self.time.as_secs_f64() + 1.0 {
            return None;
        }
        let rate = Rate::per_second(belief.median()).ok()?;
        Some(TrialRequest {
            configuration: self.configuration,
            fresh_start: false,
            purpose: TrialPurpose::Probe,
            offered: Offered::Open { rate, arrivals: self.arrivals },
            warm_up: SETTLE,
            duration: Duration::from_secs_f64(window_s) - SETTLE,
        })
    }

    fn burst(&self) -> TrialRequest {
        let clients = burst_clients(self.configuration);
        TrialRequest {
            configuration: self.configuration,
            fresh_start: true,
            purpose: TrialPurpose::Saturate,
            offered: Offered::Closed { clients, think: Duration::ZERO },
            warm_up: BURST_WARM_UP,
            duration: BURST,
        }
    }

    /// Takes the result of the trial that was asked for.
    pub fn tell(&mut self, summary: &TrialSummary) {
        self.used_s += summary.load_s;
        if !self.has_burst {
            self.has_burst = true;
            let most = summary.summary.throughput_rps;
            if most > 0.0 {
                // Wide: the goal may allow far less than saturation gives.
                let mut belief = RatePosterior::with_prior(most * 0.9, 0.3);
                cap(&mut belief, most);
                self.belief = Some(belief);
            }
            return;
        }
        if let (Some(belief), Some(rate)) = (&mut self.belief, summary.offered.rate())
            && summary.valid
        {
            observe(belief, rate.as_per_second(), summary);
            self.probes += 1;
        }
    }

    /// The capacity so far with its 95 % interval and the number of windows; `None` before the
    /// first.
    pub fn capacity_rps(&self) -> Option<Estimate> {
        let belief = self.belief.as_ref().filter(|_| self.probes > 0)?;
        let (low, high) = belief.interval(0.95);
        Some(Estimate { value: belief.median(), low, high, count: u64::from(self.probes) })
    }
}
