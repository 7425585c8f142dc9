//! The capacity of one configuration, measured for a given time on one start: a saturating burst,
//! then the search for the rate that its server holds, without a race around it.

use std::time::Duration;

use sweetspot::search::{RateAsk, RateSearch, SETTLE, TrialRequest, WindowAnswer, burst_clients};
use sweetspot::stats::Estimate;
use sweetspot::terms::{Arrivals, Configuration, Offered, TrialPurpose, TrialSummary};

/// How long the only burst is measured.
const BURST: Duration = Duration::from_secs(5);
/// What of the burst is left out before that.
const BURST_WARM_UP: Duration = Duration::from_secs(3);

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
        let at = self.configuration;
        if !self.has_burst {
            let burst = TrialRequest::burst(at, burst_clients(at), BURST_WARM_UP, BURST);
            return Some(TrialRequest { fresh_start: true, ..burst });
        }
        let RateAsk::Window { rate, settle, duration } = self.rates.next()? else { return None };
        let offered = Offered::Open { rate, arrivals: self.arrivals };
        Some(TrialRequest::new(at, TrialPurpose::Probe, offered, settle, duration))
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
