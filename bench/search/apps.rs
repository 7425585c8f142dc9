//! Random apps on random machines: those whose truth has the model's form, and those whose truth
//! does not.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use sweetspot::model::simulator::{Admission, Backend, Lock, Pauses, Sharing};
use sweetspot::place::simulated::{Bump, Drift, SimulatedApp, SimulatedMemory};
use sweetspot::terms::Configuration;

/// What the model does not know of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Truth {
    /// Nothing: the truth has its form.
    Model,
    /// One wait at a time in all workers.
    HiddenLock,
    /// Few connections in each worker.
    Pool,
    /// Waits get longer with their number.
    SlowingBackend,
    /// Some settings in the middle are slower, for whatever reason.
    TwoHumps,
}

impl Truth {
    pub const ALL: [Self; 5] =
        [Self::Model, Self::HiddenLock, Self::Pool, Self::SlowingBackend, Self::TwoHumps];

    pub fn words(self) -> &'static str {
        match self {
            Self::Model => "the model's form",
            Self::HiddenLock => "a hidden lock",
            Self::Pool => "a connection pool",
            Self::SlowingBackend => "a backend that slows down",
            Self::TwoHumps => "a surface with two humps",
        }
    }
}

/// An app with the settings that may be recommended for it.
#[derive(Debug, Clone)]
pub struct Case {
    pub app: SimulatedApp,
    pub truth: Truth,
    /// Four numbers of workers by six of threads.
    pub grid: Vec<Configuration>,
}

const THREADS: [u16; 6] = [1, 2, 3, 5, 8, 16];

pub fn random(seed: u64) -> Case {
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let cores = [1.0, 2.0, 2.0, 4.0, 4.0, 8.0, 16.0, 32.0][random.random_range(0..8)];
    let truth = match random.random_range(0..10) {
        0 => Truth::HiddenLock,
        1 => Truth::Pool,
        2 => Truth::SlowingBackend,
        3 => Truth::TwoHumps,
        _ => Truth::Model,
    };
    let workers = workers(cores as u16);
    let grid: Vec<Configuration> = workers
        .iter()
        .flat_map(|&w| THREADS.into_iter().map(move |t| (w, t)))
        .filter_map(|(w, t)| Configuration::new(w, t).ok())
        .collect();
    let current = grid[random.random_range(0..grid.len())];
    let total_s = 0.005 * 20f64.powf(random.random::<f64>());
    let io_share = 0.98 * random.random::<f64>();
    let app = SimulatedApp {
        cpu_s: total_s * (1.0 - io_share),
        wait_s: total_s * io_share,
        waits: random.random_range(1..6),
        cv2: [0.1, 0.5, 1.0, 2.0][random.random_range(0..4)],
        cores,
        lock: [Lock::Ruby26 { quantum_s: 0.1 }, Lock::Ruby33 { quantum_s: 0.1 }]
            [random.random_range(0..2)],
        admission: [Admission::Random, Admission::LeastBusy][random.random_range(0..2)],
        current,
        ..SimulatedApp::default()
    };
    let app = SimulatedApp { pauses: pauses(random, &app), ..app };
    let app = SimulatedApp { drift: drift(random), dies_at: death(random), ..app };
    let app = SimulatedApp { memory: memory(random, &app, &grid), ..app };
    Case { app: with_truth(app, truth, &workers, random), truth, grid }
}

/// Two settings of one app that differ by nothing but that the second's capacity is `ratio` times
/// the first's, which runs today; within a p95 of `limit`.
pub fn pair(seed: u64, ratio: f64, limit: Duration) -> Case {
    let case = Case { truth: Truth::Model, ..random(seed) };
    let current = case.app.current;
    let (workers, threads) = (current.workers.get(), current.threads.get());
    let other = Configuration::new(workers, threads + 1).expect("neither number is zero");
    let app = SimulatedApp {
        serves_as: Some(current),
        backend: None,
        bumps: Vec::new(),
        dies_at: None,
        memory: SimulatedMemory { limit_bytes: 1 << 40, ..case.app.memory },
        ..case.app
    };
    let faster = |factor: f64| {
        let bump = Bump { workers: 1..=u16::MAX, threads: threads + 1..=threads + 1, factor };
        SimulatedApp { bumps: vec![bump], ..app.clone() }
    };
    let capacity = |app: &SimulatedApp, c| app.true_capacity(c, limit, 0.95);
    // A request that is a tenth shorter gains more than a tenth where the goal is tight.
    let rises = (capacity(&faster(1.0 / ratio), other) / capacity(&app, current)).ln();
    let power = if ratio == 1.0 { 0.0 } else { ratio.ln() / rises.max(1e-3) };
    Case { app: faster(ratio.powf(-power)), grid: vec![current, other], ..case }
}

/// Around the number of cores.
fn workers(cores: u16) -> [u16; 4] {
    match cores {
        1 | 2 => [1, 2, 3, 4],
        _ => [cores / 2, cores, cores + cores / 2, 2 * cores],
    }
}

fn pauses(random: &mut Xoshiro256PlusPlus, app: &SimulatedApp) -> Option<Pauses> {
    let pauses = Pauses {
        every: random.random_range(20..200),
        length_s: app.cpu_s * (1.0 + 4.0 * random.random::<f64>()),
    };
    (random.random_range(0..4) == 0).then_some(pauses)
}

/// 1 to 5 % in all: starts, windows, and the machine over the minutes.
fn drift(random: &mut Xoshiro256PlusPlus) -> Drift {
    let all = 0.01 + 0.04 * random.random::<f64>();
    Drift {
        start: 0.4 * all,
        window: 0.4 * all,
        cold: 0.3,
        cold_s: 1.0,
        slowing_per_minute: 0.0,
        wander: all,
        wander_s: 300.0 + 900.0 * random.random::<f64>(),
        outliers: 0.02,
        outlier: 0.3,
    }
}

fn death(random: &mut Xoshiro256PlusPlus) -> Option<Duration> {
    let at = Duration::from_secs(random.random_range(20..500));
    (random.random_range(0..20) == 0).then_some(at)
}

/// In a quarter of the cases some of the grid does not fit.
fn memory(
    random: &mut Xoshiro256PlusPlus,
    app: &SimulatedApp,
    grid: &[Configuration],
) -> SimulatedMemory {
    let all = SimulatedMemory { limit_bytes: 1 << 40, ..app.memory };
    let fits = all.of(grid[random.random_range(0..grid.len())]).max(all.of(app.current));
    match random.random_range(0..4) {
        // With what a machine needs beside it, so that it is allowed, and a little more.
        0 => SimulatedMemory { limit_bytes: fits + fits / 4, ..all },
        _ => all,
    }
}

fn with_truth(
    app: SimulatedApp,
    truth: Truth,
    workers: &[u16],
    random: &mut Xoshiro256PlusPlus,
) -> SimulatedApp {
    let backend = |places, sharing, slowing| Some(Backend { places, sharing, slowing });
    let backend = match truth {
        Truth::Model | Truth::TwoHumps => None,
        Truth::HiddenLock => backend(1, Sharing::Server, 0.0),
        Truth::Pool => backend(random.random_range(1..4), Sharing::Worker, 0.0),
        Truth::SlowingBackend => {
            let slowing = (0.2 + random.random::<f64>()) / (4.0 * app.cores);
            backend(u32::MAX, Sharing::Server, slowing)
        }
    };
    let bumps = match truth {
        Truth::TwoHumps => vec![bump(workers, random)],
        _ => Vec::new(),
    };
    SimulatedApp { backend, bumps, ..app }
}

/// A ridge across the middle of the grid.
fn bump(workers: &[u16], random: &mut Xoshiro256PlusPlus) -> Bump {
    let factor = 1.15 + 0.35 * random.random::<f64>();
    match random.random_range(0..2) {
        0 => Bump { workers: workers[1]..=workers[1], threads: 1..=16, factor },
        _ => Bump { workers: 1..=u16::MAX, threads: 3..=5, factor },
    }
}
