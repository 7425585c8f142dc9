//! Latency when requests arrive whatever the server does (Poisson arrivals, one queue, any worker
//! with a free thread takes the next).
//!
//! The server as a birth-death process over n, the requests in it: mu(n) is the closed throughput
//! with n threads busy (flow-equivalent service: Chandy, Herzog and Woo 1975), and stays at mu(W T)
//! beyond.

use statrs::function::gamma::gamma_lr;

use super::Demand;
use super::closed::{Occupied, worker_throughputs};
use crate::terms::{Configuration, PredictedLatency};

/// A rate that crowds a server within so many seconds, with this chance or a larger one, is none
/// that it holds. Ten minutes, as the last part of a session and an hour's peak are some.
const UNCROWDED_S: f64 = 600.0;
const UNCROWDED_CHANCE: f64 = 0.1;

/// Latency from due to the last byte at `rate` (requests/s, Poisson); `None` when the server cannot
/// keep up. At rate 0: unloaded.
pub fn open_latency(
    demand: &Demand,
    configuration: Configuration,
    cores: f64,
    rate: f64,
) -> Option<PredictedLatency> {
    let latency = Flow::new(demand, configuration, cores).at(rate)?;
    Some(PredictedLatency {
        at_rps: rate,
        mean: latency.mean_s(),
        p50: latency.quantile_s(0.5),
        p95: latency.quantile_s(0.95),
        p99: latency.quantile_s(0.99),
    })
}

/// Where the time of a request goes on average at one arrival rate, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stay {
    /// Waiting for a free thread.
    pub queue_s: f64,
    /// In a thread.
    pub service_s: f64,
}

/// At `rate` (requests/s, Poisson); `None` when the server cannot keep up.
pub fn stay(demand: &Demand, configuration: Configuration, cores: f64, rate: f64) -> Option<Stay> {
    let flow = Flow::new(demand, configuration, cores);
    if rate <= 0.0 {
        return Some(Stay { queue_s: 0.0, service_s: flow.demand.unloaded_latency_s() });
    }
    let (service_s, queued) = flow.below_full(rate)?;
    Some(Stay { queue_s: queued.waits * queued.queue_s, service_s })
}

/// What a request waits for in a thread besides the CPU and the lock, seconds, so that a server at
/// `rate` has it in a thread for `service_s` on average; everything else is as in `demand`. `None`
/// where no wait explains it: even without one it would be there for longer, or not keep up.
pub fn wait_that_explains(
    demand: &Demand,
    configuration: Configuration,
    cores: f64,
    rate: f64,
    service_s: f64,
) -> Option<f64> {
    // A server that cannot keep up has them for longer than any.
    let service = |wait_s: f64| {
        let with = Demand { wait_s, ..*demand };
        stay(&with, configuration, cores, rate).map_or(f64::INFINITY, |it| it.service_s)
    };
    if service(0.0) > service_s {
        return None;
    }
    let (mut low, mut high) = (0.0, service_s);
    while high - low > 1e-5 * service_s {
        let middle = 0.5 * (low + high);
        if service(middle) > service_s { high = middle } else { low = middle }
    }
    Some(0.5 * (low + high))
}

/// The highest arrival rate (requests/s, Poisson) at which the `quantile` (0..1) of latency stays
/// below `limit_s`; 0 when not even an unloaded server does.
pub fn capacity(
    demand: &Demand,
    configuration: Configuration,
    cores: f64,
    quantile: f64,
    limit_s: f64,
) -> f64 {
    let flow = Flow::new(demand, configuration, cores);
    let holds =
        |rate: f64| flow.at(rate).is_some_and(|latency| latency.above(limit_s) < 1.0 - quantile);
    if !holds(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, flow.rate_most());
    // A limit as long as an unloaded request may be held by no rate at all, however low.
    let nothing = 1e-6 * high;
    while high - low > 1e-4 * high && high > nothing {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// A configuration's service rates.
struct Flow {
    demand: Demand,
    /// Throughput with n = 1..=W T requests in the server.
    rates: Vec<f64>,
}

impl Flow {
    fn new(demand: &Demand, configuration: Configuration, cores: f64) -> Self {
        let demand = demand.on(configuration);
        let (workers, threads) = (configuration.workers.get(), configuration.threads.get());
        let mut server = Occupied { workers, cores, stretch: 1.0 };
        let spread = Spread::new(&demand, workers, threads);
        let mut highest = 0.0_f64;
        let rates = (1..=configuration.slots())
            .map(|n| {
                let rate = server.throughput(&demand, &spread.occupancy(n as usize), n);
                // Unless they crowd each other, more requests never make a server that works on all
                // of them slower; the fixed point can, by a hair.
                highest = if demand.crowding > 0.0 { rate } else { highest.max(rate) };
                highest
            })
            .collect();
        Self { demand, rates }
    }

    /// At any number of requests.
    fn rate_most(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// With every thread busy.
    fn rate_max(&self) -> f64 {
        self.rates[self.rates.len() - 1]
    }

    /// The stationary birth-death process, N = W T, r = lambda / mu(N):
    ///
    /// ```text
    /// p_n = p_(n-1) lambda / mu(n) up to N, then p_(n-1) r
    /// P(wait) = p_N / (1 - r);  time in service = (sum min(n, N) p_n) / lambda
    /// ```
    fn at(&self, rate: f64) -> Option<Latency> {
        let demand = &self.demand;
        let unloaded_s = demand.unloaded_latency_s();
        if rate <= 0.0 {
            return Some(Latency::new(demand, unloaded_s, None));
        }
        match self.below_full(rate) {
            Some((service_s, queued)) => Some(Latency::new(demand, service_s, Some(queued))),
            None => self.until_crowded(rate),
        }
    }

    /// The mean time in service, and those that queue, at a rate above zero; `None` from the one on
    /// at which all threads are busy all the time.
    fn below_full(&self, rate: f64) -> Option<(f64, Queued)> {
        let full = self.rate_max();
        if rate >= full {
            return None;
        }
        let slots = self.rates.len();
        let (waits, in_service) = self.stationary(rate, slots, 1.0 - rate / full);
        // The queue of a server whose service varies less than an exponential is shorter in this
        // proportion (Allen and Cunneen).
        let queue_s = 0.5 * (1.0 + self.demand.cv2) / (full - rate);
        let full_service_s = slots as f64 / full;
        Some((in_service / rate, Queued { waits, queue_s, full_service_s }))
    }

    /// At a rate that it keeps up with as long as few are in it, though not when all threads are
    /// busy: requests crowd each other. The process above, cut at the largest m with mu(m) above
    /// the rate; beyond, more come than leave. `None` where that happens too often.
    fn until_crowded(&self, rate: f64) -> Option<Latency> {
        let most = self.rates.iter().rposition(|service| *service > rate)? + 1;
        let (crowded, in_service) = self.stationary(rate, most, 1.0);
        let is_kept = rate * crowded * UNCROWDED_S < UNCROWDED_CHANCE;
        is_kept.then(|| Latency::new(&self.demand, in_service / rate, None))
    }

    /// Probability of `most` requests or more, and the mean number in service. `last`: what p_most
    /// is of all states from there on, 1 where there are none beyond.
    fn stationary(&self, rate: f64, most: usize, last: f64) -> (f64, f64) {
        let (mut mass, mut sum, mut in_service, mut at_most) = (1.0, 1.0, 0.0, 0.0);
        for (i, service) in self.rates[..most].iter().enumerate() {
            mass *= rate / service;
            at_most = if i + 1 == most { mass / last } else { mass };
            sum += at_most;
            in_service += at_most * (i + 1) as f64;
            if sum > 1e200 {
                let factor = 1.0 / sum;
                (mass, sum) = (mass * factor, 1.0);
                (in_service, at_most) = (in_service * factor, at_most * factor);
            }
        }
        (at_most / sum, in_service / sum)
    }
}

/// How n requests spread over the workers when each went to any worker with a free thread.
///
/// Product form (Jackson 1963; Gordon and Newell 1967), x being a worker's throughput:
///
/// ```text
/// P(k_1..k_W) ~ f(k_1) ... f(k_W),  f(k) = 1 / (x(1) ... x(k)), 0 beyond T
/// P_n(k)      ~ f(k) G(n - k),      G the convolution of the other workers' f
/// ```
///
/// A worker that has got behind stays behind: with many threads this is far from an even spread.
struct Spread {
    /// Logarithms of f(0..=T).
    one: Vec<f64>,
    /// Logarithms of G(0..=(W-1) T).
    others: Vec<f64>,
}

impl Spread {
    fn new(demand: &Demand, workers: u16, threads: u16) -> Self {
        let rates = worker_throughputs(demand, usize::from(threads), 1.0);
        let full = rates[rates.len() - 1];
        let mut one = vec![0.0];
        for rate in &rates[1..] {
            one.push(one[one.len() - 1] + (full / rate).ln());
        }
        let mut others = vec![0.0];
        for _ in 1..workers {
            others = convolve(&others, &one);
        }
        Self { one, others }
    }

    /// Probability that a worker has k = 0..=T of `n` requests.
    fn occupancy(&self, n: usize) -> Vec<f64> {
        let log = |k: usize| match n.checked_sub(k).and_then(|rest| self.others.get(rest)) {
            Some(rest) => self.one[k] + rest,
            None => f64::NEG_INFINITY,
        };
        let logs: Vec<f64> = (0..self.one.len()).map(log).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }
}

/// Convolution of two sequences given and returned as logarithms: the terms span hundreds of powers
/// of ten.
fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    (0..a.len() + b.len() - 1)
        .map(|n| {
            let from = n.saturating_sub(a.len() - 1);
            let terms = || (from..=n.min(b.len() - 1)).map(|k| b[k] + a[n - k]);
            let largest = terms().fold(f64::NEG_INFINITY, f64::max);
            largest + terms().map(|log| (log - largest).exp()).sum::<f64>().ln()
        })
        .collect()
}

/// Those that find every thread busy.
#[derive(Debug, Clone, Copy)]
struct Queued {
    /// Probability.
    waits: f64,
    /// Mean wait of those that wait, exponential; seconds.
    queue_s: f64,
    /// Mean time in service when every thread is busy, seconds.
    full_service_s: f64,
}

/// A latency distribution: time in service is a gamma variable; those that queue add an exponential
/// and are served at full occupancy.
struct Latency {
    at_once: Service,
    queued: Option<(Queued, Service)>,
}

impl Latency {
    fn new(demand: &Demand, service_s: f64, queued: Option<Queued>) -> Self {
        let Some(queued) = queued else {
            return Self { at_once: Service::new(demand, service_s), queued: None };
        };
        // The mean over both kinds is what Little's law gave; those that don't queue have the rest.
        let rest_s = service_s - queued.waits * queued.full_service_s;
        let at_once_s = (rest_s / (1.0 - queued.waits)).max(demand.unloaded_latency_s());
        Self {
            at_once: Service::new(demand, at_once_s),
            queued: Some((queued, Service::new(demand, queued.full_service_s))),
        }
    }

    fn mean_s(&self) -> f64 {
        match &self.queued {
            None => self.at_once.mean_s,
            Some((queued, service)) => {
                (1.0 - queued.waits) * self.at_once.mean_s
                    + queued.waits * (queued.queue_s + service.mean_s)
            }
        }
    }

    /// P(latency > t).
    fn above(&self, t: f64) -> f64 {
        match &self.queued {
            None => self.at_once.above(t),
            Some((queued, service)) => {
                (1.0 - queued.waits) * self.at_once.above(t)
                    + queued.waits * service.above_after_queue(t, queued.queue_s)
            }
        }
    }

    fn quantile_s(&self, q: f64) -> f64 {
        let mut high = self.mean_s().max(1e-9);
        while self.above(high) > 1.0 - q && high < 1e9 {
            high *= 2.0;
        }
        let mut low = 0.0;
        while high - low > 1e-6 * high && high > 1e-12 {
            let middle = 0.5 * (low + high);
            if self.above(middle) > 1.0 - q { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// Time in service: that of small requests, of larger ones, and so on, each with its share.
struct Service {
    mean_s: f64,
    parts: Vec<(f64, Gamma)>,
}

impl Service {
    /// Variance: the unloaded request's own, and that of the delay among others, taken as
    /// exponential: `cv2 R0^2 + (R - R0)^2`. Where sizes are known, one of size s (the mean being
    /// 1) is delayed s times as long, by so many delays.
    fn new(demand: &Demand, mean_s: f64) -> Self {
        let unloaded_s = demand.unloaded_latency_s();
        let delay_s = (mean_s - unloaded_s).max(0.0);
        let parts = match demand.sizes {
            None => {
                let variance = demand.cv2 * unloaded_s.powi(2) + delay_s.powi(2);
                vec![(1.0, Gamma::new(mean_s, variance))]
            }
            Some(sizes) => {
                let part = |(share, size, spread): (f64, f64, f64)| {
                    let variance = spread * mean_s.powi(2) + size * delay_s.powi(2);
                    (share, Gamma::new(size * mean_s, variance))
                };
                sizes.parts().map(part).collect()
            }
        };
        Self { mean_s, parts }
    }

    fn above(&self, t: f64) -> f64 {
        self.parts.iter().map(|(share, part)| share * part.above(t)).sum()
    }

    fn above_after_queue(&self, t: f64, queue_s: f64) -> f64 {
        self.parts.iter().map(|(share, part)| share * part.above_after_queue(t, queue_s)).sum()
    }
}

/// A gamma variable.
struct Gamma {
    mean_s: f64,
    shape: f64,
}

impl Gamma {
    fn new(mean_s: f64, variance: f64) -> Self {
        let mean_s = mean_s.max(1e-12);
        // A coefficient of variation below 2 % is as good as constant, and keeps the shape finite.
        let cv2 = (variance / mean_s.powi(2)).max(4e-4);
        Self { mean_s, shape: 1.0 / cv2 }
    }

    fn above(&self, t: f64) -> f64 {
        if t <= 0.0 { 1.0 } else { 1.0 - gamma_lr(self.shape, t * self.shape / self.mean_s) }
    }

    /// P(V + Q > t), V gamma with shape k and rate b, Q exponential with rate a. For a < b
    ///
    /// ```text
    /// P(V > t) + e^(-a t) (b / (b - a))^k P(k, (b - a) t),  P the regularised incomplete gamma
    /// ```
    ///
    /// else V and Q are taken together as a gamma variable of the same mean and variance.
    fn above_after_queue(&self, t: f64, queue_s: f64) -> f64 {
        if t <= 0.0 {
            return 1.0;
        }
        let (a, b) = (1.0 / queue_s, self.shape / self.mean_s);
        if a < 0.95 * b {
            let log = self.shape * (b / (b - a)).ln() - a * t;
            let tail = log.exp() * gamma_lr(self.shape, (b - a) * t);
            return (self.above(t) + tail).min(1.0);
        }
        let mean_s = self.mean_s + queue_s;
        let variance = self.mean_s.powi(2) / self.shape + queue_s.powi(2);
        Self { mean_s, shape: mean_s.powi(2) / variance }.above(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sizes;
    use crate::model::simulator::{RequestKind, Server, Simulator};
    use crate::model::sizes::tests::with;
    use crate::terms::{Arrivals, Offered, Rate};

    fn at(workers: u16, threads: u16) -> Configuration {
        Configuration::new(workers, threads).unwrap()
    }

    #[test]
    fn more_threads_hold_less_where_requests_crowd_each_other() {
        let demand = Demand { cpu_s: 0.01, wait_s: 0.03, crowding: 0.1, ..Demand::default() };
        let holds = |threads| capacity(&demand, at(1, threads), 4.0, 0.95, 0.4);
        assert!(holds(3) > 1.2 * holds(1) && holds(3) > 1.2 * holds(16), "{}", holds(16));
        // As long as few come at once it keeps up with more than all threads together do.
        let all_busy = Flow::new(&demand, at(1, 64), 4.0).rate_max();
        assert!(holds(64) > 1.5 * all_busy, "{} {all_busy}", holds(64));
        let plain = Demand { crowding: 0.0, ..demand };
        let free = |threads| capacity(&plain, at(1, threads), 4.0, 0.95, 0.4);
        assert!(free(16) > free(3) && free(3) > holds(3));
    }

    /// 20 ms of CPU in five bursts and 20 ms in four waits, all exponential.
    fn even() -> Demand {
        let cv2 = (0.02_f64.powi(2) / 5.0 + 0.02_f64.powi(2) / 4.0) / 0.04_f64.powi(2);
        Demand { cpu_s: 0.02, wait_s: 0.02, cv2, ..Demand::default() }
    }

    #[test]
    fn one_exponential_server_is_m_m_1() {
        let demand = Demand { cpu_s: 0.01, cv2: 1.0, ..Demand::default() };
        for rate in [10.0, 50.0, 90.0] {
            let latency = open_latency(&demand, at(1, 1), 1.0, rate).unwrap();
            let mean = 1.0 / (100.0 - rate);
            assert!((latency.mean / mean - 1.0).abs() < 1e-6);
            assert!((latency.p95 / (mean * 20.0_f64.ln()) - 1.0).abs() < 0.01, "{latency:?}");
        }
        assert_eq!(open_latency(&demand, at(1, 1), 1.0, 100.0), None);
    }

    #[test]
    fn a_wait_and_a_service_that_are_exponential_add_up_exactly() {
        let (service_s, queue_s) = (0.01, 0.03);
        let service = Gamma { mean_s: service_s, shape: 1.0 };
        let (a, b): (f64, f64) = (1.0 / queue_s, 1.0 / service_s);
        for t in [0.005, 0.03, 0.1_f64] {
            let exact = (b * (-a * t).exp() - a * (-b * t).exp()) / (b - a);
            let above = service.above_after_queue(t, queue_s);
            assert!((above - exact).abs() < 1e-9, "{t}: {above}, not {exact}");
        }
    }

    #[test]
    fn an_unloaded_server_takes_what_a_request_takes() {
        let latency = open_latency(&even(), at(2, 3), 2.0, 0.0).unwrap();
        assert!((latency.mean - 0.04).abs() < 1e-12);
        let slow = open_latency(&even(), at(2, 3), 2.0, 1e-6).unwrap();
        assert!((slow.mean - 0.04).abs() < 1e-6);
    }

    #[test]
    fn latency_under_load_agrees_with_an_independent_simulator() {
        // Its mean, p50, p95, p99 in ms at 130/s on four cores; runs of 8000 requests.
        for (workers, threads, simulated) in [
            (4, 3, [56.3, 54.0, 92.7, 111.4]),
            (12, 1, [45.1, 42.7, 76.3, 94.9]),
            (6, 1, [65.7, 58.3, 132.8, 166.6]),
        ] {
            let l = open_latency(&even(), at(workers, threads), 4.0, 130.0).unwrap();
            let ours = [l.mean, l.p50, l.p95, l.p99].map(|s| s * 1e3);
            for (ours_ms, simulated_ms) in ours.iter().zip(simulated) {
                assert!(
                    (ours_ms / simulated_ms - 1.0).abs() < 0.2,
                    "{workers} x {threads}: {ours:?} against {simulated:?}"
                );
            }
        }
    }

    /// Simulated mean and p95 latency, seconds.
    fn simulated(kind: RequestKind, configuration: Configuration, rate: f64) -> (f64, f64) {
        let (workers, threads) = (configuration.workers.get(), configuration.threads.get());
        let server = Server { timeout_s: 1e9, ..Server::new(workers, threads, 2.0) };
        let mut simulator = Simulator::new(server, vec![kind], 1);
        let rate = Rate::per_second(rate).unwrap();
        simulator.begin(Offered::Open { rate, arrivals: Arrivals::Poisson }, 2);
        let mut latencies = Vec::new();
        simulator.run_until(40_000.0 / rate.as_per_second(), &mut |outcome| {
            latencies.push(outcome.ended_s - outcome.due_s);
        });
        latencies.sort_by(f64::total_cmp);
        let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
        (mean, latencies[latencies.len() * 95 / 100])
    }

    #[test]
    fn latency_over_a_grid_agrees_with_the_simulator_here() {
        for (cpu_s, wait_s, waits, cv2) in
            [(0.02, 0.02, 4, 1.0), (0.002, 0.02, 3, 0.3), (0.001, 0.05, 5, 1.0)]
        {
            let kind = RequestKind { cpu_s, wait_s, waits, cv2, ..RequestKind::default() };
            let demand = kind.demand();
            for (workers, threads) in [(1, 1), (1, 5), (2, 3), (4, 1), (4, 4), (2, 16)] {
                for load in [0.5, 0.8] {
                    let configuration = at(workers, threads);
                    let rate = load * Flow::new(&demand, configuration, 2.0).rate_max();
                    let (mean_s, p95_s) = simulated(kind, configuration, rate);
                    let ours = open_latency(&demand, configuration, 2.0, rate).unwrap();
                    let what = format!("{demand:?} {configuration} at {load} of the most");
                    assert!((ours.mean / mean_s - 1.0).abs() < 0.1, "{what}: {ours:?} {mean_s}");
                    assert!((ours.p95 / p95_s - 1.0).abs() < 0.15, "{what}: {ours:?} {p95_s}");
                }
            }
        }
    }

    #[test]
    fn a_few_large_requests_among_small_ones_are_told_from_ones_that_all_vary() {
        // 96 of 100 take half of the mean or less.
        let quantile = |share: f64| if share < 0.96 { 0.5 * share } else { 10.0 };
        let sizes = Sizes::of(&with(quantile));
        let kind = RequestKind {
            cpu_s: 0.01,
            wait_s: 0.02,
            waits: 3,
            cv2: 0.0,
            sizes,
            ..RequestKind::default()
        };
        let demand = Demand { sizes, ..kind.demand() };
        for (workers, threads) in [(2, 8), (4, 4)] {
            let configuration = at(workers, threads);
            let rate = 0.5 * Flow::new(&demand, configuration, 2.0).rate_max();
            let (_, p95_s) = simulated(kind, configuration, rate);
            let ours = open_latency(&demand, configuration, 2.0, rate).unwrap().p95;
            let by_variation = Demand { sizes: None, ..demand };
            let plain = open_latency(&by_variation, configuration, 2.0, rate).unwrap().p95;
            let off = |p95: f64| (p95 / p95_s).ln().abs();
            assert!(off(ours) < 0.3 && off(ours) < 0.5 * off(plain), "{ours} {plain} {p95_s}");
        }
    }

    #[test]
    fn capacity_is_where_the_quantile_meets_the_limit() {
        let (demand, configuration) = (even(), at(2, 3));
        let rate = capacity(&demand, configuration, 2.0, 0.95, 0.2);
        let p95 = open_latency(&demand, configuration, 2.0, rate).unwrap().p95;
        assert!((p95 / 0.2 - 1.0).abs() < 0.01, "{p95} at {rate}");
        assert_eq!(capacity(&demand, configuration, 2.0, 0.95, 0.01), 0.0);
        let loose = capacity(&demand, configuration, 2.0, 0.95, 1e3);
        let saturated = crate::model::closed_throughput(&demand, configuration, 2.0);
        assert!((loose / saturated - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_limit_as_long_as_a_request_is_held_at_every_rate_or_at_none() {
        let demand = Demand { cpu_s: 0.01, wait_s: 0.03, cv2: 0.0, ..Demand::default() };
        let unloaded_s = demand.unloaded_latency_s();
        for ulps in -4_i64..=4 {
            let limit_s = f64::from_bits(unloaded_s.to_bits().wrapping_add_signed(ulps));
            for (workers, threads) in [(1, 1), (2, 3), (4, 8)] {
                let rate = capacity(&demand, at(workers, threads), 2.0, 0.95, limit_s);
                assert!(rate >= 0.0 && rate.is_finite(), "{rate}");
            }
        }
        let nothing = Demand { cpu_s: 0.0, wait_s: 0.0, ..demand };
        assert!(Latency::new(&nothing, 0.0, None).quantile_s(0.95) < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn quantiles_are_in_order_and_grow_with_the_rate(
            cpu_ms in 0.1..30.0_f64, wait_ms in 0.0..100.0_f64, cv2 in 0.0..2.0_f64,
            workers in 1_u16..6, threads in 1_u16..9, cores in 1_u16..5, share in 0.05..0.85_f64,
        ) {
            let demand =
                Demand { cpu_s: cpu_ms / 1e3, wait_s: wait_ms / 1e3, cv2, ..Demand::default() };
            let flow = Flow::new(&demand, at(workers, threads), f64::from(cores));
            let low = flow.at(share * flow.rate_max()).unwrap();
            let high = flow.at((share + 0.1) * flow.rate_max()).unwrap();
            let of = |l: &Latency| [0.5, 0.95, 0.99].map(|q| l.quantile_s(q));
            proptest::prop_assert!(of(&low).windows(2).all(|pair| pair[0] <= pair[1]));
            proptest::prop_assert!(high.mean_s() >= low.mean_s() * (1.0 - 1e-6));
            proptest::prop_assert!(high.quantile_s(0.95) >= low.quantile_s(0.95) * 0.98);
        }
    }
}
