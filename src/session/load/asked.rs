//! What was typed for a load, taken apart by the command line.
//!
//! In and out: a value.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::fleet::{ForHosts, OnLoss};
use crate::load::shape::Shape;
use crate::load::{Closing, Length, Placement, Protocol, TlsOptions};
use crate::plan::traffic::LogSpec;
use crate::terms::{Bytes, ConnectionMode, Slo, Target};

/// What was typed.
#[derive(Clone)]
pub struct Asked {
    /// Needed unless the targets file has whole URLs.
    pub url: Option<String>,
    pub unix: Option<PathBuf>,
    /// `--target`, in order.
    pub targets: Vec<Target>,
    pub targets_file: Option<PathBuf>,
    /// Where the mix comes from instead.
    pub access_log: Option<LogSpec>,
    /// A table of what variables in targets stand for.
    pub variables_file: Option<PathBuf>,
    /// Of the URL's own request.
    pub method: Option<String>,
    /// Body of the URL's own request, or `@FILE`.
    pub data: Option<String>,
    /// Of all requests, each `Name: value`.
    pub headers: Vec<String>,
    /// `user:password`.
    pub user: Option<String>,
    /// `None`: when and as often as in the access log.
    pub shape: Option<Shape>,
    pub warm_up: Duration,
    /// Not looked at when the shape has a length of its own.
    pub length: Length,
    pub connection: ConnectionMode,
    pub closing: Closing,
    pub protocol: Protocol,
    /// Clients keep cookies.
    pub keeps_cookies: bool,
    pub timeout: Duration,
    pub max_in_flight: Option<u32>,
    /// `None`: as many as the load needs, at most one for each core.
    pub loops: Option<u16>,
    pub seed: u64,
    pub slo: Option<Slo>,
    pub allows_public: bool,
    /// For `https://`.
    pub tls: TlsOptions,
    /// `None`: this program sends all of it.
    pub fleet: Option<FleetAsked>,
    /// Where the generator runs, and how it comes to its turn.
    pub placement: Placement,
}

/// A load sent together. No `Debug`: token and files may be secret.
#[derive(Clone, PartialEq)]
pub struct FleetAsked {
    /// Generators in all.
    pub generators: u16,
    pub role: Role,
    /// For all to gather.
    pub within: Duration,
    /// `SWEETSPOT_FLEET_TOKEN`; empty: none is asked for.
    pub token: String,
    /// Where whoever collects is told what to send, load after load; `None`: it is the one load
    /// that was typed.
    pub orders: Option<SocketAddr>,
}

/// What this program does for it.
#[derive(Clone, PartialEq)]
pub enum Role {
    /// It sends nothing itself.
    Collect { listen: SocketAddr, on_loss: OnLoss },
    /// `host:port`. `is_own`: it has started this program itself.
    Join { collector: String, is_own: bool },
    /// Pods of a cluster collect and generate.
    Pods(ClusterAsked),
    /// Other hosts generate, and this program collects.
    Hosts(ForHosts),
}

/// The pods of a cluster that send a load.
#[derive(Clone, PartialEq)]
pub struct ClusterAsked {
    pub image: String,
    /// `None`: as the cluster has it.
    pub pull_policy: Option<String>,
    /// `None`: the context's.
    pub namespace: Option<String>,
    /// `None`: the current one.
    pub context: Option<String>,
    /// Of each generator's pod.
    pub cpus: f64,
    pub memory: Bytes,
    /// Labels of pods whose nodes are left alone.
    pub away_from: Vec<(String, String)>,
    /// A context that looks like production is meant.
    pub is_confirmed: bool,
    /// Of `sweetspot` in the pods.
    pub arguments: Vec<String>,
    /// What they name as `/files/NAME`.
    pub files: Vec<(String, String)>,
    pub on_loss: OnLoss,
}

impl Asked {
    /// Others send it, in a network of their own.
    pub fn is_sent_elsewhere(&self) -> bool {
        let role = self.fleet.as_ref().map(|fleet| &fleet.role);
        matches!(role, Some(Role::Pods(_) | Role::Hosts(_)))
    }

    /// One request to this server over kept connections, with nothing else asked for.
    pub fn new(url: impl Into<String>, shape: Shape, duration: Duration) -> Self {
        Self {
            url: Some(url.into()),
            unix: None,
            targets: Vec::new(),
            targets_file: None,
            access_log: None,
            variables_file: None,
            method: None,
            data: None,
            headers: Vec::new(),
            user: None,
            shape: Some(shape),
            warm_up: Duration::ZERO,
            length: Length::Duration(duration),
            connection: ConnectionMode::KeepAlive,
            closing: Closing::default(),
            protocol: Protocol::default(),
            keeps_cookies: false,
            timeout: Duration::from_secs(10),
            max_in_flight: None,
            loops: None,
            seed: 1,
            slo: None,
            allows_public: false,
            tls: TlsOptions::default(),
            fleet: None,
            placement: Placement::default(),
        }
    }
}
