//! What is measured: kinds of requests, over one grid.

use sweetspot::terms::Configuration;

/// A kind of request.
pub struct Workload {
    pub name: &'static str,
    pub path: &'static str,
    pub words: &'static str,
    /// False: latencies are those of the machine's scheduling, on which there is no bar.
    pub does_something: bool,
}

pub const WORKLOADS: [Workload; 5] = [
    Workload { name: "nothing", path: "/", words: "answers at once", does_something: false },
    Workload {
        name: "light",
        path: "/?cpu=1&wait=2&waits=1",
        words: "1 ms of computing, 2 ms of waiting in one piece",
        does_something: true,
    },
    Workload { name: "cpu", path: "/?cpu=8", words: "8 ms of computing", does_something: true },
    Workload {
        name: "mixed",
        path: "/?cpu=4&wait=12&waits=3",
        words: "4 ms of computing, 12 ms of waiting in three parts",
        does_something: true,
    },
    Workload {
        name: "io",
        path: "/?cpu=2&wait=60&waits=3",
        words: "2 ms of computing, 60 ms of waiting in three parts",
        does_something: true,
    },
];

const WORKERS: [u16; 4] = [1, 2, 3, 4];
const THREADS: [u16; 3] = [1, 3, 8];

/// The cells that the model is fitted to: few and many workers and threads.
const FITTED: [(u16, u16); 4] = [(1, 1), (1, 8), (2, 3), (4, 1)];

/// Every cell.
pub fn grid() -> Vec<Configuration> {
    let all = WORKERS.iter().flat_map(|&w| THREADS.iter().map(move |&t| (w, t)));
    all.filter_map(|(w, t)| Configuration::new(w, t).ok()).collect()
}

pub fn is_fitted(cell: Configuration) -> bool {
    FITTED.contains(&(cell.workers.get(), cell.threads.get()))
}
