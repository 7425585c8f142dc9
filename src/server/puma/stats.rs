//! What Puma says at its control socket.
//!
//! In: the JSON of its `/stats`. Out: figures of each worker. A worker tells its master every few
//! seconds (`worker_check_interval`), so that a cluster's figures are some seconds old.

use serde::Deserialize;

use crate::terms::WorkerStats;

/// The token that [`super::arguments`] sets.
pub(super) const PATH: &str = "/stats?token=sweetspot";

/// A cluster's has `worker_status`, a single process's has the figures themselves.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Cluster { worker_status: Vec<Worker> },
    Single(Figures),
}

#[derive(Deserialize)]
struct Worker {
    pid: u32,
    /// Empty until it has reported for the first time.
    last_status: Option<serde_json::Value>,
}

/// Named as Puma names them, since 3.12; `requests_count` since 5.0.
#[derive(Deserialize)]
struct Figures {
    backlog: u32,
    pool_capacity: u32,
    max_threads: u32,
    #[serde(default)]
    requests_count: u64,
}

pub(super) fn read(body: &str) -> Vec<WorkerStats> {
    match serde_json::from_str(body) {
        Ok(Said::Single(figures)) => vec![figures.of(None)],
        Ok(Said::Cluster { worker_status }) => {
            worker_status.into_iter().filter_map(Worker::stats).collect()
        }
        Err(_) => Vec::new(),
    }
}

impl Worker {
    fn stats(self) -> Option<WorkerStats> {
        let figures: Figures = serde_json::from_value(self.last_status?).ok()?;
        Some(figures.of(Some(self.pid)))
    }
}

impl Figures {
    fn of(self, pid: Option<u32>) -> WorkerStats {
        WorkerStats {
            pid,
            waiting: self.backlog,
            free_threads: self.pool_capacity,
            threads: self.max_threads,
            requests: self.requests_count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_says_the_figures_of_each_worker_that_has_reported() {
        let body = r#"{"started_at":"2026-01-02T03:04:05Z","workers":2,"phase":0,
            "booted_workers":2,"old_workers":0,"worker_status":[
            {"started_at":"2026-01-02T03:04:05Z","pid":72,"index":0,"phase":0,"booted":true,
             "last_checkin":"2026-01-02T03:04:10Z","last_status":{"backlog":3,"running":5,
             "pool_capacity":1,"max_threads":5,"requests_count":41}},
            {"started_at":"2026-01-02T03:04:05Z","pid":73,"index":1,"phase":0,"booted":true,
             "last_checkin":"2026-01-02T03:04:05Z","last_status":{}}]}"#;
        let expected =
            WorkerStats { pid: Some(72), waiting: 3, free_threads: 1, threads: 5, requests: 41 };
        assert_eq!(read(body), [expected]);
    }

    #[test]
    fn a_single_process_says_its_own_and_what_is_no_stats_says_nothing() {
        let body = r#"{"started_at":"2026-01-02T03:04:05Z","backlog":0,"running":5,
            "pool_capacity":5,"max_threads":5,"requests_count":7}"#;
        let found = read(body);
        assert_eq!((found[0].pid, found[0].free_threads, found[0].requests), (None, 5, 7));
        for body in ["", "Invalid auth token", "{}", "[]", "{\"backlog\":-1}"] {
            assert_eq!(read(body), [], "{body}");
        }
    }
}
