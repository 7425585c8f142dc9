//! Throughput when every thread always has a request to work on.
//!
//! Symbols: S CPU under the lock, h hand-over, N CPU outside the lock, Z wait (all seconds a
//! request), T threads in a worker, W workers, C cores, g the generator's CPU a request.

use super::Demand;
use crate::terms::Configuration;

/// A fixed point counts as found when it moves less than this, relative.
const SETTLED: f64 = 1e-9;
const ROUNDS_MAX: usize = 200;
/// A secant flatter than this, downwards, leads too far away.
const SECANT_FROM: f64 = 0.2;
/// Shorter times than this, in seconds, are taken for this: nothing is free.
const SHORTEST_S: f64 = 1e-9;
/// Contention counts half where threads are elsewhere for this share of a hold. Judgement: small
/// enough that who waits as long as it computes has all but a tenth of it.
const BACK_AT_ONCE: f64 = 0.1;

/// Requests per second that a saturating closed load gets: every thread busy, no think time.
///
/// One worker is a machine repairman (the threads are the machines, the lock repairs); workers
/// share the cores by a fixed point on the stretch of CPU time. At most C / (S + N + g).
pub fn closed_throughput(demand: &Demand, configuration: Configuration, cores: f64) -> f64 {
    let demand = &demand.on(configuration);
    let threads = usize::from(configuration.threads.get());
    let mut all_busy = vec![0.0; threads + 1];
    all_busy[threads] = 1.0;
    let workers = configuration.workers.get();
    Occupied { workers, cores, stretch: 1.0 }.throughput(demand, &all_busy, configuration.slots())
}

/// A server whose threads are occupied to a given degree; remembers the last stretch, so that
/// similar questions settle quickly.
pub(super) struct Occupied {
    pub(super) workers: u16,
    pub(super) cores: f64,
    /// By how much CPU time takes longer since cores are shared; at least 1.
    pub(super) stretch: f64,
}

impl Occupied {
    /// Throughput of all workers with `requests` in them, when each worker has k of them
    /// with probability `occupancy[k]`. The generator runs before the server, which has C - g X
    /// cores.
    pub(super) fn throughput(&mut self, demand: &Demand, occupancy: &[f64], requests: u32) -> f64 {
        let demand = &demand.among(requests);
        let server_s = demand.server_cpu_s().max(SHORTEST_S);
        let limit = self.cores / (server_s + demand.generator_s);
        // One thread a worker: no lock, and the formula is exact.
        let throughput = if occupancy.len() == 2 {
            self.unshared_throughput(demand, requests, limit)
        } else {
            self.shared_throughput(demand, occupancy, requests)
        };
        throughput.min(limit)
    }

    /// `X = f(C - g X)`, by Newton's step for cores that are all busy, where `f(C) = C / (S + N)`.
    fn unshared_throughput(&self, demand: &Demand, requests: u32, limit: f64) -> f64 {
        let server_s = demand.server_cpu_s().max(SHORTEST_S);
        let with = |cores: f64| finite_source(requests, server_s, demand.wait_s, cores);
        let mut throughput = with(self.cores).min(limit);
        if demand.generator_s <= 0.0 {
            return throughput;
        }
        for _ in 0..ROUNDS_MAX {
            let step = (with(self.without_generator(demand, throughput)) - throughput)
                / (1.0 + demand.generator_s / server_s);
            throughput = (throughput + step).clamp(0.0, limit);
            if step.abs() <= SETTLED * throughput {
                break;
            }
        }
        throughput
    }

    /// Cores that the generator leaves to a server with this throughput.
    fn without_generator(&self, demand: &Demand, throughput: f64) -> f64 {
        (self.cores - demand.generator_s * throughput).max(1e-3 * self.cores)
    }

    /// Several threads a worker: the stretch of CPU time, phi, solves
    ///
    /// ```text
    /// phi = 1 / E min(1, c / (1 + m)),   m ~ Binomial(M, p) + Poisson(a)
    /// M   = min(W, n) - 1                others that can run under their locks beside one of n
    /// p   = W U / (M + 1),  U = x S phi  probability that one of them does
    /// a   = W x N phi                    jobs outside locks
    /// c   = C - g W x                    cores
    /// ```
    ///
    /// by secants, and by halves where the right side grows as fast as the left.
    fn shared_throughput(&mut self, demand: &Demand, occupancy: &[f64], requests: u32) -> f64 {
        let workers = f64::from(self.workers);
        let together = f64::from(requests.min(u32::from(self.workers)));
        let mut throughput = 0.0;
        let mut before: Option<(f64, f64)> = None;
        for _ in 0..ROUNDS_MAX {
            let stretch = self.stretch;
            let rates = worker_throughputs(demand, occupancy.len() - 1, stretch);
            let mean = |of: &dyn Fn(f64) -> f64| -> f64 {
                occupancy.iter().zip(&rates).map(|(p, &x)| p * of(x)).sum()
            };
            throughput = workers * mean(&|x| x);
            let locked = mean(&|x| (x * demand.cpu_s * stretch).min(1.0));
            let free = throughput * demand.cpu_free_s * stretch;
            let locked = (workers * locked / together).min(1.0);
            let cores = self.without_generator(demand, throughput);
            let gap = mean_stretch(together as u16 - 1, locked, free, cores) - stretch;
            if gap.abs() <= SETTLED * stretch {
                break;
            }
            let slope = before.map(|(then, gap_then)| (gap - gap_then) / (stretch - then));
            let step =
                slope.filter(|slope| *slope < -SECANT_FROM).map_or(0.5 * gap, |it| -gap / it);
            before = Some((stretch, gap));
            self.stretch = (stretch + step).max(1.0);
        }
        throughput
    }
}

/// Throughput of one worker with k = 0..=`threads` busy threads, when CPU time takes `stretch`
/// times as long.
///
/// Mean value analysis (Reiser and Lavenberg 1980), with the correction for a station that serves
/// first come, first served, and whose holds are not exponential (Reiser 1979); over n = 1..T, Q
/// and U being those of n - 1 and c' the demand's contention as far as it counts:
///
/// ```text
/// R = S + (Q - U)(S + h) + U (S + h) c'      time at the lock
/// x = n / (Z + N + R), at most 1 / (S + h)   throughput
/// Q = x R                                    threads at the lock
/// U = min(1, x (S + h))                      share of time it is held
/// ```
pub(super) fn worker_throughputs(demand: &Demand, threads: usize, stretch: f64) -> Vec<f64> {
    let hold = (demand.cpu_s * stretch).max(SHORTEST_S);
    let passed_on = hold + demand.handoff_s;
    let elsewhere = demand.wait_s + demand.cpu_free_s * stretch;
    let contention = counted(demand.contention, elsewhere, hold);
    let (mut queue, mut busy) = (0.0_f64, 0.0_f64);
    let mut rates = Vec::with_capacity(threads + 1);
    rates.push(0.0);
    for n in 1..=threads {
        let waiting = (queue - busy) * passed_on + busy * passed_on * contention;
        let limit = if n == 1 { 1.0 / hold } else { 1.0 / passed_on };
        let rate = (n as f64 / (elsewhere + hold + waiting)).min(limit);
        queue = n as f64 - rate * elsewhere;
        busy = (rate * passed_on).min(1.0).min(queue);
        rates.push(rate);
    }
    if demand.accept_gap_s > 0.0 && threads > 1 {
        // Where one request alone is done within the gap, no second one is ever taken beside it;
        // else as many are at work as end one within it.
        let most = rates[1].max(1.0 / demand.accept_gap_s);
        rates.iter_mut().for_each(|rate| *rate = rate.min(most));
    }
    rates
}

/// The contention as far as it counts, c' = 1 + (c - 1) Z / (Z + S / 10) where c is above 1.
///
/// c above 1 says that a thread meets long holds more often than short ones, as it comes at any
/// time of them. One that has nothing to do elsewhere comes as the next hold begins, and waits for
/// a mean one; without that, two threads that only compute would get less done than one.
fn counted(contention: f64, elsewhere: f64, hold: f64) -> f64 {
    match contention > 1.0 {
        true => 1.0 + (contention - 1.0) * elsewhere / (elsewhere + BACK_AT_ONCE * hold),
        false => contention,
    }
}

/// M/M/C//n under processor sharing: n sources that each compute S and wait Z in turn, on C cores.
///
/// `p_k ~ p_{k-1} (n - k + 1) S / (Z min(k, C))`, `X = sum p_k min(k, C) / S`. Exact for any
/// distribution of S and Z (processor sharing and delay are insensitive: Baskett, Chandy, Muntz and
/// Palacios 1975).
fn finite_source(sources: u32, cpu_s: f64, wait_s: f64, cores: f64) -> f64 {
    let served = |k: u32| f64::from(k).min(cores);
    if wait_s < SHORTEST_S {
        return served(sources) / cpu_s;
    }
    let (mut weight, mut sum, mut busy) = (1.0, 1.0, 0.0);
    for k in 1..=sources {
        weight *= f64::from(sources - k + 1) * cpu_s / (wait_s * served(k));
        sum += weight;
        busy += weight * served(k);
        if sum > 1e200 {
            (weight, sum, busy) = (weight / sum, 1.0, busy / sum);
        }
    }
    busy / sum / cpu_s
}

/// `1 / E min(1, C / (1 + m))` with m ~ Binomial(`others`, `locked`) + Poisson(`free`): the mean of
/// the *rate* at which a job proceeds decides when it ends.
fn mean_stretch(others: u16, locked: f64, free: f64, cores: f64) -> f64 {
    let binomial = binomial_masses(others, locked.clamp(0.0, 1.0));
    let poisson = poisson_masses(free);
    // Divided once for each m: this is what predicting spends its time on.
    let proceeds = |m: usize| (cores / (1 + m) as f64).min(1.0);
    let shares: Vec<f64> = (0..binomial.len() + poisson.len()).map(proceeds).collect();
    let mut rate = 0.0;
    for (b, p) in binomial.iter().enumerate() {
        for (q, share) in poisson.iter().zip(&shares[b..]) {
            rate += p * q * share;
        }
    }
    1.0 / rate.max(1e-6)
}

/// Of 0..=n, by their ratios from the likeliest on, made to add up to 1: exact at the ends, free of
/// large factorials, and what is too unlikely to count becomes 0.
fn binomial_masses(n: u16, p: f64) -> Vec<f64> {
    let (last, n) = (usize::from(n), f64::from(n));
    let likeliest = (((n + 1.0) * p) as usize).min(last);
    let mut masses = vec![0.0; last + 1];
    masses[likeliest] = 1.0;
    for k in likeliest..last {
        let ratio = (n - k as f64) / (k + 1) as f64 * (p / (1.0 - p));
        masses[k + 1] = masses[k] * ratio;
    }
    for k in (1..=likeliest).rev() {
        let ratio = k as f64 / (n - k as f64 + 1.0) * ((1.0 - p) / p);
        masses[k - 1] = masses[k] * ratio;
    }
    let sum: f64 = masses.iter().sum();
    masses.iter_mut().for_each(|mass| *mass /= sum);
    masses
}

fn poisson_masses(mean: f64) -> Vec<f64> {
    // Beyond 60 the fixed point is at the cores' limit anyway.
    let mean = mean.clamp(0.0, 60.0);
    let mut masses = Vec::with_capacity(64);
    masses.push((-mean).exp());
    let mut left = 1.0 - masses[0];
    while left > 1e-9 && masses.len() < 200 {
        let next = masses[masses.len() - 1] * mean / masses.len() as f64;
        masses.push(next);
        left -= next;
    }
    masses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even() -> Demand {
        Demand { cpu_s: 0.02, wait_s: 0.02, ..Demand::default() }
    }

    fn at(workers: u16, threads: u16) -> Configuration {
        Configuration::new(workers, threads).unwrap()
    }

    /// Masses of a binomial distribution by adding one trial after the other.
    fn added_up(n: u16, p: f64) -> Vec<f64> {
        let mut masses = vec![1.0];
        for _ in 0..n {
            masses.push(0.0);
            for k in (1..masses.len()).rev() {
                masses[k] = masses[k] * (1.0 - p) + masses[k - 1] * p;
            }
            masses[0] *= 1.0 - p;
        }
        masses
    }

    #[test]
    fn binomial_masses_are_those_of_trials_added_one_after_the_other() {
        for n in [0, 1, 2, 7, 63, 511, 5000] {
            for p in [0.0, 1e-300, 1e-12, 1e-3, 0.3, 0.5, 0.97, 1.0 - 1e-9, 1.0] {
                let (masses, expected) = (binomial_masses(n, p), added_up(n, p));
                assert_eq!(masses.len(), expected.len());
                let off = masses.iter().zip(&expected).map(|(a, b)| (a - b).abs());
                let off = off.fold(0.0, f64::max);
                assert!(off < 1e-12, "{n}, {p}: off by {off}");
                let sum: f64 = masses.iter().sum();
                assert!((sum - 1.0).abs() < 1e-12, "{n}, {p}: {sum}");
            }
            assert_eq!(binomial_masses(n, 0.0)[0], 1.0);
            assert_eq!(binomial_masses(n, 1.0)[usize::from(n)], 1.0);
        }
    }

    #[test]
    fn one_worker_is_the_machine_repairman() {
        for (threads, expected) in [(1, 25.0), (2, 40.0), (3, 46.875), (5, 49.847)] {
            let throughput = closed_throughput(&even(), at(1, threads), 99.0);
            assert!((throughput / expected - 1.0).abs() < 1e-4, "{threads}: {throughput}");
        }
    }

    #[test]
    fn workers_on_two_cores_agree_with_the_simulation() {
        // Simulated saturated throughput, S = Z = 20 ms.
        for (workers, threads, simulated) in [
            (1, 3, 46.6),
            (2, 2, 79.7),
            (2, 3, 93.2),
            (2, 5, 99.1),
            (3, 1, 70.2),
            (3, 2, 95.9),
            (3, 3, 99.3),
            (4, 1, 84.5),
            (4, 2, 99.0),
        ] {
            let throughput = closed_throughput(&even(), at(workers, threads), 2.0);
            assert!((throughput / simulated - 1.0).abs() < 0.025, "{workers} x {threads}");
        }
    }

    #[test]
    fn nothing_but_cpu_fills_the_cores_and_nothing_but_waiting_fills_the_threads() {
        let cpu = Demand { cpu_s: 0.01, ..Demand::default() };
        assert!((closed_throughput(&cpu, at(4, 1), 2.0) - 200.0).abs() < 1e-6);
        assert!((closed_throughput(&cpu, at(1, 4), 2.0) - 100.0).abs() < 1e-6);
        let wait = Demand { wait_s: 0.1, ..Demand::default() };
        assert!((closed_throughput(&wait, at(2, 5), 2.0) - 100.0).abs() < 0.1);
    }

    #[test]
    fn cpu_outside_the_lock_runs_in_parallel_within_a_worker() {
        let demand = Demand { cpu_s: 0.005, cpu_free_s: 0.015, ..Demand::default() };
        assert!((closed_throughput(&demand, at(1, 1), 4.0) - 50.0).abs() < 1e-6);
        let several = closed_throughput(&demand, at(1, 8), 4.0);
        assert!((150.0..=200.0).contains(&several), "{several}");
    }

    #[test]
    fn a_generator_on_the_same_cores_takes_its_part() {
        let demand = Demand { cpu_s: 0.008, generator_s: 0.002, ..Demand::default() };
        let throughput = closed_throughput(&demand, at(4, 2), 2.0);
        assert!((throughput - 200.0).abs() < 1.0, "{throughput}");
        let idle = closed_throughput(&demand, at(1, 1), 4.0);
        assert!((idle - 125.0).abs() < 1.0, "cores to spare: {idle}");
    }

    #[test]
    fn who_is_alone_hands_nothing_over() {
        let demand = Demand { cpu_s: 0.01, handoff_s: 0.002, ..Demand::default() };
        let rates = worker_throughputs(&demand, 3, 1.0);
        for (rate, expected) in rates.iter().zip([0.0, 100.0, 1.0 / 0.012, 1.0 / 0.012]) {
            assert!((rate - expected).abs() < 1e-6, "{rates:?}");
        }
    }

    #[test]
    fn threads_that_only_compute_fill_a_core_whatever_the_contention() {
        for contention in [0.8, 1.0, 1.35, 3.0] {
            let cpu = Demand { cpu_s: 0.01, contention, ..Demand::default() };
            for threads in [1, 2, 3, 8] {
                let throughput = closed_throughput(&cpu, at(1, threads), 2.0);
                assert!((throughput / 100.0 - 1.0).abs() < 1e-6, "{threads}: {throughput}");
            }
        }
        // An app that computes still waits for something, a little.
        let app = Demand { cpu_s: 0.01, wait_s: 0.000_2, contention: 1.35, ..Demand::default() };
        let [one, two] = [1, 2].map(|threads| closed_throughput(&app, at(1, threads), 2.0));
        assert!(two > 0.98 * one, "{two} beside {one}");
    }

    #[test]
    fn a_worker_that_waits_before_it_takes_a_second_request_gets_no_more_with_threads() {
        // Measured requests/s of Puma 6.6.0: 1.45 ms of CPU, 2.3 ms of waiting.
        let demand = Demand {
            cpu_s: 0.001_45,
            wait_s: 0.002_3,
            accept_gap_s: 0.005,
            generator_s: 0.000_1,
            ..Demand::default()
        };
        for (workers, threads, measured) in
            [(1, 3, 626.0), (2, 1, 498.0), (2, 3, 503.0), (2, 8, 498.0), (3, 3, 776.0)]
        {
            let throughput = closed_throughput(&demand, at(workers, threads), 2.0);
            let error = throughput / measured - 1.0;
            assert!(error.abs() < 0.1, "{workers} x {threads}: {throughput} for {measured}");
        }
        // Longer requests are at work in as many threads as the gap lets in.
        let long = Demand { wait_s: 0.06, accept_gap_s: 0.005, ..Demand::default() };
        let throughput = closed_throughput(&long, at(2, 40), 4.0);
        assert!((throughput / 400.0 - 1.0).abs() < 0.02, "{throughput}");
    }

    #[test]
    fn pumas_hand_overs_are_met_by_contention_and_a_loss_at_each() {
        // Measured requests/s of one worker of Puma 5.6.5: 1.05 ms of CPU, 5.07 ms of waiting.
        let demand = Demand {
            cpu_s: 0.001_05,
            wait_s: 0.005_07,
            handoff_s: 0.000_06,
            contention: 3.3,
            ..Demand::default()
        };
        for (threads, measured) in [(1, 159.0), (2, 291.0), (5, 558.0), (16, 830.0)] {
            let throughput = closed_throughput(&demand, at(1, threads), 2.0);
            assert!((throughput / measured - 1.0).abs() < 0.08, "{threads}: {throughput}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bound_is_exceeded(
            cpu_ms in 0.0..50.0_f64, free_ms in 0.0..20.0_f64, wait_ms in 0.0..200.0_f64,
            handoff_ms in 0.0..1.0_f64, contention in 0.5..6.0_f64, generator_ms in 0.0..2.0_f64,
            workers in 1_u16..12, threads in 1_u16..24, cores in 0.5..16.0_f64,
        ) {
            let demand = Demand {
                cpu_s: cpu_ms / 1e3 + 1e-5,
                cpu_free_s: free_ms / 1e3,
                wait_s: wait_ms / 1e3,
                handoff_s: handoff_ms / 1e3,
                contention,
                generator_s: generator_ms / 1e3,
                ..Demand::default()
            };
            let x = closed_throughput(&demand, at(workers, threads), cores);
            let slots = f64::from(workers) * f64::from(threads);
            proptest::prop_assert!(x > 0.0);
            let cpu_s = demand.server_cpu_s() + demand.generator_s;
            proptest::prop_assert!(x <= cores / cpu_s + 1e-6);
            proptest::prop_assert!(x <= slots / demand.unloaded_latency_s() * (1.0 + 1e-6));
            proptest::prop_assert!(x <= f64::from(workers) / demand.cpu_s * (1.0 + 1e-6));
        }
    }
}
