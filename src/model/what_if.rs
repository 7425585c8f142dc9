//! What a server that was measured would do elsewhere: on other cores, with other settings, or when
//! what it waits for takes longer.

use super::simulator::{Admission, Lock, RequestKind, Server};
use super::{
    Correction, Demand, Fit, Form, Host, MemoryModel, Scalability, Sizes, capacity,
    closed_throughput, event_loop, limit, mix, open_latency,
};
use crate::stats::{Estimate, normal};
use crate::terms::{
    Configuration, LimitKind, OPERATING_SHARE, OtherRequests, PredictedLatency, QuantileLimit, Wait,
};

/// What is known of a server from one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub fit: Fit,
    pub form: Form,
    /// Of saturated throughput, and of capacity: measured over modelled.
    pub throughput_correction: Correction,
    pub capacity_correction: Correction,
    pub memory: Option<MemoryModel>,
    /// As the server's runtime has it.
    pub lock: Lock,
    /// Of workers with one thread, and with several.
    pub admission: [Admission; 2],
    /// The goal that capacities were measured within; `None` when none was settled.
    pub goal: Option<QuantileLimit>,
    /// Of a server that is not known: what it held as a share of what went through.
    pub held_share: f64,
    /// How requests that met nobody differed; `None` when no trial had one client alone.
    pub sizes: Option<Sizes>,
    /// Cores that the server had.
    pub cores: f64,
    /// The smallest and the largest number that was measured.
    pub workers: [u16; 2],
    pub threads: [u16; 2],
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    pub cores: f64,
    pub wait: Wait,
    /// Kinds of requests besides those that were measured; together at most all of them.
    pub others: Vec<OtherRequests>,
    /// The load generator takes its part of the cores, as when it was measured.
    pub has_generator: bool,
    pub goal: QuantileLimit,
    /// Capacity and latency are found by playing requests instead of by formulas.
    pub is_played: bool,
    /// How long a thread may keep the lock while others want it, seconds; `None`: as ever. Counts
    /// only when requests are played.
    pub quantum_s: Option<f64>,
    /// Requests/s at which latency is told; `None`: at 70 % of the capacity.
    pub rate: Option<f64>,
}

impl WhatIf {
    /// Nothing is otherwise than it was measured, on `cores`.
    pub fn as_measured(cores: f64, goal: QuantileLimit) -> Self {
        Self {
            cores,
            wait: Wait::Times(1.0),
            others: Vec::new(),
            has_generator: true,
            goal,
            is_played: false,
            quantum_s: None,
            rate: None,
        }
    }

    /// Requests are as they were measured.
    fn is_same_request(&self) -> bool {
        self.wait == Wait::Times(1.0) && self.others.is_empty() && self.quantum_s.is_none()
    }
}

/// What is expected of one configuration. Intervals of 95 %.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Of a saturating closed load; `None` when it is 0.
    pub throughput_rps: Option<Estimate>,
    /// Within the goal; `None` when nothing is.
    pub capacity_rps: Option<Estimate>,
    /// At the rate that is asked about; `None` when it cannot keep up.
    pub latency: Option<PredictedLatency>,
    /// Latency of the requests that were measured alone, when others were added.
    pub latency_of_measured: Option<PredictedLatency>,
    pub limit: LimitKind,
    pub memory_bytes: Option<u64>,
    /// How far it lies outside what was measured: a factor of e counts as 1.
    pub distance: f64,
}

const LEVEL: f64 = 0.95;

/// Added standard deviation of the logarithm for each factor of e outside what was measured: the
/// formulas were never checked there on this server.
const FAR_SD: f64 = 0.10;

/// The least, and for each factor of e outside what was measured, of a curve without a mechanism.
const CURVE_SD: f64 = 0.08;
const CURVE_FAR_SD: f64 = 0.3;

/// Requests that are played at each rate: of a 99th percentile 300 lie beyond it.
const PLAYED: f64 = 30_000.0;

/// Waits of a request, when nothing is known of their number.
const WAITS: u16 = 3;

impl Measured {
    /// What would become of one configuration.
    pub fn expect(&self, configuration: Configuration, what_if: &WhatIf) -> Expected {
        match self.curve(what_if) {
            Some(curve) => self.along(curve, configuration, what_if),
            None => self.by_mechanism(configuration, what_if),
        }
    }

    /// The curve of a server that is not known, where it has an answer: it knows nothing of what a
    /// request does, nor of other goals, nor of cores without the load generator that took a part
    /// of them; and where requests are to be played, it is not asked.
    fn curve(&self, what_if: &WhatIf) -> Option<&Scalability> {
        let Form::Unknown(Some(curve)) = &self.form else { return None };
        let is_same_load = what_if.has_generator || self.fit.demand.generator_s <= 0.0;
        let is_asked = what_if.is_same_request() && is_same_load && !what_if.is_played;
        (is_asked && self.goal == Some(what_if.goal)).then_some(curve)
    }

    /// What is expected of a server that is not known follows the curve through what was measured.
    pub fn follows_curve(&self, what_if: &WhatIf) -> bool {
        self.curve(what_if).is_some()
    }

    /// By what a rate is divided before it is computed or simulated, since this many times as much
    /// is `expected`.
    pub(super) fn correction(
        &self,
        configuration: Configuration,
        what_if: &WhatIf,
        expected: &Estimate,
    ) -> f64 {
        let factor = self.factor(configuration, what_if);
        if self.curve(what_if).is_none() {
            return factor;
        }
        // This figure has the factor in it; what is simulated has not.
        let mechanism = self.by_mechanism(configuration, what_if).capacity_rps;
        mechanism.map_or(1.0, |it| factor * expected.value / it.value)
    }

    /// What was held over what was computed, of its like.
    fn factor(&self, configuration: Configuration, what_if: &WhatIf) -> f64 {
        // Queues of the workers' own are simulated, and unknown to the formulas: that is in what
        // they are corrected by.
        if what_if.is_played && self.admission_of(configuration).has_own_queues() {
            return 1.0;
        }
        self.capacity_correction.factor(self.alike(configuration, what_if.cores))
    }

    fn admission_of(&self, configuration: Configuration) -> Admission {
        self.admission[usize::from(configuration.threads.get() > 1)]
    }

    /// What the curve says: of as many threads for each core as were measured, in proportion to the
    /// cores. It knows of no latency and of no limit.
    fn along(&self, curve: &Scalability, at: Configuration, what_if: &WhatIf) -> Expected {
        let distance = self.distance(at, what_if.cores);
        let cores = what_if.cores / self.cores;
        let threads = (f64::from(at.slots()) / cores).max(1.0);
        let rps = cores * curve.rps(threads);
        let sd = (curve.misfit.max(CURVE_SD).powi(2) + (CURVE_FAR_SD * distance).powi(2)).sqrt();
        let half = normal::quantile(0.5 + 0.5 * LEVEL) * sd;
        let one = Estimate::around(0.0, half, self.fit.residuals.len() as u64).exp();
        Expected {
            throughput_rps: Some(one.times(rps)),
            capacity_rps: Some(one.times(rps * self.held_share)),
            latency: None,
            latency_of_measured: None,
            limit: LimitKind::Unknown,
            memory_bytes: self.memory.as_ref().map(|memory| memory.predict(at)),
            distance,
        }
    }

    fn by_mechanism(&self, configuration: Configuration, what_if: &WhatIf) -> Expected {
        let distance = self.distance(configuration, what_if.cores);
        let predict = |figure: &dyn Fn(&Demand) -> f64| {
            let changed = |fitted: &Demand| figure(&changed(fitted, what_if));
            self.fit.predict(LEVEL, FAR_SD * distance, changed)
        };
        let demand = changed(&self.fit.demand, what_if);
        let places = self.form.places(configuration, &demand);
        let cores = what_if.cores;
        let throughput = predict(&|demand| {
            closed_throughput(&self.form.computed(configuration, demand).0, places, cores)
        });
        let goal = what_if.goal;
        let (quantile, limit_s) = (goal.quantile.get(), goal.limit.as_secs_f64());
        let held = predict(&|demand| {
            let (demand, less_s) = self.form.computed(configuration, demand);
            capacity(&demand, places, cores, quantile, limit_s - less_s)
        });
        let played = what_if.is_played.then(|| self.machine(configuration, what_if));
        let held = match &played {
            None => held,
            // As unsure as what the formulas say; of what they know nothing of, as its throughput.
            Some(machine) => held.or(throughput).and_then(|guess| {
                let found = machine.capacity(guess.value, quantile, limit_s, PLAYED);
                (found > 0.0).then(|| guess.times(found / guess.value))
            }),
        };
        let alike = self.alike(configuration, cores);
        let corrected = self.throughput_correction.factor(alike);
        let throughput_rps = throughput.map(|it| it.times(corrected));
        let factor = self.factor(configuration, what_if);
        let capacity_rps = held.map(|it| it.times(factor));
        let rate = what_if.rate.or(capacity_rps.map(|it| OPERATING_SHARE * it.value));
        let latency = rate.and_then(|rate| {
            // A server that holds less than the formulas say waits as they do at a higher rate.
            let at = rate / factor;
            let (all, measured) = match &played {
                Some(machine) => machine.latency(at, PLAYED)?,
                None => {
                    let (demand, less_s) = self.form.computed(configuration, &demand);
                    (open_latency(&demand, places, cores, at)?.later(less_s), None)
                }
            };
            let asked = |it: PredictedLatency| PredictedLatency { at_rps: rate, ..it };
            Some((asked(all), measured.map(asked)))
        });
        let (latency, of_measured) = latency.unzip();
        Expected {
            throughput_rps,
            capacity_rps,
            latency,
            latency_of_measured: of_measured.flatten().filter(|_| !what_if.others.is_empty()),
            limit: limit(&self.form.computed(configuration, &demand).0, places, cores),
            memory_bytes: self.memory.as_ref().map(|memory| memory.predict(configuration)),
            distance,
        }
    }

    /// One machine as the simulator knows it.
    pub(super) fn machine(&self, at: Configuration, what_if: &WhatIf) -> Host {
        let demand = changed(&self.fit.demand, what_if);
        let places = match self.form {
            Form::EventLoop => event_loop::as_many_threads(at, &demand),
            Form::Threads | Form::Unknown(_) => at,
        };
        // A loop runs each piece to its end, whatever is asked.
        let quantum_s = what_if.quantum_s.filter(|_| self.form != Form::EventLoop);
        let lock = match (self.lock, quantum_s) {
            (lock @ Lock::None, _) | (lock, None) => lock,
            (Lock::Ruby26 { .. }, Some(quantum_s)) => Lock::Ruby26 { quantum_s },
            (Lock::Ruby33 { .. }, Some(quantum_s)) => Lock::Ruby33 { quantum_s },
            (Lock::CPython { .. }, Some(interval_s)) => Lock::CPython { interval_s },
        };
        // The generator takes its part of the cores for every request.
        let cpu_s = demand.server_cpu_s();
        let left = if cpu_s > 0.0 { cpu_s / (cpu_s + demand.generator_s) } else { 1.0 };
        let cores = what_if.cores * left;
        let server = Server::new(places.workers.get(), places.threads.get(), cores);
        // Clients wait for longer than the goal allows, as a session's do.
        let timeout_s = server.timeout_s.max(2.0 * what_if.goal.limit.as_secs_f64());
        Host {
            server: Server { lock, admission: self.admission_of(at), timeout_s, ..server },
            requests: mix::kinds(
                request(&longer(&self.fit.demand.on(at), what_if), self.sizes),
                &what_if.others,
            ),
        }
    }

    /// The configuration on the measured cores that has as many workers for each of them.
    fn alike(&self, configuration: Configuration, cores: f64) -> Configuration {
        let workers = f64::from(configuration.workers.get()) * self.cores / cores;
        let workers = (workers.round() as u16).max(1);
        Configuration::new(workers, configuration.threads.get()).unwrap_or(configuration)
    }

    /// How far a configuration on so many cores lies outside what was measured: a factor of e
    /// counts as 1.
    pub fn distance(&self, configuration: Configuration, cores: f64) -> f64 {
        let of_cores = (cores / self.cores).ln().abs();
        let of_workers = outside(configuration.workers.get(), self.workers);
        let of_threads = match self.form {
            Form::Threads | Form::Unknown(_) => outside(configuration.threads.get(), self.threads),
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

/// A request as fitted, with what is asked in place of what was measured, the mean of the mix.
fn changed(fitted: &Demand, what_if: &WhatIf) -> Demand {
    mix::mixed(&longer(fitted, what_if), &what_if.others)
}

/// What a request costs with the changes asked for, without what else is in the mix.
fn longer(fitted: &Demand, what_if: &WhatIf) -> Demand {
    let wait_s = match what_if.wait {
        Wait::Times(factor) => fitted.wait_s * factor,
        Wait::Longer(seconds) => fitted.wait_s + seconds,
        Wait::Of(seconds) => seconds,
    };
    let generator_s = if what_if.has_generator { fitted.generator_s } else { 0.0 };
    Demand { wait_s, generator_s, ..*fitted }
}

/// A request for the simulator: as a whole it varies as was measured of requests that met nobody;
/// where none was, its steps vary so that together they vary as was fitted.
fn request(demand: &Demand, sizes: Option<Sizes>) -> RequestKind {
    let kind = RequestKind {
        weight: 1.0,
        cpu_s: demand.cpu_s,
        cpu_free_s: demand.cpu_free_s,
        wait_s: demand.wait_s,
        waits: WAITS,
        cv2: if sizes.is_some() { 0.0 } else { 1.0 },
        handoff_s: demand.handoff_s,
        sizes,
    };
    if sizes.is_some() {
        return kind;
    }
    let of_unit_steps = kind.demand().cv2.max(1e-6);
    RequestKind { cv2: (demand.cv2 / of_unit_steps).clamp(0.0, 10.0), ..kind }
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
            lock: Lock::Ruby26 { quantum_s: 0.1 },
            admission: [Admission::Random; 2],
            goal: Some(asked(2.0).goal),
            held_share: 0.8,
            sizes: None,
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
        WhatIf::as_measured(cores, goal)
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
        let latency = there.latency.unwrap();
        assert!((latency.at_rps / there_rps.value - OPERATING_SHARE).abs() < 1e-9);
        assert!(latency.p95 < 0.2 && latency.p50 >= 0.015, "{latency:?}");
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
    fn what_is_played_agrees_with_the_formulas_and_knows_the_quantum() {
        let known = measured(Form::Threads);
        let played = WhatIf { is_played: true, ..asked(2.0) };
        let (formulas, simulated) =
            (known.expect(at(2, 5), &asked(2.0)), known.expect(at(2, 5), &played));
        let (formulas, simulated) =
            (formulas.capacity_rps.unwrap().value, simulated.capacity_rps.unwrap().value);
        assert!((simulated / formulas - 1.0).abs() < 0.1, "{simulated} {formulas}");
        // Of one request in twenty that computes for 300 ms the others wait for no more than a
        // quantum.
        let large = OtherRequests { share: Ratio::new(0.05).unwrap(), cpu_s: 0.3, wait_s: 0.0 };
        let p95 = |quantum_s| {
            let rate = Some(40.0);
            let asked = WhatIf { quantum_s, rate, others: vec![large], ..played.clone() };
            known.expect(at(2, 5), &asked).latency_of_measured.unwrap().p95
        };
        assert!(p95(Some(0.01)) < 0.7 * p95(None), "{} {}", p95(Some(0.01)), p95(None));
    }

    #[test]
    fn a_mix_of_which_the_slow_part_is_within_the_quantile_holds_nearly_as_much() {
        let slow = OtherRequests { share: Ratio::new(0.02).unwrap(), cpu_s: 0.005, wait_s: 2.0 };
        let mixed = WhatIf { others: vec![slow], is_played: true, ..asked(2.0) };
        let known = measured(Form::Threads);
        let held = known.expect(at(2, 32), &mixed).capacity_rps.unwrap().value;
        let alone = known.expect(at(2, 32), &asked(2.0)).capacity_rps.unwrap().value;
        assert!((0.6..1.05).contains(&(held / alone)), "{held} of {alone}");
    }

    #[test]
    fn an_event_loop_holds_what_it_can_compute_however_long_it_waits() {
        let known = measured(Form::EventLoop);
        let goal = QuantileLimit { limit: Duration::from_secs(20), ..asked(2.0).goal };
        let slow = WhatIf { wait: Wait::Of(3.0), goal, ..asked(2.0) };
        let expected = known.expect(at(2, 1), &slow);
        assert!(expected.capacity_rps.unwrap().value > 300.0, "{expected:?}");
        assert!(expected.latency.unwrap().p50 > 2.5 && expected.limit != LimitKind::Threads);
    }

    #[test]
    fn a_few_long_waits_take_the_threads_from_all_the_others() {
        let known = measured(Form::Threads);
        let slow = OtherRequests { share: Ratio::new(0.05).unwrap(), cpu_s: 0.005, wait_s: 2.0 };
        let mixed = WhatIf { others: vec![slow], is_played: true, rate: Some(80.0), ..asked(2.0) };
        let alone = WhatIf { others: Vec::new(), ..mixed.clone() };
        let few = known.expect(at(2, 5), &mixed).latency_of_measured.unwrap();
        let many = known.expect(at(2, 30), &mixed).latency_of_measured.unwrap();
        let without = known.expect(at(2, 5), &alone);
        assert_eq!(without.latency_of_measured, None);
        let without = without.latency.unwrap();
        assert!(few.p95 > 5.0 * without.p95, "{few:?} {without:?}");
        assert!(many.p95 < 2.0 * without.p95, "{many:?} {without:?}");
    }

    #[test]
    fn an_unknown_server_goes_on_along_its_own_curve() {
        let law = Scalability { one_rps: 50.0, contention: 0.1, coherency: 0.01, misfit: 0.02 };
        let unknown = measured(Form::Unknown(Some(law)));
        let here = unknown.expect(at(4, 1), &asked(2.0));
        let rps = here.throughput_rps.unwrap();
        assert!((rps.value / law.rps(4.0) - 1.0).abs() < 1e-9, "{rps:?}");
        assert_eq!((here.latency, here.limit), (None, LimitKind::Unknown));
        assert!((here.capacity_rps.unwrap().value / rps.value - 0.8).abs() < 1e-9);
        // Twice the cores and twice the workers do twice as much, and are less sure.
        let there = unknown.expect(at(8, 1), &asked(4.0)).throughput_rps.unwrap();
        assert!((there.value / rps.value - 2.0).abs() < 1e-9);
        assert!(there.relative_half_width() > rps.relative_half_width());
        let slower = WhatIf { wait: Wait::Of(1.0), ..asked(2.0) };
        assert!(unknown.expect(at(4, 1), &slower).throughput_rps.unwrap().value < 5.0);
        let without = measured(Form::Unknown(None)).expect(at(4, 1), &asked(2.0));
        assert!(without.latency.is_some());
    }

    #[test]
    fn an_unknown_server_is_simulated_at_one_rate_whatever_its_mechanism_is_off_by() {
        let law = Scalability { one_rps: 50.0, contention: 0.1, coherency: 0.01, misfit: 0.02 };
        let met = measured(Form::Unknown(Some(law)));
        let capacity_correction = Correction::new([(at(2, 5), 0.5)]);
        let missed = Measured { capacity_correction, ..met.clone() };
        let divided_by = |known: &Measured| {
            let expected = known.expect(at(2, 5), &asked(2.0)).capacity_rps.unwrap();
            known.correction(at(2, 5), &asked(2.0), &expected)
        };
        let (met, missed) = (divided_by(&met), divided_by(&missed));
        assert!((missed / met - 1.0).abs() < 1e-9, "{missed}, not {met}");
    }

    #[test]
    fn an_unknown_server_leaves_its_curve_for_what_the_curve_knows_nothing_of() {
        let law = Scalability { one_rps: 50.0, contention: 0.1, coherency: 0.01, misfit: 0.02 };
        let mut unknown = measured(Form::Unknown(Some(law)));
        let alone = WhatIf { has_generator: false, ..asked(2.0) };
        assert!(unknown.follows_curve(&alone), "there was none beside it");
        unknown.fit.demand.generator_s = 0.002;
        let here = unknown.expect(at(4, 1), &asked(2.0)).throughput_rps.unwrap();
        assert!((here.value / law.rps(4.0) - 1.0).abs() < 1e-9, "{here:?}");
        let mechanism = Measured { form: Form::Unknown(None), ..unknown.clone() };
        let played = WhatIf { is_played: true, ..asked(2.0) };
        for asked in [alone, played] {
            let expected = unknown.expect(at(4, 1), &asked);
            assert_eq!(expected, mechanism.expect(at(4, 1), &asked));
            assert!(expected.latency.is_some() && expected.throughput_rps != Some(here));
        }
    }

    #[test]
    fn simulated_clients_wait_for_longer_than_the_goal_allows() {
        let known = measured(Form::Threads);
        let goal = QuantileLimit { limit: Duration::from_secs(20), ..asked(2.0).goal };
        let slow = WhatIf { wait: Wait::Of(12.0), goal, ..asked(2.0) };
        let played = known.machine(at(2, 40), &slow).play(2.0, 500.0);
        let (failed, p95_s) = (played.all.failed_share(), played.all.quantile_s(0.95));
        assert!(failed < 0.01 && p95_s > 10.0, "{failed} {p95_s}");
        let usual = known.machine(at(2, 40), &asked(2.0)).server.timeout_s;
        assert_eq!(usual, 10.0, "of a short goal");
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
