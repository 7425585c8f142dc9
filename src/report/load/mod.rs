//! A load's result in the words of whoever reads it: ours, or those of the tool that it is compared
//! with.
//!
//! In: what was asked for ([`About`]) and what came of it ([`LoadResult`]); for `hlog` and `csv`
//! each second or request as it ends ([`Sinks`]), so that nothing is kept in memory. Out: text.
//! Must not judge, and must not name what is secret.
//!
//! In every format latency counts from the moment a request was due, and requests that were given
//! up are among the latencies. A figure that a tool prints and we don't measure is what that tool
//! prints when there was nothing to measure; the head of its file says which.

mod ab;
pub mod csv;
mod hgrm;
pub mod hlog;
mod json;
mod k6;
mod sinks;
pub mod text;
mod vegeta;
mod wrk;

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

use super::{junit, metrics, prometheus};
use crate::terms::{LoadSecond, LoadSummary};
pub use sinks::{SinkFailure, Sinks};

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
    fn path(&self) -> &str {
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
    fn good(&self) -> u64 {
        self.all.status.range(200..400).map(|(_, count)| count).sum()
    }

    /// Seconds from the first due time to the last reply, or to the end of the last request's
    /// second when that is later: what the summary's rates are divided by.
    fn span_s(&self) -> f64 {
        match self.summary.throughput_rps {
            rate if rate > 0.0 => self.good() as f64 / rate,
            _ => self.summary.duration_s,
        }
    }

    /// A count by [`span_s`](Self::span_s); 0 when nothing was measured.
    fn per_second(&self, count: u64) -> f64 {
        match self.span_s() {
            span if span > 0.0 => count as f64 / span,
            _ => 0.0,
        }
    }

    /// What closed tools call connections or concurrency: the clients; in the open model, where
    /// nobody chooses it, the mean number in flight (rate x mean latency), rounded up.
    fn concurrency(&self) -> u64 {
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

/// A form that a result can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Written when the load is over.
    Report(Report),
    /// Written as the load goes.
    Stream(Stream),
}

/// The forms of a finished load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    Text,
    Json,
    Hgrm,
    Vegeta,
    VegetaJson,
    Wrk,
    Ab,
    K6,
    Junit,
    Prometheus,
}

/// The forms of a load that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Hlog,
    Csv,
}

impl Format {
    /// All of them, by the name that users type.
    pub const ALL: &[(&str, Self)] = &[
        ("text", Self::Report(Report::Text)),
        ("json", Self::Report(Report::Json)),
        ("hgrm", Self::Report(Report::Hgrm)),
        ("hlog", Self::Stream(Stream::Hlog)),
        ("csv", Self::Stream(Stream::Csv)),
        ("vegeta", Self::Report(Report::Vegeta)),
        ("vegeta-json", Self::Report(Report::VegetaJson)),
        ("wrk", Self::Report(Report::Wrk)),
        ("ab", Self::Report(Report::Ab)),
        ("k6", Self::Report(Report::K6)),
        ("junit", Self::Report(Report::Junit)),
        ("prometheus", Self::Report(Report::Prometheus)),
    ];

    /// The format of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        let of_this = Self::ALL.iter().find(|(_, format)| *format == self);
        of_this.map(|(name, _)| *name).expect("ALL has every format")
    }
}

impl Report {
    /// The result in this form, ending in a line end.
    pub fn render(self, result: &LoadResult<'_>) -> String {
        match self {
            Self::Text => text::render(result),
            Self::Json => json::render(result),
            Self::Hgrm => hgrm::render(result),
            Self::Vegeta => vegeta::text(result),
            Self::VegetaJson => vegeta::json(result),
            Self::Wrk => wrk::render(result),
            Self::Ab => ab::render(result),
            Self::K6 => k6::render(result),
            Self::Junit => junit::load(result),
            Self::Prometheus => prometheus::render(&metrics::of_load(result)),
        }
    }
}

/// A latency in milliseconds; 0 when there is none.
fn milliseconds(time: Option<Duration>) -> f64 {
    time.unwrap_or_default().as_nanos() as f64 / 1e6
}
