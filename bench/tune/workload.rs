//! What is tuned: apps, each with the request that it is asked and its goal.

/// An app under one kind of request.
pub struct Workload {
    pub name: &'static str,
    /// From the checkout's root.
    pub app: &'static str,
    pub path: &'static str,
    pub slo: &'static str,
    /// It waits for the slow service, which is started beside it.
    pub asks_service: bool,
    pub words: &'static str,
}

const MODEL_APP: &str = "bench/model/app";
/// What `tune` itself would settle on for apps as quick as these; said, so that the grid is judged
/// by the same.
const SLO: &str = "p95<200ms,errors<0.1%";

pub const WORKLOADS: [Workload; 5] = [
    Workload {
        name: "nothing",
        app: MODEL_APP,
        path: "/",
        slo: SLO,
        asks_service: false,
        words: "answers at once",
    },
    Workload {
        name: "cpu",
        app: MODEL_APP,
        path: "/?cpu=8",
        slo: SLO,
        asks_service: false,
        words: "8 ms of computing",
    },
    Workload {
        name: "mixed",
        app: MODEL_APP,
        path: "/?cpu=4&wait=12&waits=3",
        slo: SLO,
        asks_service: true,
        words: "4 ms of computing, 12 ms of waiting in three parts",
    },
    Workload {
        name: "io",
        app: MODEL_APP,
        path: "/?cpu=2&wait=60&waits=3",
        slo: SLO,
        asks_service: true,
        words: "2 ms of computing, 60 ms of waiting in three parts",
    },
    Workload {
        name: "demo",
        app: "demo",
        path: "/",
        slo: SLO,
        asks_service: false,
        words: "the app that `make demo` tunes",
    },
];
