//! The simulator against queueing theory and against an independent implementation.

use std::time::Duration;

use super::*;
use crate::stats::{Estimate, t_interval};
use crate::terms::{Arrivals, Offered, Rate};

/// A long run, its first tenth left out.
struct Run {
    throughput: f64,
    /// Mean latency with its 99 % interval over 30 batches.
    mean: Estimate,
    /// Ascending.
    latencies: Vec<f64>,
    in_flight: f64,
    usage: Usage,
    length_s: f64,
}

impl Run {
    fn quantile_ms(&self, q: f64) -> f64 {
        self.latencies[(q * self.latencies.len() as f64) as usize] * 1e3
    }
}

fn open(rate: f64) -> Offered {
    Offered::Open { rate: Rate::per_second(rate).unwrap(), arrivals: Arrivals::Poisson }
}

fn closed(clients: u32) -> Offered {
    Offered::Closed { clients, think: Duration::ZERO }
}

fn run(server: Server, kinds: &[RequestKind], offered: Offered, length_s: f64, seed: u64) -> Run {
    let mut simulator = Simulator::new(server, kinds.to_vec(), seed);
    simulator.begin(offered, seed + 1000);
    let warm_up = length_s / 9.0;
    simulator.run_until(warm_up, &mut |_| {});
    let before = simulator.usage();
    let mut latencies = Vec::new();
    simulator.run_until(warm_up + length_s, &mut |outcome| {
        assert_eq!(outcome.ending, Ending::Reply);
        latencies.push(outcome.ended_s - outcome.due_s);
    });
    let usage = simulator.usage();
    let batch = latencies.len() / 30;
    let means: Vec<f64> =
        latencies.chunks_exact(batch).map(|b| b.iter().sum::<f64>() / batch as f64).collect();
    let mean = t_interval(&means, 0.99).unwrap();
    latencies.sort_by(f64::total_cmp);
    Run {
        throughput: latencies.len() as f64 / length_s,
        mean,
        latencies,
        in_flight: (usage.in_flight_area_s - before.in_flight_area_s) / length_s,
        usage,
        length_s: warm_up + length_s,
    }
}

/// A server that loses nobody.
fn patient(workers: u16, threads: u16, cores: f64) -> Server {
    Server { backlog: usize::MAX, timeout_s: 1e9, ..Server::new(workers, threads, cores) }
}

fn web(cpu_s: f64, wait_s: f64, waits: u16) -> RequestKind {
    RequestKind { cpu_s, wait_s, waits, ..RequestKind::default() }
}

fn assert_within(expected: f64, estimate: Estimate, what: &str) {
    assert!(
        estimate.low <= expected && expected <= estimate.high,
        "{what}: {expected} is outside {estimate:?}"
    );
}

#[test]
fn one_server_with_exponential_work_is_m_m_1() {
    let run = run(patient(1, 1, 1.0), &[web(0.01, 0.0, 0)], open(70.0), 20_000.0, 1);
    assert_within(1.0 / (100.0 - 70.0), run.mean, "mean time in M/M/1");
    // The time in M/M/1 is exponential: p95 = mean ln 20.
    assert!((run.quantile_ms(0.95) / (20.0_f64.ln() / 30.0 * 1e3) - 1.0).abs() < 0.05);
}

#[test]
fn one_thread_each_on_cores_of_their_own_is_m_m_k() {
    let run = run(patient(4, 1, 4.0), &[web(0.01, 0.0, 0)], open(320.0), 8_000.0, 2);
    // Erlang C for 4 servers and load 3.2.
    let a: f64 = 3.2;
    let terms: f64 = (0..4).map(|n| a.powi(n) / f64::from((1..=n).product::<i32>())).sum();
    let last = a.powi(4) / 24.0 * 4.0 / (4.0 - a);
    let waiting = last / (terms + last);
    assert_within(0.01 + waiting / (400.0 - 320.0), run.mean, "mean time in M/M/4");
}

#[test]
fn variability_counts_as_pollaczek_and_khinchine_say() {
    for (cv2, seed) in [(0.0, 3), (0.5, 4), (3.0, 5)] {
        let kind = RequestKind { cv2, ..web(0.01, 0.0, 0) };
        let run = run(patient(1, 1, 1.0), &[kind], open(60.0), 20_000.0, seed);
        let waiting = 0.6 * 0.01 * (1.0 + cv2) / 2.0 / (1.0 - 0.6);
        assert_within(0.01 + waiting, run.mean, "mean time in M/G/1");
    }
}

#[test]
fn more_workers_than_cores_are_m_m_c_with_finite_sources() {
    // Three workers with one thread on two cores, 20 ms of CPU and of waiting:
    // p_n ~ 3!/(3-n)! (S/Z)^n / (n! up to C, then C! C^(n-C)).
    let weights = [1.0, 3.0, 3.0, 1.5];
    let busy: f64 = (0..4).map(|n| f64::from(n.min(2)) * weights[n as usize]).sum::<f64>();
    let expected = busy / weights.iter().sum::<f64>() / 0.02;
    let run = run(patient(3, 1, 2.0), &[web(0.02, 0.02, 4)], closed(30), 2_000.0, 6);
    assert!((run.throughput / expected - 1.0).abs() < 0.01, "{} {expected}", run.throughput);
}

#[test]
fn threads_of_one_worker_are_a_machine_repairman() {
    // Exact mean value analysis, 20 ms under the lock, 20 ms outside.
    for (threads, expected) in [(1, 25.0), (2, 40.0), (3, 46.875), (5, 49.847)] {
        let run = run(patient(1, threads, 9.0), &[web(0.02, 0.02, 4)], closed(20), 3_000.0, 7);
        assert!((run.throughput / expected - 1.0).abs() < 0.01, "{threads}: {}", run.throughput);
    }
}

#[test]
fn what_is_in_flight_is_the_rate_times_the_latency() {
    let server = Server { admission: Admission::LeastBusy, ..patient(2, 3, 2.0) };
    let run = run(server, &[web(0.02, 0.02, 4)], open(60.0), 3_000.0, 8);
    assert!((run.in_flight / (run.throughput * run.mean.value) - 1.0).abs() < 0.005);
}

#[test]
fn the_workers_have_used_what_the_requests_cost() {
    let kind = RequestKind { cpu_free_s: 0.005, ..web(0.01, 0.02, 3) };
    let run = run(patient(3, 2, 2.0), &[kind], open(100.0), 1_000.0, 9);
    let cpu: f64 = run.usage.workers.iter().map(|worker| worker.cpu_s).sum();
    let served: u64 = run.usage.workers.iter().map(|worker| worker.served).sum();
    assert!((cpu / served as f64 / 0.015 - 1.0).abs() < 0.01);
    assert!(cpu < 2.0 * run.length_s);
    let delay: f64 = run.usage.workers.iter().map(|worker| worker.run_delay_s).sum();
    assert!(delay > 0.0, "three workers on two cores must wait for a core now and then");
}

#[test]
fn a_hand_over_costs_lock_time_only_where_threads_queue() {
    let kind = RequestKind { handoff_s: 0.005, cv2: 0.0, ..web(0.02, 0.0, 0) };
    let alone = run(patient(1, 1, 9.0), &[kind], closed(5), 100.0, 10);
    let queued = run(patient(1, 4, 9.0), &[kind], closed(8), 100.0, 10);
    assert!((alone.throughput - 50.0).abs() < 0.1, "{}", alone.throughput);
    assert!((queued.throughput - 40.0).abs() < 0.1, "{}", queued.throughput);
}

// The figures below are those of an independent simulator in another language, written from the
// same rules: closed loads with 64 clients, open ones at 130/s, S = Z = 20 ms in four waits.

#[test]
fn saturated_throughput_agrees_with_the_independent_simulator() {
    for (workers, threads, expected) in
        [(1, 3, 46.6), (2, 1, 49.8), (2, 2, 79.7), (2, 3, 93.2), (3, 2, 95.9), (4, 1, 84.5)]
    {
        let server = patient(workers, threads, 2.0);
        let run = run(server, &[web(0.02, 0.02, 4)], closed(64), 1_000.0, 11);
        assert!(
            (run.throughput / expected - 1.0).abs() < 0.02,
            "{workers} x {threads}: {} against {expected}",
            run.throughput
        );
    }
}

#[test]
fn latency_under_each_admission_agrees_with_the_independent_simulator() {
    for (admission, mean, p95, p99) in [
        (Admission::Random, 56.3, 92.7, 111.4),
        (Admission::LeastBusy, 52.9, 88.4, 106.9),
        (Admission::Split, 72.2, 147.5, 202.7),
    ] {
        let server = Server { admission, ..patient(4, 3, 4.0) };
        let run = run(server, &[web(0.02, 0.02, 4)], open(130.0), 600.0, 12);
        let ratios =
            [run.mean.value * 1e3 / mean, run.quantile_ms(0.95) / p95, run.quantile_ms(0.99) / p99];
        // Its runs had some 8000 requests: its p99 is sure to about a tenth.
        assert!(ratios.iter().all(|r| (r - 1.0).abs() < 0.1), "{admission:?}: {ratios:?}");
    }
}

#[test]
fn the_quantum_decides_how_long_a_slow_endpoint_holds_up_fast_ones() {
    let fast = RequestKind { weight: 0.95, ..web(0.01, 0.02, 6) };
    let slow = RequestKind { weight: 0.05, ..web(0.3, 0.0, 0) };
    for (lock, expected) in [
        (Lock::Ruby26 { quantum_s: 0.1 }, 701.4),
        (Lock::Ruby33 { quantum_s: 0.1 }, 696.7),
        (Lock::Ruby26 { quantum_s: 0.01 }, 173.0),
        (Lock::None, 57.6),
    ] {
        let server = Server { lock, ..patient(4, 5, 4.0) };
        let mut simulator = Simulator::new(server, vec![fast, slow], 13);
        simulator.begin(open(80.0), 14);
        let mut latencies = Vec::new();
        simulator.run_until(1_000.0, &mut |outcome| {
            if outcome.kind == 0 {
                latencies.push(outcome.ended_s - outcome.due_s);
            }
        });
        latencies.sort_by(f64::total_cmp);
        let p99_ms = latencies[latencies.len() * 99 / 100] * 1e3;
        // Its p99 came from one run of 6000 requests, sure to some 15 %.
        assert!((p99_ms / expected - 1.0).abs() < 0.2, "{lock:?}: {p99_ms} against {expected}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_gives_another() {
    let kinds = [web(0.01, 0.02, 3)];
    let of = |seed| run(Server::new(2, 3, 2.0), &kinds, open(90.0), 100.0, seed).latencies;
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn an_overloaded_server_loses_requests_to_timeouts_and_its_memory_stays_bounded() {
    let server = Server { timeout_s: 5.0, ..Server::new(2, 2, 2.0) };
    let mut simulator = Simulator::new(server, vec![web(0.02, 0.0, 0)], 1);
    simulator.begin(open(1000.0), 2);
    let (mut replies, mut timeouts) = (0, 0);
    let mut in_flight = Vec::new();
    for second in 1..=60 {
        simulator.run_until(f64::from(second), &mut |outcome| match outcome.ending {
            Ending::Timeout => timeouts += 1,
            Ending::Reply => replies += 1,
            _ => unreachable!("nobody was reset or refused"),
        });
        in_flight.push(simulator.in_flight());
    }
    // Capacity is 100/s; due are 1000/s. A thousand wait in the listen queue, the rest try again.
    assert!(timeouts > 40_000 && replies > 100, "{timeouts} timeouts, {replies} replies");
    assert!(in_flight.iter().all(|&n| n < 6_000), "{:?}", in_flight.iter().max());
    assert!(simulator.usage().backlog <= 1024);
}

#[test]
fn a_dead_server_resets_what_it_held_and_refuses_the_rest() {
    let mut simulator = Simulator::new(Server::new(1, 2, 1.0), vec![web(0.05, 0.0, 0)], 1);
    simulator.begin(closed(4), 2);
    simulator.run_until(10.0, &mut |outcome| assert_eq!(outcome.ending, Ending::Reply));
    let mut reset = 0;
    simulator.kill(&mut |outcome| {
        assert_eq!(outcome.ending, Ending::Reset);
        reset += 1;
    });
    assert_eq!(reset, 4);
    let mut refused = 0;
    simulator.run_until(11.0, &mut |outcome| {
        assert_eq!(outcome.ending, Ending::Refused);
        refused += 1;
    });
    // Each client notices after a millisecond and tries again.
    assert!((3900..=4004).contains(&refused), "{refused}");
    simulator.end();
    simulator.run_until(12.0, &mut |_| {});
    assert_eq!(simulator.in_flight(), 0);
}

#[test]
fn loads_follow_one_another_on_the_same_server() {
    let mut simulator = Simulator::new(Server::new(1, 1, 1.0), vec![web(0.01, 0.0, 0)], 1);
    simulator.begin(closed(1), 1);
    simulator.run_until(5.0, &mut |_| {});
    simulator.end();
    simulator.run_until(6.0, &mut |_| {});
    assert_eq!(simulator.in_flight(), 0);
    simulator.begin(
        Offered::Open { rate: Rate::per_second(10.0).unwrap(), arrivals: Arrivals::Uniform },
        1,
    );
    let mut due = Vec::new();
    simulator.run_until(7.0, &mut |outcome| due.push(outcome.due_s));
    assert!(
        due.iter().enumerate().all(|(i, t)| (t - 6.0 - 0.1 * i as f64).abs() < 1e-9),
        "{due:?}"
    );
}

#[test]
fn a_slower_machine_takes_longer_for_everything() {
    let kind = RequestKind { cv2: 0.0, ..web(0.01, 0.03, 2) };
    let mut simulator = Simulator::new(Server::new(1, 1, 1.0), vec![kind], 1);
    simulator.set_slowness(1.5);
    simulator.begin(closed(1), 1);
    simulator.run_until(10.0, &mut |outcome| {
        assert!((outcome.ended_s - outcome.due_s - 0.06).abs() < 1e-9);
    });
}
