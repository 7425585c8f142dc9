//! What was asked of a load, and what came of it.

use std::time::Duration;

use jiff::Timestamp;

use crate::terms::{GOOD_STATUSES, LoadSecond, LoadSummary};

/// What was asked for; without secrets.
#[derive(Debug, Clone)]
pub struct About {
    /// What is done, for people, a line each.
    pub description: Vec<String>,
    /// Scheme, host and port, such as `http://127.0.0.1:9292`.
    pub server: String,
    /// A name or an address, as in the URL.
    pub host: String,
    pub port: u16,
    /// In the order in which rows count them; at least one.
    pub targets: Vec<RequestLine>,
    /// Some target has a body.
    pub has_bodies: bool,
    /// When the load began, warm-up included.
    pub began: Timestamp,
    /// How long to measure; `None` when a number of requests was asked for.
    pub duration: Option<Duration>,
    /// Threads that generate load.
    pub loops: u16,
}

/// Method and path of a target; its query is left out, for it may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    pub method: String,
    pub path: String,
}

impl About {
    /// The path of the only target; `/` when there are several.
    pub fn path(&self) -> &str {
        match self.targets.as_slice() {
            [only] => &only.path,
            _ => "/",
        }
    }
}

/// What came of a load.
#[derive(Debug, Clone, Copy)]
pub struct LoadResult<'a> {
    pub about: &'a About,
    pub summary: &'a LoadSummary,
    /// The measured seconds as one, with their whole distributions.
    pub all: &'a LoadSecond,
}

impl LoadResult<'_> {
    /// Replies with status 2xx or 3xx.
    pub fn good(&self) -> u64 {
        self.all.status.range(GOOD_STATUSES).map(|(_, count)| count).sum()
    }

    /// Seconds from the first due time to the last reply, or to the end of the last request's
    /// second when that is later: what the summary's rates are divided by.
    pub fn span_s(&self) -> f64 {
        match self.summary.throughput_rps {
            rate if rate > 0.0 => self.good() as f64 / rate,
            _ => self.summary.duration_s,
        }
    }

    /// A count by [`span_s`](Self::span_s); 0 when nothing was measured.
    pub fn per_second(&self, count: u64) -> f64 {
        match self.span_s() {
            span if span > 0.0 => count as f64 / span,
            _ => 0.0,
        }
    }

    /// What closed tools call connections or concurrency: the clients; in the open model, where
    /// nobody chooses it, the mean number in flight (rate x mean latency), rounded up.
    pub fn concurrency(&self) -> u64 {
        let latency = &self.all.latency;
        let mean_s = latency.mean().unwrap_or_default().as_secs_f64();
        match (self.summary.clients, self.summary.duration_s) {
            (Some(clients), _) => u64::from(clients),
            (None, length) if length > 0.0 => {
                (latency.count() as f64 * mean_s / length).ceil().max(1.0) as u64
            }
            (None, _) => 1,
        }
    }
}

/// A latency in milliseconds; 0 when there is none.
pub fn milliseconds(time: Option<Duration>) -> f64 {
    time.unwrap_or_default().as_nanos() as f64 / 1e6
}
