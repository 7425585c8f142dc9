//! Kinds of requests, and the settings under which they are measured.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::terms::Configuration;

/// An app under one kind of request.
pub struct Workload {
    pub name: &'static str,
    /// From the checkout's root.
    pub app: &'static str,
    pub path: &'static str,
    pub words: &'static str,
}

/// It computes and waits as the request says.
pub const MODEL_APP: &str = "bench/model/app";

pub const WORKLOADS: [Workload; 6] = [
    requests("nothing", "/", "answers at once"),
    requests("light", "/?cpu=1&wait=2&waits=1", "1 ms of computing, 2 ms of waiting in one piece"),
    requests("cpu", "/?cpu=8", "8 ms of computing"),
    requests(
        "mixed",
        "/?cpu=4&wait=12&waits=3",
        "4 ms of computing, 12 ms of waiting in three parts",
    ),
    requests("io", "/?cpu=2&wait=60&waits=3", "2 ms of computing, 60 ms of waiting in three parts"),
    Workload { app: "demo", ..requests("demo", "/", "the app that `make demo` tunes") },
];

const fn requests(name: &'static str, path: &'static str, words: &'static str) -> Workload {
    Workload { name, app: MODEL_APP, path, words }
}

impl Workload {
    /// It waits for the slow service, which is started beside it.
    pub fn asks_service(&self) -> bool {
        self.path.contains("wait=")
    }

    /// False: latencies are those of the machine's scheduling, on which there is no bar.
    pub fn does_something(&self) -> bool {
        self.name != "nothing"
    }
}

/// Every cell, a row of workers after the other.
pub fn cells(workers: &[u16], threads: &[u16]) -> Vec<Configuration> {
    let all = workers.iter().flat_map(|&w| threads.iter().map(move |&t| (w, t)));
    all.filter_map(|(w, t)| Configuration::new(w, t).ok()).collect()
}

/// In an order of chance that is the same for a run that goes on.
pub fn shuffled(mut cells: Vec<Configuration>, seed: u64) -> Vec<Configuration> {
    cells.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    cells
}
