//! What the zoo's servers are like, a kind for each thing that real ones do and queueing formulas
//! leave out; and an app of a kind from a seed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sweetspot::terms::{Arrivals, Configuration, Offered, QuantileLimit, Ratio, Slo};

use super::app::{
    Admission, App, Backend, Case, Cold, Collection, Credits, Endpoint, Hardware, Lock, LockScope,
    Memory, Pool,
};
use super::chance::{Chance, Spread, pareto};
use super::simulation::Simulation;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// None of the others: what is missed here is not for want of a form.
    Plain,
    Tails,
    Mixture,
    Endpoint,
    Errors,
    WorkerLock,
    ServerLock,
    Thrashing,
    Pool,
    Limiter,
    Credits,
    Collection,
    Cold,
    Switching,
    Generator,
    Quota,
    Drift,
    Several,
}

impl Kind {
    pub const ALL: [Self; 18] = [
        Self::Plain,
        Self::Tails,
        Self::Mixture,
        Self::Endpoint,
        Self::Errors,
        Self::WorkerLock,
        Self::ServerLock,
        Self::Thrashing,
        Self::Pool,
        Self::Limiter,
        Self::Credits,
        Self::Collection,
        Self::Cold,
        Self::Switching,
        Self::Generator,
        Self::Quota,
        Self::Drift,
        Self::Several,
    ];

    /// As `KINDS` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tails => "tails",
            Self::Mixture => "mixture",
            Self::Endpoint => "endpoint",
            Self::Errors => "errors",
            Self::WorkerLock => "worker-lock",
            Self::ServerLock => "server-lock",
            Self::Thrashing => "thrashing",
            Self::Pool => "pool",
            Self::Limiter => "limiter",
            Self::Credits => "credits",
            Self::Collection => "collection",
            Self::Cold => "cold",
            Self::Switching => "switching",
            Self::Generator => "generator",
            Self::Quota => "quota",
            Self::Drift => "drift",
            Self::Several => "several",
        }
    }

    pub fn of(seed: u64) -> Self {
        Self::ALL[(seed % Self::ALL.len() as u64) as usize]
    }
}

const THREADS: [u16; 6] = [1, 2, 3, 5, 8, 16];

/// The case of a seed, which also says its kind.
pub fn case(seed: u64) -> Case {
    let chance = &mut Chance::new(seed ^ 0x7a6f_6f00);
    let mut app = plain(chance);
    let kind = Kind::of(seed);
    match kind {
        Kind::Several => several(&mut app, chance),
        _ => shape(&mut app, kind, chance),
    }
    let workers = if app.cores() > 2.0 { [1, 2, 4, 6] } else { [1, 2, 3, 4] };
    let cells = workers.iter().flat_map(|&w| THREADS.into_iter().map(move |t| (w, t)));
    let grid: Vec<_> = cells.filter_map(|(w, t)| Configuration::new(w, t).ok()).collect();
    let current = grid[chance.index(grid.len())];
    app.memory.limit_bytes = limit_bytes(&app.memory, &grid, current, chance);
    let slo = goal(&mut app, kind, current, chance);
    Case { app, grid, current, slo }
}

/// Three kinds at once.
fn several(app: &mut App, chance: &mut Chance) {
    for _ in 0..3 {
        let kind = chance.one_of(&Kind::ALL[1..Kind::ALL.len() - 1]);
        shape(app, kind, chance);
    }
}

/// Nothing unusual: requests of 6 to 50 ms of computing and up to twelve times as much waiting, as
/// pages of Rails and Django take, on one to four cores.
fn plain(chance: &mut Chance) -> App {
    let cpu_s = chance.by_ratio(0.006, 0.05);
    let waits = if chance.is(0.85) { chance.by_ratio(0.2, 12.0) } else { 0.0 };
    let spreads = [
        Spread::Constant,
        Spread::Exponential,
        Spread::Lognormal { cv2: 0.3 },
        Spread::Lognormal { cv2: 1.5 },
    ];
    App {
        endpoints: vec![Endpoint { share: 1.0, cpu_s, wait_s: (waits * cpu_s).min(0.3) }],
        spread: chance.one_of(&spreads),
        waits: 1 + chance.index(4),
        lock: None,
        backend: Backend::Independent,
        pool: None,
        failing: 0.0,
        collection: None,
        cold: None,
        switching: chance.between(0.0, 0.004),
        // Ruby's, and Python's.
        quantum_s: chance.one_of(&[0.1, 0.005]),
        admission: chance.one_of(&[Admission::LeastBusy, Admission::Random]),
        hardware: Hardware {
            cores: chance.one_of(&[1, 2, 2, 4]),
            quota: None,
            credits: None,
            // `make bench-aa` in a quiet hour: windows of a start differ by 0.3 to 2.5 %, starts by
            // 0.2 to 1.3 %, and nothing more over twenty minutes. Of other hours single sessions
            // are known, between whose parts a machine became slower by 8 and by 17 %.
            wander: 0.01,
            wander_s: 30.0,
            drift: chance.by_ratio(0.002, 0.02),
            drift_s: chance.by_ratio(300.0, 3600.0),
            starts: chance.by_ratio(0.002, 0.015),
            generator_s: 0.0,
        },
        memory: Memory {
            limit_bytes: u64::MAX,
            shared_bytes: 60 << 20,
            worker_bytes: (chance.between(80.0, 300.0) as u64) << 20,
            thread_bytes: (chance.between(2.0, 16.0) as u64) << 20,
        },
        boot_s: chance.by_ratio(0.8, 6.0),
    }
}

/// Gives an app what its kind is about.
fn shape(app: &mut App, kind: Kind, chance: &mut Chance) {
    match kind {
        Kind::Tails => {
            let cv2 = chance.by_ratio(3.0, 20.0);
            app.spread = if chance.is(0.5) { Spread::Lognormal { cv2 } } else { pareto(cv2) };
        }
        Kind::Mixture => {
            let (share, times) = (chance.between(0.01, 0.05), chance.by_ratio(10.0, 20.0));
            // The slow ones are not so slow that clients give up on them.
            let most = 3.0 / (app.means_s().0 + app.means_s().1);
            beside(app, share, times.min(most), times.min(most));
        }
        Kind::Endpoint => {
            let (cpu, waits) = (chance.between(1.0, 4.0), chance.between(3.0, 8.0));
            beside(app, chance.between(0.08, 0.3), cpu, waits);
        }
        // How many, and what of them is allowed, goes together: see `goal`.
        Kind::Errors => app.failing = chance.by_ratio(0.0005, 0.003),
        Kind::WorkerLock | Kind::ServerLock => lock(app, kind, chance),
        Kind::Thrashing => {
            wait_at_least(app, 1.5);
            let knee = chance.by_ratio(2.0, 16.0);
            app.backend = Backend::Thrashing { knee, power: chance.between(1.2, 3.0) };
        }
        Kind::Pool => {
            wait_at_least(app, 1.0);
            let is_kept = chance.is(0.5);
            let connections = if is_kept { 2 + chance.index(4) } else { 1 + chance.index(3) };
            app.pool = Some(Pool { connections, is_kept });
        }
        Kind::Limiter => limiter(app, chance),
        Kind::Credits => {
            let (baseline, seconds) = (chance.between(0.35, 0.7), chance.by_ratio(10.0, 120.0));
            app.hardware.credits = Some(Credits { baseline, seconds });
        }
        Kind::Collection => {
            let (every, pause_s) = (chance.by_ratio(20.0, 200.0), chance.by_ratio(0.02, 0.15));
            app.collection = Some(Collection { every, pause_s });
        }
        Kind::Cold => {
            let (requests, slower) = (chance.by_ratio(50.0, 800.0), chance.by_ratio(0.3, 3.0));
            app.cold = Some(Cold { requests, slower });
        }
        Kind::Switching => app.switching = chance.by_ratio(0.02, 0.12),
        Kind::Generator => app.hardware.generator_s = chance.by_ratio(0.0002, 0.002),
        Kind::Quota => {
            app.hardware.cores = 4;
            app.hardware.quota = Some(chance.one_of(&[1.0, 1.0, 1.5, 2.0]));
        }
        Kind::Drift => {
            app.hardware.wander = chance.between(0.02, 0.08);
            app.hardware.wander_s = chance.by_ratio(10.0, 60.0);
            app.hardware.drift = chance.between(0.03, 0.1);
            app.hardware.starts = chance.between(0.01, 0.04);
        }
        Kind::Plain | Kind::Several => {}
    }
}

/// Some of an app's requests take this many times as long.
fn beside(app: &mut App, share: f64, cpu: f64, waits: f64) {
    let first = app.endpoints[0];
    let rest = Endpoint { share: 1.0 - share, ..first };
    let slow = Endpoint { share, cpu_s: cpu * first.cpu_s, wait_s: waits * first.wait_s };
    app.endpoints = vec![rest, slow];
}

fn wait_at_least(app: &mut App, times_cpu: f64) {
    for endpoint in &mut app.endpoints {
        endpoint.wait_s = endpoint.wait_s.max(times_cpu * endpoint.cpu_s);
    }
}

fn lock(app: &mut App, kind: Kind, chance: &mut Chance) {
    let scope = if kind == Kind::WorkerLock { LockScope::Worker } else { LockScope::Server };
    let (cpu_share, wait_share) = match chance.index(3) {
        0 => (chance.between(0.1, 0.5), 0.0),
        1 => (0.0, chance.between(0.05, 0.4)),
        _ => (chance.between(0.05, 0.3), chance.between(0.05, 0.3)),
    };
    app.lock = Some(Lock { scope, cpu_share, wait_share });
}

/// From half of what the cores would carry to a little more than that.
fn limiter(app: &mut App, chance: &mut Chance) {
    wait_at_least(app, 0.5);
    let requests_per_s = app.cores() / app.means_s().0 * chance.between(0.5, 1.1);
    let rate_per_s = requests_per_s * app.waits as f64;
    let burst = 1.0 + rate_per_s * chance.by_ratio(0.05, 2.0);
    app.backend = Backend::Bucket { rate_per_s, burst, refuses: chance.is(0.5) };
}

/// In a quarter of the cases some of the grid does not fit. None fits so barely that it is a
/// matter of taste: what that leaves free is a tenth at least.
fn limit_bytes(
    memory: &Memory,
    grid: &[Configuration],
    current: Configuration,
    chance: &mut Chance,
) -> u64 {
    let most = grid.iter().map(|it| memory.of(*it)).max().unwrap_or(0);
    let largest = memory.of(grid[chance.index(grid.len())]).max(memory.of(current));
    if !chance.is(0.25) {
        return 2 * most;
    }
    let limits = (0..100).map(|step| largest + largest / 4 + (largest / 50) * step);
    let is_barely = |limit: u64| {
        let needs = grid.iter().map(|it| memory.of(*it) as f64 / limit as f64);
        needs.into_iter().any(|share| (0.9..1.0).contains(&share))
    };
    limits.into_iter().find(|limit| !is_barely(*limit)).unwrap_or(2 * most)
}

/// What a goal leaves open about errors that come at any rate would be decided by chance: none are
/// that near to what is allowed.
fn goal(app: &mut App, kind: Kind, current: Configuration, chance: &mut Chance) -> Option<Slo> {
    let is_given = chance.is(if kind == Kind::Errors { 0.5 } else { 0.4 });
    let errors = if kind == Kind::Errors { 0.01 } else { chance.one_of(&[0.001, 0.01]) };
    let times = chance.by_ratio(2.0, 6.0);
    let allowed = if is_given { errors } else { 0.001 };
    if (0.7 * allowed..1.4 * allowed).contains(&app.failing) {
        app.failing = if app.failing < allowed { 0.7 * allowed } else { 1.4 * allowed };
    }
    is_given.then(|| {
        let limit_ms = (1e3 * times * alone_s(app, current)).ceil().max(5.0);
        let ratio = |value| Ratio::new(value).expect("a constant between 0 and 1");
        let limit = Duration::from_millis(limit_ms as u64);
        let quantiles = vec![QuantileLimit { quantile: ratio(0.95), limit }];
        Slo { quantiles, errors: Some(ratio(errors)) }
    })
}

/// 95th percentile of the latency of one client alone, seconds.
fn alone_s(app: &App, configuration: Configuration) -> f64 {
    let mut simulation = Simulation::new(app.clone(), true, 1, 2);
    simulation.start(configuration, 1.0, true);
    simulation.offer(Offered::Closed { clients: 1, think: Duration::ZERO }, 3);
    let mut all = Vec::new();
    while all.len() < 2_000 && simulation.now_s() < 600.0 {
        let until_s = simulation.now_s() + 10.0;
        simulation.run_until(until_s, &mut |outcome| all.push(outcome.latency_s()));
    }
    sweetspot::stats::quantile(&all, 0.95).unwrap_or(1.0)
}

/// Independent users at a rate.
pub fn users(rate_per_s: f64) -> Offered {
    let rate = sweetspot::terms::Rate::per_second(rate_per_s).expect("a rate above zero");
    Offered::Open { rate, arrivals: Arrivals::Poisson }
}
