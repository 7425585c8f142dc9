//! What a server does at a rate, request by request, where formulas are not enough: requests that
//! differ, the lock's quantum, pauses.

use super::day::Tally;
use super::simulator::{Ending, Outcome, RequestKind, Server, Simulator};
use crate::terms::{Arrivals, Offered, PredictedLatency, Rate};

/// Halvings of a bracket that is two wide: half a percent.
const PROBES: u32 = 9;
/// A guess is never off by more than 2^20.
const DOUBLINGS: u32 = 20;
/// Nobody waits longer for the last reply, seconds.
const LAST_REPLY_S: f64 = 600.0;

/// What came of the requests that were played.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Played {
    pub all: Tally,
    /// Of the first kind.
    pub first: Tally,
    /// False: what comes is more than can be done.
    pub is_kept_up_with: bool,
}

impl Played {
    fn note(&mut self, outcome: &Outcome) {
        self.all.note(outcome);
        if outcome.kind == 0 {
            self.first.note(outcome);
        }
    }
}

/// A kind of machine: its server, and what comes to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub server: Server,
    /// Not empty; their weights set the mix. The first are those that were measured.
    pub requests: Vec<RequestKind>,
}

impl Host {
    /// Plays `requests` that arrive at `rate` (requests/s, Poisson), after a tenth as many
    /// that are not counted, until each has ended.
    pub fn play(&self, rate: f64, requests: f64) -> Played {
        let mut simulator = self.simulator();
        begin(&mut simulator, rate);
        let (from_s, until_s) = (0.1 * requests / rate, 1.1 * requests / rate);
        let mut played = Played::default();
        let mut note = |outcome: Outcome| {
            if outcome.due_s >= from_s && outcome.due_s < until_s {
                played.note(&outcome);
            }
        };
        simulator.run_until(0.5 * (from_s + until_s), &mut note);
        let half_way = simulator.in_flight();
        simulator.run_until(until_s, &mut note);
        let grown = simulator.in_flight().saturating_sub(half_way);
        simulator.end();
        simulator.run_until(until_s + self.server.timeout_s.min(LAST_REPLY_S), &mut note);
        // In a queue that grows: what comes and what can be done differ by three percent or more.
        played.is_kept_up_with =
            (grown as f64) < 0.03 * 0.5 * requests && played.all.failed_share() < 0.01;
        played
    }

    /// Latency at `rate` of all requests, and of the first kind if there were any; `None` when so
    /// many do not get through.
    pub fn latency(
        &self,
        rate: f64,
        requests: f64,
    ) -> Option<(PredictedLatency, Option<PredictedLatency>)> {
        let played = self.play(rate, requests);
        let first = (played.first.requests() > 0.0).then(|| latency(rate, &played.first));
        played.is_kept_up_with.then(|| (latency(rate, &played.all), first))
    }

    /// The highest rate at which at most 1 - `quantile` of the requests take `limit_s` or longer,
    /// or get no reply; 0 when no rate does. To about 1 %, from a `guess`, by bisection over
    /// simulations of `requests` and more with the same seed; at most a million times the guess.
    pub fn capacity(&self, guess: f64, quantile: f64, limit_s: f64, requests: f64) -> f64 {
        let holds = |rate: f64| self.holds(rate, quantile, limit_s, requests);
        let (mut low, mut high) = (0.0, 1.5 * guess);
        for _ in 0..DOUBLINGS {
            if !holds(high) {
                break;
            }
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..PROBES {
            let middle = 0.5 * (low + high);
            if holds(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Whether at most 1 - `quantile` of the requests at `rate` take `limit_s` or longer, or get no
    /// reply; from `requests` of them and more.
    pub fn holds(&self, rate: f64, quantile: f64, limit_s: f64, requests: f64) -> bool {
        // A queue that grows slowly needs many times the limit to show; not more than can be
        // played.
        let length_s = (requests / rate).max((20.0 * limit_s).min(10.0 * requests / rate));
        let allowed = (1.0 - quantile) * rate * length_s;
        let mut simulator = self.simulator();
        begin(&mut simulator, rate);
        let violates = |outcome: Outcome| {
            outcome.ending != Ending::Reply || outcome.ended_s - outcome.due_s >= limit_s
        };
        let mut violations = 0.0;
        for part in 1..=20 {
            let until_s = length_s * f64::from(part) / 20.0;
            simulator.run_until(until_s, &mut |it| violations += f64::from(violates(it)));
            if violations > allowed {
                return false;
            }
        }
        simulator.end();
        let until_s = length_s + limit_s;
        simulator.run_until(until_s, &mut |it| violations += f64::from(violates(it)));
        // What is still there is older than the limit.
        violations + simulator.in_flight() as f64 <= allowed
    }

    fn simulator(&self) -> Simulator {
        Simulator::new(self.server.clone(), self.requests.clone(), 1)
    }
}

fn latency(at_rps: f64, tally: &Tally) -> PredictedLatency {
    PredictedLatency {
        at_rps,
        mean: tally.mean_s(),
        p50: tally.quantile_s(0.5),
        p95: tally.quantile_s(0.95),
        p99: tally.quantile_s(0.99),
    }
}

fn begin(simulator: &mut Simulator, rate: f64) {
    let rate = Rate::per_second(rate).expect("a rate that is asked about is finite and positive");
    simulator.begin(Offered::Open { rate, arrivals: Arrivals::Poisson }, 2);
}
