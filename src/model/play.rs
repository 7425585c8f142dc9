//! What a server does at a rate, request by request, where formulas are not enough: requests that
//! differ, the lock's quantum, pauses.

use super::OpenLatency;
use super::day::Tally;
use super::simulator::{Ending, RequestKind, Server, Simulator};
use crate::terms::{Arrivals, Offered, Rate};

/// Halvings of a bracket that is 1.5 wide: half a percent.
const PROBES: u32 = 9;

/// A kind of machine: its server, and what comes to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub server: Server,
    /// Not empty; their weights set the mix. The first are those that were measured.
    pub requests: Vec<RequestKind>,
}

impl Host {
    /// Plays so many requests that arrive at `rate` (requests/s, Poisson), a tenth as many before
    /// that are not counted. Of all, and of the first kind.
    pub fn play(&self, rate: f64, requests: f64) -> [Tally; 2] {
        let mut simulator = self.simulator();
        begin(&mut simulator, rate);
        let from_s = 0.1 * requests / rate;
        let [mut all, mut first] = [Tally::default(), Tally::default()];
        simulator.run_until(1.1 * requests / rate, &mut |outcome| {
            if outcome.due_s < from_s {
                return;
            }
            let note = |tally: &mut Tally| match outcome.ending {
                Ending::Reply => tally.reply(outcome.ended_s - outcome.due_s, 1.0),
                _ => tally.fail(1.0),
            };
            note(&mut all);
            if outcome.kind == 0 {
                note(&mut first);
            }
        });
        [all, first]
    }

    /// Latency at `rate` of all requests, and of the first kind; `None` when so many do not get
    /// through.
    pub fn latency(&self, rate: f64, requests: f64) -> Option<[OpenLatency; 2]> {
        let [all, first] = self.play(rate, requests);
        // What has not ended yet waits in a queue that grows.
        let is_kept_up_with = all.requests() > 0.97 * requests && all.failed_share() < 0.01;
        is_kept_up_with.then(|| [latency(&all), latency(&first)])
    }

    /// The highest rate at which at most 1 - `quantile` of so many requests take `limit_s` or
    /// longer, or get no reply; 0 when no rate does. To about 1 %, from a `guess`, by bisection
    /// over simulations with the same seed.
    pub fn capacity(&self, guess: f64, quantile: f64, limit_s: f64, requests: f64) -> f64 {
        let holds = |rate: f64| self.holds(rate, quantile, limit_s, requests);
        let (mut low, mut high) = (0.0, 1.5 * guess);
        while holds(high) {
            (low, high) = (high, 1.5 * high);
        }
        for _ in 0..PROBES {
            let middle = 0.5 * (low + high);
            if holds(middle) { low = middle } else { high = middle }
        }
        low
    }

    fn holds(&self, rate: f64, quantile: f64, limit_s: f64, requests: f64) -> bool {
        let allowed = ((1.0 - quantile) * requests) as u64;
        let mut simulator = self.simulator();
        begin(&mut simulator, rate);
        let length_s = requests / rate;
        let mut violations = 0;
        for part in 1..=20 {
            simulator.run_until(length_s * f64::from(part) / 20.0, &mut |outcome| {
                let latency_s = outcome.ended_s - outcome.due_s;
                if outcome.ending != Ending::Reply || latency_s >= limit_s {
                    violations += 1;
                }
            });
            if violations > allowed {
                return false;
            }
        }
        simulator.end();
        // What has not ended yet has not been judged: more than the threads hold is a queue that
        // grew.
        let slots = u64::from(self.server.workers) * u64::from(self.server.threads);
        simulator.in_flight() + violations <= allowed + slots
    }

    fn simulator(&self) -> Simulator {
        Simulator::new(self.server.clone(), self.requests.clone(), 1)
    }
}

fn latency(tally: &Tally) -> OpenLatency {
    OpenLatency {
        mean_s: tally.mean_s(),
        p50_s: tally.quantile_s(0.5),
        p95_s: tally.quantile_s(0.95),
        p99_s: tally.quantile_s(0.99),
    }
}

fn begin(simulator: &mut Simulator, rate: f64) {
    let rate = Rate::per_second(rate).expect("a rate that is asked about is finite and positive");
    simulator.begin(Offered::Open { rate, arrivals: Arrivals::Poisson }, 2);
}
