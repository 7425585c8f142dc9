//! What the load engine saw, second by second: raw, mergeable, before anything is concluded.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::latencies::Latencies;
use super::units::Rate;

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal distances.
    Uniform,
    /// As independent users arrive: exponentially distributed distances.
    Poisson,
}

/// The load that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// Open model: requests are due at this rate, whatever the server does.
    Open { rate: Rate, arrivals: Arrivals },
    /// Closed model: each client waits for its reply, thinks, and asks again.
    Closed { clients: u32, think: Duration },
}

impl Offered {
    /// The arrival rate of an open model.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Self::Open { rate, .. } => Some(*rate),
            Self::Closed { .. } => None,
        }
    }

    /// The clients of a closed model.
    pub fn clients(&self) -> Option<u32> {
        match self {
            Self::Open { .. } => None,
            Self::Closed { clients, .. } => Some(*clients),
        }
    }
}

/// The statuses of good replies: a request that ends with another, or without a reply, counts as
/// failed.
pub const GOOD_STATUSES: Range<u16> = 200..400;

/// Requests that ended without a status line we could read, each in exactly one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCounts {
    /// The address refused the connection.
    pub refused: u64,
    /// The connection was reset while in use.
    pub reset: u64,
    /// Not answered within the timeout (also: given up when the run was stopped).
    pub timeout: u64,
    /// The reply was not HTTP we understand.
    pub malformed: u64,
    /// No local port or address was left to connect from, or no file descriptor.
    pub address_unavailable: u64,
    pub tls: u64,
    pub dns: u64,
    /// The connection ended before the reply did.
    pub closed_early: u64,
    /// Never sent: more were in flight than allowed, or the run was stopped before.
    pub dropped: u64,
}

/// What was first seen to go wrong with TLS; `why` is the TLS library's own text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TlsTrouble {
    /// The server's certificate was not accepted.
    Certificate {
        /// What is wrong with it, of what is known; null: something else.
        fault: Option<CertificateFault>,
        why: String,
    },
    /// The server did not accept something of ours, and said so.
    Alert {
        why: String,
    },
    /// The server answered with something that is not TLS.
    NotTls,
    /// The server closed the connection in the handshake.
    Closed,
    /// HTTP/2 was asked for, and the server does not speak it.
    NoHttp2,
    Other {
        why: String,
    },
    /// A server that was asked without TLS answered with it.
    Unasked,
    /// A server that was asked in HTTP/1 answered in HTTP/2.
    OnlyHttp2,
}

/// What is wrong with a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CertificateFault {
    /// It was not signed by a CA that is trusted.
    Untrusted,
    /// Its time is over.
    Expired,
    /// It is for another name than the one that was asked for.
    OtherName,
}

/// The requests that were *due* in one second of the run, with what became of them, however late.
/// So any run of whole seconds can be cut out and still adds up: `due` is the sum of all statuses
/// and errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadSecond {
    /// Requests due in this second.
    pub due: u64,
    /// Of those, how many were handed to the kernel.
    pub sent: u64,
    /// Of those, how many were answered in full, by status.
    pub status: BTreeMap<u16, u64>,
    pub errors: ErrorCounts,
    /// From due to the last byte; a timeout counts with the time given up, other errors with
    /// theirs.
    pub latency: Latencies,
    /// From sent to the last byte, answered requests only.
    pub exchange_time: Latencies,
    /// From due until the generator acted on it (sent it, or began to connect), sent requests
    /// only. Requests that first had to wait for a free place (see `max_in_flight`) are not in
    /// it, for that is no lag of the generator's: `sent` less this count is how many did.
    pub send_lag: Latencies,
    /// Replies that *arrived* in this second (by the clock, whenever they were due).
    pub replies: u64,
    /// Requests in flight or waiting to be sent when this second ended.
    pub in_flight: u64,
    /// Mean of the number in flight or waiting to be sent, sampled by a timer through this second
    /// (Little's law check).
    pub in_flight_mean: f64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Of the replies to these requests, how many came from a cache, as far as they say so.
    #[serde(default)]
    pub cached: u64,
    /// Of the replies, how many passed a proxy that says so.
    #[serde(default)]
    pub via: u64,
    /// Of the answered requests, how many had to be sent once more, on a new connection, because
    /// the server had closed the idle one.
    #[serde(default)]
    pub retries: u64,
    /// Each target's requests, in the order of the mix; empty unless targets are told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_target: Vec<TargetSecond>,
}

/// What became of the requests of one target, or of several, that were due in one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetSecond {
    /// Those that were answered in full, by status.
    pub status: BTreeMap<u16, u64>,
    pub errors: ErrorCounts,
    /// As [`LoadSecond::latency`].
    pub latency: Latencies,
}

impl TargetSecond {
    /// How many they were: each ends under one status or in one class of errors.
    pub fn due(&self) -> u64 {
        self.status.values().sum::<u64>() + self.errors.total()
    }

    /// Adds other requests.
    pub fn add(&mut self, other: &Self) {
        add_statuses(&mut self.status, &other.status);
        self.errors.add(&other.errors);
        self.latency.add(&other.latency);
    }
}

/// The commonest status of replies that are not good, of two as common the lower; `None`: all are
/// good.
pub fn commonest_failure(status: &BTreeMap<u16, u64>) -> Option<u16> {
    let failed = status.iter().filter(|(status, _)| !GOOD_STATUSES.contains(*status));
    // Of several the last one is taken.
    failed.rev().max_by_key(|(_, count)| **count).map(|(status, _)| *status)
}

fn add_statuses(sum: &mut BTreeMap<u16, u64>, other: &BTreeMap<u16, u64>) {
    for (status, count) in other {
        *sum.entry(*status).or_default() += count;
    }
}

impl LoadSecond {
    /// Requests answered in full.
    pub fn completed(&self) -> u64 {
        self.status.values().sum()
    }

    /// Adds what another sender did in the same second.
    pub fn add(&mut self, other: &Self) {
        self.add_requests(other);
        self.replies += other.replies;
        self.in_flight += other.in_flight;
        self.in_flight_mean += other.in_flight_mean;
    }

    /// Adds the requests of another: all but what goes by the clock (`replies` and in flight).
    pub fn add_requests(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        add_statuses(&mut self.status, &other.status);
        self.errors.add(&other.errors);
        self.latency.add(&other.latency);
        self.exchange_time.add(&other.exchange_time);
        self.send_lag.add(&other.send_lag);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.cached += other.cached;
        self.via += other.via;
        self.retries += other.retries;
        if self.by_target.len() < other.by_target.len() {
            self.by_target.resize_with(other.by_target.len(), TargetSecond::default);
        }
        for (sum, other) in self.by_target.iter_mut().zip(&other.by_target) {
            sum.add(other);
        }
    }
}

/// What the generator itself used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorUse {
    /// Of its loops' threads alone, over the whole run.
    pub cpu_user: Duration,
    pub cpu_system: Duration,
    /// Largest resident set of our process so far, bytes.
    pub rss_bytes_max: u64,
    /// CPU time of the busiest loop divided by the time it ran, 0..=1.
    #[serde(default)]
    pub busiest_loop: f64,
}

/// One of several generators that sent a load together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetMember {
    /// From where it joined.
    pub address: String,
    /// The shortest to its clock, by which its beginning was set: that is right to half of it.
    pub round_trip: Option<Duration>,
    /// It began this long after it was to; `None`: it didn't begin.
    pub late: Option<Duration>,
    pub due: u64,
    pub sent: u64,
    pub send_lag_p99: Option<Duration>,
    /// CPU time of its busiest loop divided by the time it ran, 0..=1.
    pub busiest_loop: f64,
    /// It was lost this long after the beginning.
    pub lost_at: Option<Duration>,
}

/// One run of the load engine, second by second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    #[serde(flatten)]
    pub run: LoadRun,
    /// By the second in which requests were due, oldest first, one entry a second without gaps,
    /// warm-up included.
    pub seconds: Vec<LoadSecond>,
}

/// One run of the load engine as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRun {
    pub offered: Offered,
    /// What the plan left for warming up; whole seconds.
    pub warm_up: Duration,
    /// How long requests were due for, from the first second's start; the last second may be
    /// partial.
    pub duration: Duration,
    /// From the first second's start to the last reply of all (zero when there was none).
    pub last_reply: Duration,
    /// True when a stop was asked for or the watcher ended the run before its time.
    pub is_cut_short: bool,
    /// Why the first request of class `tls` failed, or what explains the malformed replies.
    pub tls_trouble: Option<TlsTrouble>,
    /// Requests that should have had a row of their own and could not be told of in time.
    #[serde(default)]
    pub rows_left_out: u64,
    pub generator: GeneratorUse,
}
