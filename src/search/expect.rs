//! What the model expects of the grid, fitted anew to what is known so far.

use super::constants::{MODEL_ERROR_LEAST, OWN_SHARE_LEAST};
use super::ledger::{Alone, Ledger};
use crate::model::{self, Correction, Demand, MemoryModel, Observation, closed_throughput};
use crate::terms::{
    Configuration, LimitKind, Obstacle, PredictedLimit, Prediction, QuantileLimit, Stated,
};

/// A fitted model with its own record of how wrong it was.
pub(super) struct Expectations<'a> {
    ledger: &'a Ledger,
    demand: Demand,
    memory: Option<MemoryModel>,
    /// The most that was measured with one number of workers, as long as that is the only one:
    /// how much of it they share is not known then.
    same_workers: Option<(u16, u64)>,
    limit: QuantileLimit,
    correction: Correction,
    /// Relative error on the cells measured, at least [`MODEL_ERROR_LEAST`].
    pub error: f64,
}

fn observations(ledger: &Ledger) -> Vec<Observation> {
    let Ledger { plan, alone, .. } = ledger;
    let saturated =
        ledger.cells.iter().filter(|(_, cell)| cell.burst_rps.is_some_and(|rps| rps > 0.0));
    let collapsed = ledger.cells.iter().filter_map(|(&configuration, cell)| {
        let saturated_rps = Some(cell.collapsed_rps?);
        Some(Observation { saturated_rps, ..Observation::of(configuration) })
    });
    saturated
        .map(|(&configuration, cell)| Observation {
            configuration: plan.form.occupied(configuration, cell.burst_clients),
            saturated_rps: cell.saturated_rps,
            saturated_replies: Some(cell.burst_replies),
            cpu_per_request_s: cell.cpu_per_request_s,
            worker_busy_cores: cell.worker_busy_cores,
            generator_s: cell.generator_per_request_s.filter(|_| plan.generator_shares_cores),
            ..Observation::of(configuration)
        })
        .chain(collapsed)
        .chain(alone.map(|alone| of_alone(ledger, alone)))
        .collect()
}

/// One client alone. A server that was cold then computed for longer, and no longer does.
fn of_alone(ledger: &Ledger, alone: Alone) -> Observation {
    let current = ledger.plan.current;
    let is_cold = ledger.warmth.is_cold_at_first();
    let warm_s = ledger.cells[&current].cpu_per_request_s.filter(|_| is_cold);
    let longer_s = alone.cpu_per_request_s.zip(warm_s).map_or(0.0, |(cold, warm)| cold - warm);
    Observation {
        cpu_per_request_s: alone.cpu_per_request_s.filter(|_| !is_cold),
        unloaded_latency_s: Some(alone.latency_mean_s - longer_s.max(0.0)),
        unloaded_replies: Some(alone.replies),
        unloaded_sizes: alone.sizes,
        ..Observation::of(current)
    }
}

fn same_workers(points: &[(Configuration, u64)]) -> Option<(u16, u64)> {
    let workers = points.first()?.0.workers.get();
    let is_only = points.iter().all(|(configuration, _)| configuration.workers.get() == workers);
    let most = points.iter().map(|(_, bytes)| *bytes).max()?;
    is_only.then_some((workers, most))
}

impl<'a> Expectations<'a> {
    /// `None` before anything was saturated.
    pub fn of(ledger: &'a Ledger) -> Option<Self> {
        let observations = observations(ledger);
        let memory_points = ledger.memory_points();
        let mut expectations = Self {
            ledger,
            demand: model::Fit::to(&observations, ledger.plan.cores)?.demand,
            memory: model::memory(&memory_points),
            same_workers: same_workers(&memory_points),
            limit: ledger.alone?.limit,
            correction: Correction::default(),
            error: MODEL_ERROR_LEAST,
        };
        expectations.error = expectations.error_on(&observations);
        expectations.correction = expectations.correction();
        Some(expectations)
    }

    /// Root mean square of the relative error over the saturated trials.
    fn error_on(&self, observations: &[Observation]) -> f64 {
        let square = |o: &Observation| {
            let modelled = closed_throughput(&self.demand, o.configuration, self.ledger.plan.cores);
            Some((modelled / o.saturated_rps?).ln().powi(2))
        };
        let squares: Vec<f64> = observations.iter().filter_map(square).collect();
        let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
        mean.sqrt().max(MODEL_ERROR_LEAST)
    }

    /// What it answers when there is always more to do, requests/s.
    pub fn saturated_rps(&self, configuration: Configuration) -> f64 {
        let (demand, places, _) = self.asked(configuration);
        closed_throughput(&demand, places, self.ledger.plan.cores)
    }

    /// What the formulas are asked for a configuration: demands, places, and the seconds of a
    /// request that these leave out.
    fn asked(&self, configuration: Configuration) -> (Demand, Configuration, f64) {
        let form = self.ledger.plan.form;
        let (demand, more_s) = form.computed(configuration, &self.demand);
        (demand, form.places(configuration, &self.demand), more_s)
    }

    /// What the model says, corrected by how wrong it was on what was measured nearby: what it does
    /// not know of, such as a server that waits for more requests on a kept connection, holds for
    /// like numbers of workers and threads.
    pub fn capacity_rps(&self, configuration: Configuration) -> f64 {
        self.modelled_rps(configuration) * self.correction.factor(configuration)
    }

    fn correction(&self) -> Correction {
        Correction::new(self.ledger.raced().filter_map(|(configuration, measured)| {
            let modelled = self.modelled_rps(configuration);
            (modelled > 0.0).then(|| (configuration, measured / modelled))
        }))
    }

    fn modelled_rps(&self, configuration: Configuration) -> f64 {
        self.modelled_as(configuration, |demand| demand)
    }

    /// What the model expects of a setting whose requests differ from the fitted ones.
    fn modelled_as(&self, at: Configuration, changed: impl Fn(Demand) -> Demand) -> f64 {
        let (demand, places, less_s) = self.asked(at);
        let demand = changed(demand);
        let QuantileLimit { quantile, limit } = self.limit;
        let limit_s = limit.as_secs_f64() - less_s;
        model::capacity(&demand, places, self.ledger.plan.cores, quantile.get(), limit_s)
    }

    /// Capacity within the goal as a share of what saturation gives, if requests differ as they
    /// usually do: where one alone is nearly late, how late the slowest few of some seconds were
    /// would decide, and windows have the say. `None` when nothing is expected.
    pub fn capacity_share(&self, configuration: Configuration) -> Option<f64> {
        let saturated = self.saturated_rps(configuration);
        let usual = |demand| Demand { sizes: None, cv2: Demand::default().cv2, ..demand };
        (saturated > 0.0).then(|| self.modelled_as(configuration, usual) / saturated)
    }

    pub fn memory_bytes(&self, configuration: Configuration) -> Option<u64> {
        self.memory.as_ref().map(|memory| memory.predict(configuration))
    }

    /// p95 at this rate, seconds; `None` where it cannot keep up.
    pub fn p95_s(&self, configuration: Configuration, rate_rps: f64) -> Option<f64> {
        let (demand, places, more_s) = self.asked(configuration);
        let latency = model::open_latency(&demand, places, self.ledger.plan.cores, rate_rps)?;
        Some(latency.p95 + more_s)
    }

    /// What a request waits for a free thread at this rate on average, seconds; `None` where it
    /// cannot keep up.
    pub fn queue_s(&self, configuration: Configuration, rate_rps: f64) -> Option<f64> {
        let (demand, places, _) = self.asked(configuration);
        Some(model::stay(&demand, places, self.ledger.plan.cores, rate_rps)?.queue_s)
    }

    /// What a request takes of the cores, whatever the configuration.
    pub fn cpu_per_request_s(&self) -> f64 {
        self.demand.cpu_s + self.demand.cpu_free_s
    }

    /// Why it cannot be run here, before trying it.
    pub fn ruled_out(&self, configuration: Configuration) -> Option<Obstacle> {
        let (expected, limit) = (self.memory_bytes(configuration)?, self.ledger.plan.memory?);
        let needs = match self.same_workers {
            Some((workers, bytes)) if configuration.workers.get() > workers => {
                let more = f64::from(configuration.workers.get() - workers) / f64::from(workers);
                expected.min((bytes as f64 * (1.0 + OWN_SHARE_LEAST * more)) as u64)
            }
            _ => expected,
        };
        let does_fit = model::fits(needs, limit);
        (!does_fit).then_some(Obstacle::NeedsMemory { needed_bytes: needs, limit_bytes: limit.0 })
    }

    pub fn predictions(&self) -> Vec<Prediction> {
        self.ledger.cells.keys().map(|&configuration| self.prediction(configuration)).collect()
    }

    fn prediction(&self, configuration: Configuration) -> Prediction {
        let capacity = self.capacity_rps(configuration);
        // Two standard errors either way on the logarithm.
        let spread = (2.0 * self.error).exp();
        let ruled_out = self.ledger.cells[&configuration].ruled_out.clone();
        let ruled_out = ruled_out.or_else(|| self.ruled_out(configuration));
        let (demand, places, _) = self.asked(configuration);
        let kind: LimitKind = model::limit(&demand, places, self.ledger.plan.cores);
        Prediction {
            workers: configuration.workers.get(),
            threads: configuration.threads.get(),
            throughput_rps_max: self.saturated_rps(configuration),
            capacity_rps: capacity,
            capacity_rps_interval: [capacity / spread, capacity * spread],
            memory_bytes: self.memory_bytes(configuration),
            limit: PredictedLimit { kind },
            ruled_out: ruled_out.map(Stated::Fact),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::search::plan::tests_plan;
    use crate::terms::Ratio;

    #[test]
    fn a_request_waits_the_longer_for_a_thread_the_nearer_the_rate_is_to_the_most() {
        let mut ledger = Ledger::new(tests_plan());
        let at = ledger.plan.current;
        let (quantile, limit) = (Ratio::new(0.95).unwrap(), Duration::from_millis(200));
        ledger.alone = Some(Alone {
            latency_mean_s: 0.01,
            cpu_per_request_s: Some(0.01),
            sizes: None,
            replies: 1000,
            limit: QuantileLimit { quantile, limit },
        });
        let cell = ledger.cell_mut(at);
        (cell.burst_rps, cell.saturated_rps) = (Some(100.0), Some(100.0));
        (cell.burst_replies, cell.cpu_per_request_s) = (1000, Some(0.01));
        let expectations = Expectations::of(&ledger).unwrap();
        let waits_s = |rate_rps| expectations.queue_s(at, rate_rps);
        let [seldom, often] = [50.0, 80.0].map(|rate_rps| waits_s(rate_rps).unwrap());
        assert!(seldom > 0.0 && often > 2.0 * seldom, "{seldom} {often}");
        assert_eq!(waits_s(200.0), None);
    }
}
