//! The true capacity of the settings of a case within a goal: only of those that may be the best,
//! and each only as well as it takes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use sweetspot::model;
use sweetspot::place::simulated::SimulatedApp;
use sweetspot::terms::{Bytes, Configuration};

use super::apps::Case;

/// Requests of a simulation that only says who may be the best, and of one whose figure is used.
const COARSE: f64 = 6_000.0;
const FINE: f64 = 60_000.0;
const TEN_MINUTES_S: f64 = 600.0;
const QUANTILE: f64 = 0.95;
/// The few requests are wrong by at most this share, nearly always.
const NEAR: f64 = 0.06;
/// As few are wrong by some percent, who holds this share of the best may be better.
const MAY_BE_BETTER: f64 = 0.95;
/// What is better by less is not looked into.
const BETTER: f64 = 1.005;

/// True capacities, requests/s.
pub struct Truths<'a> {
    app: &'a SimulatedApp,
    limit: Duration,
    pub best: Configuration,
    pub best_rps: f64,
    known: RefCell<BTreeMap<Configuration, f64>>,
}

impl<'a> Truths<'a> {
    /// For a goal that 95 % of the requests take less than `limit`. `chosen` is looked at first:
    /// the nearer it is to the best, the sooner the others are out.
    pub fn new(case: &'a Case, limit: Duration, chosen: Option<Configuration>) -> Self {
        let app = &case.app;
        let best = chosen.unwrap_or(app.current);
        let mut new = Self { app, limit, best, best_rps: 0.0, known: RefCell::default() };
        new.best_rps = new.of(best);
        // What would leave a machine without memory is not recommended, and is not the best.
        let limit_bytes = Bytes(app.memory.limit_bytes);
        let fits = |c: &&Configuration| model::fits(app.memory.of(**c), limit_bytes);
        for &configuration in case.grid.iter().filter(fits) {
            let holds = |rps: f64, requests| {
                let host = app.host(configuration);
                host.holds(rps, QUANTILE, limit.as_secs_f64(), requests)
            };
            let is_better =
                holds(new.best_rps * MAY_BE_BETTER, COARSE) && holds(new.best_rps * BETTER, FINE);
            if is_better {
                let rps = new.of(configuration);
                if rps > new.best_rps {
                    (new.best, new.best_rps) = (configuration, rps);
                }
            }
        }
        new
    }

    /// Of one setting.
    pub fn of(&self, configuration: Configuration) -> f64 {
        let known = self.known.borrow().get(&configuration).copied();
        known.unwrap_or_else(|| {
            let rps = self.measured(configuration);
            self.known.borrow_mut().insert(configuration, rps);
            rps
        })
    }

    fn measured(&self, configuration: Configuration) -> f64 {
        let guess = if self.best_rps > 0.0 { self.best_rps } else { 1.0 };
        let host = self.app.host(configuration);
        let limit_s = self.limit.as_secs_f64();
        let guess = host.capacity(guess, QUANTILE, limit_s, COARSE);
        let holds = |rps: f64| host.holds(rps, QUANTILE, limit_s, FINE);
        let (mut low, mut high) = ((1.0 - NEAR) * guess, (1.0 + NEAR) * guess);
        if guess <= 0.0 || !holds(low) || holds(high) {
            return host.capacity(guess, QUANTILE, limit_s, FINE);
        }
        // From a tenth to half a percent.
        for _ in 0..5 {
            let middle = 0.5 * (low + high);
            if holds(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Does it hold this rate for ten minutes?
    pub fn holds(&self, configuration: Configuration, rps: f64) -> bool {
        let host = self.app.host(configuration);
        host.holds(rps, QUANTILE, self.limit.as_secs_f64(), TEN_MINUTES_S * rps)
    }

    /// Of one setting as a share of the best.
    pub fn quality(&self, configuration: Configuration) -> f64 {
        if self.best_rps > 0.0 { self.of(configuration) / self.best_rps } else { 1.0 }
    }
}
