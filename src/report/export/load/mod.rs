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
pub mod capacity;
mod csv;
mod hgrm;
mod hlog;
mod k6;
mod result;
mod sinks;
pub mod text;
mod vegeta;
mod wrk;

#[cfg(test)]
mod tests;

use super::{json, junit, metrics, prometheus};
use crate::report::NamedForm;
use result::milliseconds;
pub use result::{About, LoadResult, RequestLine};
pub use sinks::{SinkFailure, Sinks};

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

impl NamedForm for Format {
    const ALL: &'static [(&'static str, Self)] = &[
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
}

impl Report {
    /// The result in this form, ending in a line end.
    pub fn render(self, result: &LoadResult<'_>) -> String {
        match self {
            Self::Text => text::render(result),
            Self::Json => json::render(result.summary),
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
