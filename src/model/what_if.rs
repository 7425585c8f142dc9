//! What a server that was measured would do elsewhere: on other cores, with other settings, or when
//! what it waits for takes longer.

use super::{
    Correction, Demand, Fit, MemoryModel, OpenLatency, capacity, closed_throughput, limit,
    open_latency,
};
use crate::stats::Estimate;
use crate::terms::{Configuration, LimitKind, OPERATING_SHARE, QuantileLimit, Wait};

/// How a worker takes requests in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One a thread.
    Threads,
    /// An event loop: as many as come, while the one that computes holds the others up.
    EventLoop,
}

/// What is known of a server from one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub fit: Fit,
    pub form: Form,
    /// Of saturated throughput, and of capacity: measured over modelled.
    pub throughput_correction: Correction,
    pub capacity_correction: Correction,
    pub memory: Option<MemoryModel>,
    /// Cores that the server had.
    pub cores: f64,
    /// The smallest and the largest number that was measured.
    pub workers: [u16; 2],
    pub threads: [u16; 2],
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WhatIf {
    pub cores: f64,
    pub wait: Wait,
    /// The load generator takes its part of the cores, as when it was measured.
    pub has_generator: bool,
    pub goal: QuantileLimit,
    /// Requests/s at which latency is told; `None`: at 70 % of the capacity.
    pub rate: Option<f64>,
}

/// What is expected of one configuration. Intervals of 95 %.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Of a saturating closed load; `None` when it is 0.
    pub throughput_rps: Option<Estimate>,
    /// Within the goal; `None` when nothing is.
    pub capacity_rps: Option<Estimate>,
    /// The rate and the latency at it; `None` when it cannot keep up.
    pub latency: Option<(f64, OpenLatency)>,
    pub limit: LimitKind,
    pub memory_bytes: Option<u64>,
    /// How far it lies outside what was measured: a factor of e counts as 1.
    pub distance: f64,
}

const LEVEL: f64 = 0.95;

/// Added standard deviation of the logarithm for each factor of e outside what was measured: the
/// formulas were never checked there on this server.
const FAR_SD: f64 = 0.10;

/// An event loop never has fewer places than this, nor are more computed with.
const PLACES: [f64; 2] = [16.0, 256.0];

impl Measured {
    /// What would become of one configuration.
    pub fn expect(&self, configuration: Configuration, what_if: &WhatIf) -> Expected {
        let distance = self.distance(configuration, what_if.cores);
        let predict = |figure: &dyn Fn(&Demand) -> f64| {
            let changed = |fitted: &Demand| figure(&changed(fitted, what_if));
            self.fit.predict(LEVEL, FAR_SD * distance, changed)
        };
        let places = self.places(configuration, what_if);
        let cores = what_if.cores;
        let throughput = predict(&|demand| closed_throughput(demand, places, cores));
        let goal = what_if.goal;
        let held = predict(&|demand| {
            capacity(demand, places, cores, goal.quantile.get(), goal.limit.as_secs_f64())
        });
        let alike = self.alike(configuration, cores);
        let throughput_rps = times(throughput, self.throughput_correction.factor(alike));
        let factor = self.capacity_correction.factor(alike);
        let capacity_rps = times(held, factor);
        let rate = what_if.rate.or(capacity_rps.map(|it| OPERATING_SHARE * it.value));
        let demand = self.demand(what_if);
        let latency = rate.and_then(|rate| {
            // A server that holds less than the formulas say waits as they do at a higher rate.
            Some((rate, open_latency(&demand, places, cores, rate / factor)?))
        });
        Expected {
            throughput_rps,
            capacity_rps,
            latency,
            limit: limit(&demand, places, cores),
            memory_bytes: self.memory.as_ref().map(|memory| memory.predict(configuration)),
            distance,
        }
    }

    /// The request that is asked about.
    pub(super) fn demand(&self, what_if: &WhatIf) -> Demand {
        changed(&self.fit.demand, what_if)
    }

    /// The configuration as the formulas know it: an event loop has as many threads as may be of
    /// use.
    pub(super) fn places(&self, configuration: Configuration, what_if: &WhatIf) -> Configuration {
        match self.form {
            Form::Threads => configuration,
            Form::EventLoop => {
                let demand = self.demand(what_if);
                let held = demand.unloaded_latency_s() / demand.server_cpu_s().max(1e-9);
                let places = (3.0 * held).ceil().clamp(PLACES[0], PLACES[1]) as u16;
                let workers = configuration.workers.get();
                Configuration::new(workers, places).unwrap_or(configuration)
            }
        }
    }

    /// The configuration on the measured cores that has as many workers for each of them.
    fn alike(&self, configuration: Configuration, cores: f64) -> Configuration {
        let workers = f64::from(configuration.workers.get()) * self.cores / cores;
        let workers = (workers.round() as u16).max(1);
        Configuration::new(workers, configuration.threads.get()).unwrap_or(configuration)
    }

    fn distance(&self, configuration: Configuration, cores: f64) -> f64 {
        let of_cores = (cores / self.cores).ln().abs();
        let of_workers = outside(configuration.workers.get(), self.workers);
        let of_threads = match self.form {
            Form::Threads => outside(configuration.threads.get(), self.threads),
            Form::EventLoop => 0.0,
        };
        // More cores go with more workers: that is one step and not two.
        of_cores.max(of_workers) + of_threads
    }
}

fn outside(count: u16, [least, most]: [u16; 2]) -> f64 {
    let (count, least, most) = (f64::from(count), f64::from(least), f64::from(most));
    (count / most).ln().max((least / count).ln()).max(0.0)
}

/// A request as fitted, with what is asked in place of what was measured.
fn changed(fitted: &Demand, what_if: &WhatIf) -> Demand {
    let wait_s = match what_if.wait {
        Wait::Times(factor) => fitted.wait_s * factor,
        Wait::Longer(seconds) => fitted.wait_s + seconds,
        Wait::Of(seconds) => seconds,
    };
    let generator_s = if what_if.has_generator { fitted.generator_s } else { 0.0 };
    Demand { wait_s, generator_s, ..*fitted }
}

fn times(estimate: Option<Estimate>, factor: f64) -> Option<Estimate> {
    estimate.map(|it| Estimate {
        value: it.value * factor,
        low: it.low * factor,
        high: it.high * factor,
        count: it.count,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::Observation;
    use crate::terms::Ratio;

    fn at(workers: u16, threads: u16) -> Configuration {
        Configuration::new(workers, threads).unwrap()
    }

    /// Two cores, 1..4 workers and 1..5 threads measured; 5 ms of CPU and 15 ms of waiting.
    pub fn measured(form: Form) -> Measured {
        let truth = Demand { cpu_s: 0.005, wait_s: 0.015, ..Demand::default() };
        let observations: Vec<Observation> = [(1, 1), (1, 5), (2, 5), (4, 1)]
            .into_iter()
            .map(|(workers, threads)| Observation {
                saturated_rps: Some(closed_throughput(&truth, at(workers, threads), 2.0)),
                cpu_per_request_s: Some(0.005),
                unloaded_latency_s: Some(0.020),
                ..Observation::of(at(workers, threads))
            })
            .collect();
        Measured {
            fit: Fit::to(&observations, 2.0).unwrap(),
            form,
            throughput_correction: Correction::default(),
            capacity_correction: Correction::default(),
            memory: None,
            cores: 2.0,
            workers: [1, 4],
            threads: [1, 5],
        }
    }

    pub fn asked(cores: f64) -> WhatIf {
        let goal = QuantileLimit {
            quantile: Ratio::new(0.95).unwrap(),
            limit: Duration::from_millis(200),
        };
        WhatIf { cores, wait: Wait::Times(1.0), has_generator: true, goal, rate: None }
    }

    #[test]
    fn more_cores_hold_more_and_are_less_sure() {
        let measured = measured(Form::Threads);
        let here = measured.expect(at(2, 5), &asked(2.0));
        let there = measured.expect(at(8, 5), &asked(8.0));
        let (here_rps, there_rps) = (here.capacity_rps.unwrap(), there.capacity_rps.unwrap());
        assert!((3.5..4.6).contains(&(there_rps.value / here_rps.value)), "{there_rps:?}");
        assert!(there_rps.relative_half_width() > here_rps.relative_half_width());
        assert_eq!(here.distance, 0.0);
        assert!((there.distance - 4f64.ln()).abs() < 1e-9);
        let (rate, latency) = there.latency.unwrap();
        assert!((rate / there_rps.value - OPERATING_SHARE).abs() < 1e-9);
        assert!(latency.p95_s < 0.2 && latency.p50_s >= 0.015, "{latency:?}");
    }

    #[test]
    fn longer_waits_ask_for_more_threads() {
        let measured = measured(Form::Threads);
        let slow = WhatIf { wait: Wait::Of(0.15), ..asked(2.0) };
        let few = measured.expect(at(2, 5), &slow);
        let many = measured.expect(at(2, 40), &slow);
        assert_eq!(few.limit, LimitKind::Threads);
        assert!(many.throughput_rps.unwrap().value > 3.0 * few.throughput_rps.unwrap().value);
        let longer = WhatIf { wait: Wait::Longer(0.135), ..asked(2.0) };
        let same = measured.expect(at(2, 5), &longer).throughput_rps.unwrap().value;
        assert!((same / few.throughput_rps.unwrap().value - 1.0).abs() < 0.02);
    }

    #[test]
    fn an_event_loop_is_not_held_up_by_waits() {
        let measured = measured(Form::EventLoop);
        let slow = WhatIf { wait: Wait::Of(0.5), ..asked(4.0) };
        let expected = measured.expect(at(2, 1), &slow);
        let throughput = expected.throughput_rps.unwrap().value;
        assert!((320.0..401.0).contains(&throughput), "{throughput}");
        assert_ne!(expected.limit, LimitKind::Threads);
    }

    #[test]
    fn what_cannot_be_kept_up_with_has_no_latency() {
        let measured = measured(Form::Threads);
        let asked = WhatIf { rate: Some(5000.0), ..asked(2.0) };
        assert_eq!(measured.expect(at(2, 5), &asked).latency, None);
        let hopeless = WhatIf { wait: Wait::Of(1.0), rate: None, ..asked };
        let expected = measured.expect(at(2, 5), &hopeless);
        assert_eq!((expected.capacity_rps, expected.latency), (None, None));
    }
}
