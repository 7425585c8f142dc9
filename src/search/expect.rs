//! What the model expects of the grid, fitted anew to what is known so far.

use super::Search;
use super::cell::Cell;
use super::constants::{MODEL_ERROR_LEAST, OWN_SHARE_LEAST};
use crate::model::{self, Correction, Demand, Form, MemoryModel, Observation, closed_throughput};
use crate::terms::{
    Bytes, Configuration, LimitKind, Obstacle, PredictedLimit, Prediction, QuantileLimit, Stated,
};

/// A fitted model with its own record of how wrong it was.
pub(super) struct Expectations {
    demand: Demand,
    cores: f64,
    form: Form,
    memory: Option<MemoryModel>,
    /// The most that was measured with one number of workers, as long as that is the only one:
    /// how much of it they share is not known then.
    same_workers: Option<(u16, u64)>,
    limit: QuantileLimit,
    correction: Correction,
    /// Relative error on the cells measured, at least [`MODEL_ERROR_LEAST`].
    pub error: f64,
}

impl Search {
    /// `None` before anything was saturated.
    pub(super) fn expectations(&self) -> Option<Expectations> {
        let observations = self.observations();
        let demand = model::fit(&observations, self.plan.cores)?;
        let mut expectations = Expectations {
            demand,
            cores: self.plan.cores,
            form: self.plan.form,
            memory: model::memory(&self.memory_points()),
            same_workers: same_workers(&self.memory_points()),
            limit: self.limit?,
            correction: Correction::default(),
            error: MODEL_ERROR_LEAST,
        };
        expectations.error = expectations.error_on(&observations);
        expectations.correction = expectations.correction_on(self);
        Some(expectations)
    }

    /// What each measured configuration took.
    pub(super) fn memory_points(&self) -> Vec<(Configuration, u64)> {
        let cells = self.cells.iter();
        cells
            .filter_map(|(&configuration, cell)| Some((configuration, cell.memory_bytes?)))
            .collect()
    }

    fn observations(&self) -> Vec<Observation> {
        let latency = self.unloaded.map(|u| u.latency_mean_s);
        let shared = self.plan.generator_shares_cores;
        let unloaded_cpu = self.unloaded.and_then(|u| u.cpu_per_request_s);
        self.cells
            .iter()
            .filter(|(_, cell)| cell.burst_rps.is_some_and(|rps| rps > 0.0))
            .map(|(&configuration, cell)| Observation {
                configuration: self.plan.form.occupied(configuration, cell.burst_clients),
                saturated_rps: cell.saturated_rps,
                cpu_per_request_s: cell.cpu_per_request_s.or(unloaded_cpu),
                unloaded_latency_s: latency,
                worker_busy_cores: cell.worker_busy_cores,
                generator_s: cell.generator_per_request_s.filter(|_| shared),
                ..Observation::of(configuration)
            })
            .collect()
    }
}

fn same_workers(points: &[(Configuration, u64)]) -> Option<(u16, u64)> {
    let workers = points.first()?.0.workers.get();
    let is_only = points.iter().all(|(configuration, _)| configuration.workers.get() == workers);
    let most = points.iter().map(|(_, bytes)| *bytes).max()?;
    is_only.then_some((workers, most))
}

impl Expectations {
    /// Root mean square of the relative error over the saturated trials.
    fn error_on(&self, observations: &[Observation]) -> f64 {
        let squares: Vec<f64> = observations
            .iter()
            .filter_map(|o| {
                let measured = o.saturated_rps?;
                let modelled = closed_throughput(&self.demand, o.configuration, self.cores);
                Some((modelled / measured).ln().powi(2))
            })
            .collect();
        let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
        mean.sqrt().max(MODEL_ERROR_LEAST)
    }

    /// What it answers when there is always more to do, requests/s.
    pub fn saturated_rps(&self, configuration: Configuration) -> f64 {
        closed_throughput(
            &self.form.computed(configuration, &self.demand).0,
            self.form.places(configuration, &self.demand),
            self.cores,
        )
    }

    /// What the model says, corrected by how wrong it was on what was measured nearby: what it does
    /// not know of, such as a server that waits for more requests on a kept connection, holds for
    /// like numbers of workers and threads.
    pub fn capacity_rps(&self, configuration: Configuration) -> f64 {
        self.modelled_rps(configuration) * self.correction.factor(configuration)
    }

    fn correction_on(&self, search: &Search) -> Correction {
        let measured = search.cells.iter().filter(|(_, cell)| cell.is_open());
        let ratio = |(&configuration, cell): (&Configuration, &Cell)| {
            let (measured, modelled) = (cell.capacity_rps()?, self.modelled_rps(configuration));
            (modelled > 0.0).then(|| (configuration, measured / modelled))
        };
        Correction::new(measured.filter_map(ratio))
    }

    fn modelled_rps(&self, configuration: Configuration) -> f64 {
        let quantile = self.limit.quantile.get();
        let limit_s = self.limit.limit.as_secs_f64();
        let (demand, less_s) = self.form.computed(configuration, &self.demand);
        model::capacity(
            &demand,
            self.form.places(configuration, &self.demand),
            self.cores,
            quantile,
            limit_s - less_s,
        )
    }

    /// Capacity within the goal as a share of what saturation gives; `None` when nothing is
    /// expected.
    pub fn capacity_share(&self, configuration: Configuration) -> Option<f64> {
        let saturated = self.saturated_rps(configuration);
        (saturated > 0.0).then(|| self.modelled_rps(configuration) / saturated)
    }

    pub fn memory_bytes(&self, configuration: Configuration) -> Option<u64> {
        self.memory.as_ref().map(|memory| memory.predict(configuration))
    }

    /// p95 at this rate, seconds; `None` where it cannot keep up.
    pub fn p95_s(&self, configuration: Configuration, rate_rps: f64) -> Option<f64> {
        let (demand, more_s) = self.form.computed(configuration, &self.demand);
        let places = self.form.places(configuration, &self.demand);
        let latency = model::open_latency(&demand, places, self.cores, rate_rps)?;
        Some(latency.p95_s + more_s)
    }

    /// What a request takes of the cores, whatever the configuration.
    pub fn cpu_per_request_s(&self) -> f64 {
        self.demand.cpu_s + self.demand.cpu_free_s
    }

    /// Why it cannot be run here, before trying it.
    pub fn ruled_out(
        &self,
        configuration: Configuration,
        limit: Option<Bytes>,
    ) -> Option<Obstacle> {
        let (expected, limit) = (self.memory_bytes(configuration)?, limit?);
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

    pub fn predictions(&self, search: &Search) -> Vec<Prediction> {
        search.cells.keys().map(|&configuration| self.prediction(search, configuration)).collect()
    }

    fn prediction(&self, search: &Search, configuration: Configuration) -> Prediction {
        let capacity = self.capacity_rps(configuration);
        // Two standard errors either way on the logarithm.
        let spread = (2.0 * self.error).exp();
        let cell = &search.cells[&configuration];
        let ruled_out =
            cell.ruled_out.clone().or_else(|| self.ruled_out(configuration, search.plan.memory));
        let kind: LimitKind = model::limit(
            &self.form.computed(configuration, &self.demand).0,
            self.form.places(configuration, &self.demand),
            self.cores,
        );
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
