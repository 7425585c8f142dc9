//! Is the zoo's simulation right? Where formulas know the answer it is set beside them, and what
//! comes in must go out. Part of every run: figures of a wrong simulation are worth nothing.

use std::ops::ControlFlow;
use std::time::Duration;

use sweetspot::place::{Offer, Place as _};
use sweetspot::terms::{Configuration, Latencies, Offered, Slo};

use super::app::{App, Backend, Case, Endpoint};
use super::chance::{Chance, Spread};
use super::job::{Ending, Outcome};
use super::kinds::{Kind, case, users};
use super::place::Zoo;
use super::simulation::Simulation;
use super::truth::Truth;
use crate::common::bars::{Bar, Limit};

/// Formulas and simulations may differ by this share.
const OFF: f64 = 0.03;
const SECONDS: f64 = 40_000.0;

/// One core, one worker, one thread, computing alone, 20 ms a request: M/G/1.
fn alone(spread: Spread) -> App {
    let mut app = case(0).app;
    app.endpoints = vec![Endpoint { share: 1.0, cpu_s: 0.02, wait_s: 0.0 }];
    (app.spread, app.backend, app.switching) = (spread, Backend::Independent, 0.0);
    (app.lock, app.pool, app.collection, app.cold, app.failing) = (None, None, None, None, 0.0);
    app.hardware.cores = 1;
    (app.hardware.quota, app.hardware.credits, app.hardware.generator_s) = (None, None, 0.0);
    (app.hardware.wander, app.hardware.drift, app.hardware.starts) = (0.0, 0.0, 0.0);
    app
}

/// Mean latency of independent users at a rate, seconds.
fn latency_s(app: App, workers: u16, threads: u16, rate_per_s: f64) -> f64 {
    let (mut sum_s, mut count) = (0.0, 0.0);
    let all = outcomes(app, (workers, threads), users(rate_per_s), SECONDS);
    for outcome in all {
        sum_s += outcome.latency_s();
        count += 1.0;
    }
    sum_s / count
}

fn outcomes(
    app: App,
    (workers, threads): (u16, u16),
    offered: Offered,
    seconds: f64,
) -> Vec<Outcome> {
    let configuration = Configuration::new(workers, threads).expect("neither number is zero");
    let mut simulation = Simulation::new(app, false, 1, 2);
    simulation.start(configuration, 1.0, true);
    simulation.offer(offered, 3);
    let mut all = Vec::new();
    simulation.run_until(seconds, &mut |outcome| all.push(outcome));
    simulation.end();
    simulation.run_until(seconds + 30.0, &mut |outcome| all.push(outcome));
    all
}

/// Pollaczek and Khinchine: s (1 + rho (1 + cv2) / (2 (1 - rho))), with `s` the service time and
/// `rho` the share of time that it is busy.
fn one_server_s(rho: f64, cv2: f64) -> f64 {
    0.02 * (1.0 + rho * (1.0 + cv2) / (2.0 * (1.0 - rho)))
}

/// Erlang's C for two: s / (1 - rho^2), with `rho` the share of time that each is busy.
fn two_servers_s(rho: f64) -> f64 {
    0.02 / (1.0 - rho * rho)
}

/// Each figure is the simulation's by the formula's, less one, without its sign.
pub fn bars() -> Vec<Bar> {
    let beside = |what: &str, simulated: f64, formula: f64| {
        let off = (simulated / formula - 1.0).abs();
        Bar::new(format!("simulation beside formula: {what}"), Some(off), Limit::AtMost(OFF))
    };
    let exponential = alone(Spread::Exponential);
    let mut two = exponential.clone();
    two.hardware.cores = 2;
    let mut waiting = exponential.clone();
    waiting.endpoints[0] = Endpoint { share: 1.0, cpu_s: 1e-9, wait_s: 0.02 };
    waiting.waits = 1;
    let quantile_s = quantile_s(exponential.clone());
    let capacity = capacity(exponential.clone());
    vec![
        beside("p95 of M/M/1 as a place records it", quantile_s, LIMIT_S),
        beside("capacity of M/M/1 within a p95", capacity, AT_LIMIT_PER_S),
        beside("M/M/1", latency_s(exponential.clone(), 1, 1, 35.0), one_server_s(0.7, 1.0)),
        beside("M/M/1, slices", latency_s(exponential, 4, 1, 35.0), one_server_s(0.7, 1.0)),
        beside(
            "M/G/1",
            latency_s(alone(Spread::Lognormal { cv2: 2.0 }), 1, 1, 25.0),
            one_server_s(0.5, 2.0),
        ),
        beside("M/D/1", latency_s(alone(Spread::Constant), 1, 1, 35.0), one_server_s(0.7, 0.0)),
        beside("M/M/2", latency_s(two, 2, 1, 70.0), two_servers_s(0.7)),
        beside("M/M/2 of waits", latency_s(waiting, 1, 2, 70.0), two_servers_s(0.7)),
        beside("mean of a power law", power_law_mean(), 1.0),
        Bar::new("simulations that lose requests", Some(lost()), Limit::AtMost(0.0)),
    ]
}

/// With a goal of 200 ms: 1 / s + ln(0.05) / limit, from P(latency > t) = exp(-(1 / s - rate) t).
const LIMIT_S: f64 = 0.2;
const AT_LIMIT_PER_S: f64 = 50.0 - 2.995_732_273_553_991 / LIMIT_S;

fn one_of_one(app: App) -> Case {
    let current = Configuration::new(1, 1).expect("neither number is zero");
    Case { app, grid: vec![current], current, slo: None }
}

fn quantile_s(app: App) -> f64 {
    let case = one_of_one(app);
    let mut place = Zoo::new(&case, 1);
    let offer = Offer {
        offered: users(AT_LIMIT_PER_S),
        warm_up: Duration::from_secs(60),
        duration: Duration::from_secs(20_000),
        seed: 2,
        connection: None,
        pods_away: 0,
    };
    let seen = place
        .start(case.current)
        .and_then(|_| place.offer(&offer, &mut |_| ControlFlow::Continue(())));
    let mut all = Latencies::default();
    let seconds = seen.map(|seen| seen.load.seconds).unwrap_or_default();
    seconds.iter().skip(60).for_each(|second| all.add(&second.latency));
    all.quantile(0.95).map_or(0.0, |it| it.as_secs_f64())
}

fn capacity(app: App) -> f64 {
    let slo: Slo = "p95<200ms,errors<1%".parse().expect("a goal that is written right");
    let case = one_of_one(app);
    let rates = (0..8).map(|seed| Truth::capacity(&case, &slo, seed, case.current));
    rates.sum::<f64>() / 8.0
}

fn power_law_mean() -> f64 {
    let (chance, spread) = (&mut Chance::new(5), super::chance::pareto(3.0));
    (0..1_000_000).map(|_| spread.draw(chance)).sum::<f64>() / 1e6
}

/// Of every kind, at rates below and above what it carries, and of closed loads: as many as were in
/// flight must have ended, in the mean of no more time than they took.
fn lost() -> f64 {
    let mut lost = 0.0;
    for seed in 0..2 * Kind::ALL.len() as u64 {
        let case = case(seed);
        for offered in
            [users(5.0), users(500.0), Offered::Closed { clients: 7, think: Duration::ZERO }]
        {
            let mut simulation = Simulation::new(case.app.clone(), true, seed, seed);
            simulation.start(case.current, 1.0, false);
            simulation.offer(offered, seed);
            let (mut ended, mut given_up, mut area_s, mut odd) = (0_u64, 0_u64, 0.0, 0_u64);
            let mut see = |outcome: Outcome| {
                ended += 1;
                given_up += u64::from(outcome.ending == Ending::Timeout);
                area_s += outcome.latency_s();
                odd += u64::from(outcome.ended_s < outcome.due_s);
                odd += u64::from(outcome.ending == Ending::Refused && outcome.latency_s() > 0.5);
            };
            simulation.run_until(20.0, &mut see);
            simulation.end();
            simulation.run_until(120.0, &mut see);
            let usage = simulation.usage();
            // By Little's law; those whose clients give up are noticed up to a second later.
            let is_area_right = usage.in_flight_area_s >= area_s - 1e-6
                && usage.in_flight_area_s <= area_s + given_up as f64 + 1e-6;
            let is_lost = usage.in_flight > 0 || odd > 0 || ended == 0 || !is_area_right;
            lost += f64::from(is_lost);
        }
    }
    lost
}
