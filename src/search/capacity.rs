//! The capacity of one configuration, measured for a given time on one start: a saturating burst,
//! then the search for the rate that its server holds, without a race around it.

use std::time::Duration;

use super::TrialRequest;
use super::climb::burst_clients;
use super::constants::{FIRST_BURST, FIRST_BURST_WARM_UP, SETTLE};
use super::rate::{RateAsk, RateSearch, WindowAnswer};
use crate::stats::Estimate;
use crate::terms::{Arrivals, Configuration, Offered, TrialPurpose, TrialSummary, Variant};

/// A measurement of one capacity, as far as it is.
#[derive(Debug, Clone)]
pub struct CapacitySearch {
    configuration: Configuration,
    arrivals: Arrivals,
    rates: RateSearch,
    has_burst: bool,
}

impl CapacitySearch {
    /// Begins with a fresh start and a saturating burst. `time`: load seconds that may be used in
    /// all.
    pub fn new(configuration: Configuration, arrivals: Arrivals, time: Duration) -> Self {
        let rates = RateSearch::new(time, SETTLE).without_early_end();
        Self { configuration, arrivals, rates, has_burst: false }
    }

    /// The next trial; `None` when the time is used.
    pub fn next(&self) -> Option<TrialRequest> {
        if !self.has_burst {
            return Some(self.burst());
        }
        let RateAsk::Window { rate, settle, duration } = self.rates.next()? else { return None };
        Some(TrialRequest {
            configuration: self.configuration,
            variant: Variant::AS_IT_IS,
            fresh_start: false,
            purpose: TrialPurpose::Probe,
            offered: Offered::Open { rate, arrivals: self.arrivals },
            warm_up: settle,
            duration,
            common_arrivals: None,
        })
    }

    fn burst(&self) -> TrialRequest {
        let clients = burst_clients(self.configuration);
        TrialRequest {
            configuration: self.configuration,
            variant: Variant::AS_IT_IS,
            fresh_start: true,
            purpose: TrialPurpose::Saturate,
            offered: Offered::Closed { clients, think: Duration::ZERO },
            warm_up: FIRST_BURST_WARM_UP,
            duration: FIRST_BURST,
            common_arrivals: None,
        }
    }

    /// Takes the result of the trial that was asked for.
    pub fn tell(&mut self, summary: &TrialSummary) {
        if !self.has_burst {
            self.has_burst = true;
            self.rates.begin_below(summary.summary.throughput_rps, summary.load_s);
        } else if let Some(rate) = summary.offered.rate() {
            self.rates.tell_window(WindowAnswer::of_trial(rate.as_per_second(), summary));
        }
    }

    /// The capacity so far with its 95 % interval and the number of windows; `None` before the
    /// first.
    pub fn capacity_rps(&self) -> Option<Estimate> {
        self.rates.estimate()
    }
}
