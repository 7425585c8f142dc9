//! The choice over connections of the other kind: where no file of the app says whether what stands
//! in front of it keeps its connections, one mode was taken, and the other may turn the answer
//! round. In what the last part left of its time a fresh start is sent the rate that it held, that
//! way.
//!
//! In: the rate, then a summary. Out: a load, then a note. Computes only.

use std::time::Duration;

use super::ask::TrialRequest;
use super::constants::HOLD_LEAST_S;
use super::hold::{before_s, held};
use super::ledger::Ledger;
use super::recommend::Ending;
use crate::terms::{
    Configuration, ConnectionMode, OtherConnections, SearchNote, TrialPurpose, TrialSummary,
};

/// One load over the other connections.
#[derive(Debug, Clone)]
pub(super) struct Check {
    configuration: Configuration,
    rate_rps: f64,
    connection: ConnectionMode,
    is_over: bool,
}

impl Check {
    /// `None` where the mode is known, nothing was held, or no time is left.
    pub fn begin(ledger: &Ledger, ending: &Ending) -> Option<Self> {
        let connection = ledger.plan.other_connection?;
        let rate_rps = ending.held?.rate_rps;
        let is_time = before_s(ledger) + HOLD_LEAST_S <= ledger.left_s();
        let configuration = ending.configuration;
        is_time.then_some(Self { configuration, rate_rps, connection, is_over: false })
    }

    /// The load; `None` once it was sent.
    pub fn request(&self, ledger: &Ledger) -> Option<TrialRequest> {
        let rate = (self.rate_rps, ledger.plan.arrivals);
        let duration = Duration::from_secs_f64(HOLD_LEAST_S);
        let request = TrialRequest::hold(self.configuration, TrialPurpose::Check, rate, duration);
        let request = TrialRequest { connection: Some(self.connection), ..request };
        (!self.is_over).then_some(request)
    }

    /// Takes the result, and notes it.
    pub fn take(&mut self, ledger: &mut Ledger, summary: &TrialSummary) {
        self.is_over = true;
        ledger.note(SearchNote::OtherConnections(OtherConnections {
            connection: self.connection,
            rate_rps: self.rate_rps,
            is_held: held(self.rate_rps, summary).is_some(),
            latency_s_p95: summary.summary.latency_s.p95,
            duration_s: summary.summary.duration_s,
        }));
    }

    /// Ends it without a word: it could not be measured.
    pub fn give_up(&mut self) {
        self.is_over = true;
    }
}
