//! One engine for every load shape: connections, sending, reading, recording.
//!
//! In: a [`LoadSpec`]. Out: a [`LoadRecord`], one entry a second. It concludes nothing (that is
//! `summary`'s work) and knows nothing of app servers.

mod clock;
mod connection;
mod cookies;
mod coordinator;
mod durations;
mod event_loop;
mod exchange;
mod exchange_http2;
mod http2;
mod marks;
mod poller;
mod recorder;
mod reply;
mod request;
mod rounds;
mod rows;
pub mod shape;
mod socket;
mod source;
mod thread;
mod tls;
mod transport;

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::terms::{
    ConnectionMode, LiveSecond, LoadRecord, LoadRun, LoadSecond, RequestRow, StopSignal, Target,
};
use shape::Shape;

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Resolved once; several are used in turn.
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

/// How long requests are due for, after the warm-up; stages and recordings say so themselves, and
/// are over then whatever is asked for here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Duration(Duration),
    /// Until so many requests were due.
    Requests(u64),
}

/// What is spoken with the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a connection.
    #[default]
    Http1,
    /// HTTP/2 from the first byte on (over TLS as agreed in the handshake), with at most so many
    /// requests under way on a connection.
    Http2 { streams: u16 },
}

/// Who ends a connection that is used up. Whoever does so first keeps its port for a minute, unless
/// the connection is reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Closing {
    /// The server, which was told so (`Connection: close`); after a second we do.
    #[default]
    Server,
    /// We do, as soon as the reply is complete.
    Client,
    /// We do, with a reset, which leaves no port waiting on either side.
    Reset,
}

/// Where the generator's loops run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The cores its loops may use; empty: as inherited.
    pub cpus: Vec<usize>,
    /// Ask for real-time priority (then for a higher nice level) while the load runs.
    pub raised_priority: bool,
}

/// One load.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    pub address: Address,
    /// The `Host` header.
    pub host: String,
    /// At least one.
    pub targets: Vec<Target>,
    /// What variables in targets stand for, besides those that need no table.
    pub variables: Option<Arc<Variables>>,
    /// Clients keep the cookies that they are given; for the closed model only.
    pub keeps_cookies: bool,
    pub shape: Shape,
    /// Whole seconds; the same load, without a pause before measuring. [`Shape`] says what that is
    /// when the rate changes.
    pub warm_up: Duration,
    pub length: Length,
    pub connection: ConnectionMode,
    pub closing: Closing,
    pub protocol: Protocol,
    /// Record each target's requests by themselves as well; takes room for each of them.
    pub tells_targets_apart: bool,
    /// Tell of each request; see [`Callbacks::rows`].
    pub keeps_rows: bool,
    /// `None`: plain HTTP.
    pub tls: Option<TlsSettings>,
    /// From due to the last byte.
    pub timeout: Duration,
    /// Most requests in flight in the open model; requests beyond wait, and are `dropped` when
    /// their timeout passes before they could be sent. `None`: the file-descriptor limit.
    pub max_in_flight: Option<u32>,
    /// Threads that generate load; 1 or more.
    pub loops: u16,
    pub seed: u64,
    pub placement: Placement,
}

/// Why no load could be generated. What the server does is never an error here: it is counted.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The generator's own environment: descriptors, memory, threads.
    // The cause is told after it, as that of every error.
    #[error("could not set up the load generator: {what}")]
    Environment {
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// The plan asks for something impossible.
    #[error("{0}")]
    Plan(String),
}

#[cfg(fuzzing)]
pub use reply::{Malformed, Memo, Progress, Reply};
pub use request::Variables;
pub use thread::{come_before_the_server, priority_permitted, raise_descriptor_limit};
pub use tls::{TlsOptions, TlsSettings};

/// Who is told what while a load runs.
pub struct Callbacks<'a> {
    /// About once a second, by the clock, while requests are due and while the last replies are
    /// awaited. Breaking ends the load.
    pub watch: &'a mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    /// Each second of the record, in order and without gaps, as soon as nothing can be added to it
    /// any more. Nothing of it is kept, so that memory does not grow with the length of the load.
    pub second: &'a mut dyn FnMut(LoadSecond),
    /// Requests that have ended, in no order, if the load keeps rows.
    pub rows: &'a mut dyn FnMut(&[RequestRow]),
}

/// Runs one load to its end, until `stop` is raised, or until it is told to break.
///
/// On the first stop request nothing more is due and replies in flight are awaited up to the
/// timeout; on the second everything ends at once.
///
/// # Errors
/// Only when the generator itself cannot work.
pub fn stream(
    spec: &LoadSpec,
    stop: &StopSignal,
    callbacks: Callbacks<'_>,
) -> Result<LoadRun, LoadError> {
    coordinator::run(spec, stop, callbacks)
}

/// As [`stream`], and keeps the whole record.
///
/// # Errors
/// As [`stream`].
pub fn run(
    spec: &LoadSpec,
    stop: &StopSignal,
    watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
) -> Result<LoadRecord, LoadError> {
    let mut seconds = Vec::new();
    let mut nobody = |_: &[RequestRow]| {};
    let second = &mut |second| seconds.push(second);
    let run = stream(spec, stop, Callbacks { watch, second, rows: &mut nobody })?;
    Ok(LoadRecord { run, seconds })
}
