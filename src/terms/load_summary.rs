//! One load's result in the shape that `load --json` prints and that every trial carries.
//!
//! Names and units are a promise to scripts: add, never rename. Seconds, bytes, requests/s.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goals::GoalList;
use super::latencies::LatencySummary;
use super::load_record::{Arrivals, ErrorCounts};
use super::reason::Reason;
use super::slo::{self, Slo};
use super::stated::{Stated, or_empty};
use super::warning::Warning;

/// How late requests left, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendLagSummary {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// Latency quantiles, in seconds; all zero when nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowLatency {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

/// The requests due in one second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// From the start of the run, warm-up included.
    pub start_s: f64,
    pub due: u64,
    pub sent: u64,
    pub completed: u64,
    /// Requests without a reply.
    pub errors: u64,
    /// Requests without a good reply: of 4xx and 5xx too. 0 in records from before it was noted.
    #[serde(default)]
    pub failed: u64,
    pub latency_s: WindowLatency,
    pub in_flight: u64,
}

/// What the generator used, as scripts see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorSummary {
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub rss_bytes_max: u64,
}

/// One of several generators that sent a load together. Times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberSummary {
    /// From where it joined.
    pub address: String,
    /// Requests of its part that were due, warm-up included.
    pub due: u64,
    pub sent: u64,
    pub send_lag_s_p99: Option<f64>,
    /// How long after the moment that was agreed on it began; null when it didn't.
    pub late_s: Option<f64>,
    /// The shortest round trip to it: its clock is known to half of that.
    pub round_trip_s: Option<f64>,
    /// CPU time of its busiest loop by the time it ran, 0 to 1.
    pub busiest_loop_ratio: f64,
    /// When it was lost, from the beginning; null when it came to the end.
    pub lost_after_s: Option<f64>,
}

/// The way to the server, from connections that were opened one after another before the load and
/// closed at once. Of several addresses the one that took longest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteSummary {
    /// Median time until a connection was open, in seconds: one round trip.
    pub connect_s: f64,
    /// By how much the 90th percentile of these times lies above their median, in seconds; null
    /// with fewer than 15 samples.
    pub jitter_s: Option<f64>,
    pub samples: u32,
}

/// A stage of a load whose rate changes: it goes evenly from one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    pub from_rps: f64,
    pub to_rps: f64,
    pub duration_s: f64,
}

/// How a load went on, beside its mean rate or the number of its clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ShapeSummary {
    /// One rate all the time.
    Constant,
    /// One after the other; at least one.
    Stages { stages: Vec<StageSummary> },
    /// Times that were recorded elsewhere, of so many requests.
    Recorded { requests: u64 },
    /// Each waits so long between a reply and its next request.
    Clients { think_s: f64 },
}

/// Whether the SLO was met; `met` is null while undecided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloSummary {
    pub met: Option<bool>,
    #[serde(rename = "text")]
    pub goals: GoalList,
    /// Why it is met, not met or undecided.
    #[serde(default, with = "or_empty")]
    #[schemars(with = "Stated<Reason>")]
    pub reason: Option<Stated<Reason>>,
}

/// The requests of one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetSummary {
    /// Such as `GET /orders`.
    pub target: String,
    pub due: u64,
    /// Without a reply, or with one that is neither 2xx nor 3xx.
    pub failed: u64,
    /// From due to the last byte.
    pub latency_s: WindowLatency,
}

/// One goal of a mix, and the requests that it is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalSummary {
    /// As in `p95<2s`; null where there is none, or none yet.
    #[serde(with = "slo::option_as_written")]
    #[schemars(with = "Option<String>")]
    pub slo: Option<Slo>,
    /// It is one target's own; else it is that of all targets without one.
    pub own: bool,
    /// In the order of the mix.
    pub targets: Vec<TargetSummary>,
    /// Of all of them together.
    pub due: u64,
    pub failed: u64,
    pub latency_s: WindowLatency,
    /// Null while undecided, and without a goal.
    pub met: Option<bool>,
    /// What the plain figures say, without any test; null without a goal, and without requests.
    pub leaning: Option<bool>,
    /// Why it is met, not met or undecided.
    #[serde(with = "or_empty")]
    #[schemars(with = "Stated<Reason>")]
    pub reason: Option<Stated<Reason>>,
    /// While undecided for want of requests: how many it takes even if none breaks the goal.
    pub requests_needed: Option<u64>,
}

/// The result of one load. Warm-up is left out of every figure but `windows`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSummary {
    /// Null when closed.
    pub offered_load_rps: Option<f64>,
    /// Null when open.
    pub clients: Option<u32>,
    pub duration_s: f64,
    /// Requests due after the warm-up: the sum of all of `status` and all of `errors`.
    pub due: u64,
    pub sent: u64,
    pub completed: u64,
    /// 2xx and 3xx replies until the last reply, or over `duration_s` where that is longer.
    pub throughput_rps: f64,
    /// Correct replies within the SLO's tightest latency limit; null without `--slo`.
    pub goodput_rps: Option<f64>,
    /// From due to the last byte.
    pub latency_s: LatencySummary,
    /// From sent to the last byte.
    pub exchange_time_s: LatencySummary,
    pub send_lag_s: SendLagSummary,
    /// Replies by status code.
    pub status: BTreeMap<String, u64>,
    pub errors: ErrorCounts,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// One a second, oldest first, warm-up included.
    pub windows: Vec<Window>,
    pub generator: GeneratorSummary,
    /// Null without `--slo`.
    pub slo: Option<SloSummary>,
    /// False when the generator set the limit, or one of several was lost.
    pub valid: bool,
    pub warnings: Vec<Warning>,
    /// The part at the beginning that was left out.
    #[serde(default)]
    pub warm_up_s: f64,
    /// Of the replies, how many came from a cache: `Age` above 0, a cache's `HIT`, or status 304.
    #[serde(default)]
    pub cached: u64,
    /// Of the replies, how many passed a proxy that says so (`Via`).
    #[serde(default)]
    pub via: u64,
    /// Of the answered requests, how many had to be sent once more, on a new connection, because
    /// the server had closed the idle one.
    #[serde(default)]
    pub retries: u64,
    /// Null where it was not measured: in trials, through unix sockets, of several generators, and
    /// where no server listens.
    pub route: Option<RouteSummary>,
    /// Of several targets that were told apart: each goal with its targets, that of the targets
    /// without one of their own first. Else empty.
    #[serde(default)]
    pub goals: Vec<GoalSummary>,
    /// Each of several generators that sent it together (`--generators`). Else empty.
    #[serde(default)]
    pub fleet: Vec<MemberSummary>,
    /// How its rate or its clients went on. Missing in trials, and in results from before it was
    /// noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeSummary>,
    /// How its arrivals were spaced. Missing with clients and recorded times, in trials, and in
    /// results from before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
}

impl LoadSummary {
    /// Good replies to the requests of the measured part, by its length: what a server under
    /// clients that send again at once gets through. They send as fast as they are answered; the
    /// time until the last reply, which `throughput_rps` counts, has a drain in which the server
    /// runs empty.
    pub fn got_through_rps(&self) -> f64 {
        if self.duration_s > 0.0 { self.good() as f64 / self.duration_s } else { 0.0 }
    }

    /// Requests without a good reply.
    pub fn failed(&self) -> u64 {
        self.due.saturating_sub(self.good())
    }

    /// Share of all requests without a good reply (0..=1).
    pub fn failed_share(&self) -> f64 {
        self.failed() as f64 / self.due.max(1) as f64
    }

    /// Replies 2xx and 3xx.
    pub fn good(&self) -> u64 {
        let is_good = |status: &str| status.starts_with(['2', '3']);
        self.status.iter().filter(|(status, _)| is_good(status)).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_got_through_is_good_replies_over_the_measured_part() {
        let status = [("200", 90), ("302", 10), ("502", 50)];
        let status = status.map(|(code, count)| (code.to_string(), count)).into();
        let summary = LoadSummary { duration_s: 5.0, status, ..LoadSummary::default() };
        assert_eq!(summary.got_through_rps(), 20.0);
        assert_eq!(LoadSummary::default().got_through_rps(), 0.0);
    }
}
