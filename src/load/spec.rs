//! What a load is to be: where requests go, which, when, how, and for how long.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::request::Variables;
use super::shape::{Part, Shape};
use super::tls::TlsSettings;
use crate::terms::{ConnectionMode, Target};

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
    /// Until this number of requests was due.
    Requests(u64),
}

/// What is spoken with the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a connection.
    #[default]
    Http1,
    /// HTTP/2 from the first byte on (over TLS as agreed in the handshake), with at most
    /// `streams` requests under way on a connection.
    Http2 { streams: u16 },
}

/// Who ends a connection that is used up. The side that does so first keeps its port for a minute,
/// unless the connection is reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Closing {
    /// The server, which is sent `Connection: close`; after a second we do.
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
    /// Ask for real-time priority (failing that, for a better nice level) while the load runs.
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
    pub records_each_target: bool,
    /// Hand out a row for each request; see [`Callbacks::rows`](super::Callbacks::rows).
    pub keeps_rows: bool,
    /// `None`: plain HTTP.
    pub tls: Option<TlsSettings>,
    /// From due to the last byte.
    pub timeout: Duration,
    /// Most requests in flight in the open model; requests beyond wait, and are `dropped` when
    /// their timeout passes before they could be sent. `None`: the file-descriptor limit.
    pub max_in_flight: Option<u32>,
    /// What this generator sends of the load; the others send the rest, each with as many loops.
    pub part: Part,
    /// Threads that generate load; 1 or more.
    pub loops: u16,
    pub seed: u64,
    pub placement: Placement,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Ten requests of two clients, to a server that is not there.
    pub fn spec() -> LoadSpec {
        LoadSpec {
            address: Address::Unix("/no/socket/here".into()),
            host: "app".into(),
            targets: vec![Target::get("/")],
            variables: None,
            keeps_cookies: false,
            shape: Shape::Clients { clients: 2, think: Duration::ZERO },
            warm_up: Duration::ZERO,
            length: Length::Requests(10),
            connection: ConnectionMode::KeepAlive,
            closing: Closing::default(),
            protocol: Protocol::Http1,
            records_each_target: false,
            keeps_rows: false,
            tls: None,
            timeout: Duration::from_secs(1),
            max_in_flight: None,
            part: Part::WHOLE,
            loops: 2,
            seed: 1,
            placement: Placement::default(),
        }
    }
}
