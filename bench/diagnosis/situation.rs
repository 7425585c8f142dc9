//! A situation that is made on purpose, as values: what runs, what is beside it, the load, and what
//! truly sets the limit.
//!
//! In and out: values. Starts nothing.

use std::time::Duration;

use sweetspot::terms::{Arrivals, ConnectionMode, LimitKind, Offered, Rate, TrialPurpose};

/// Cores that the server has unless a situation is about their number.
pub const CORES: f64 = 2.0;

/// One cause, at one or more sizes.
pub struct Situation {
    /// `SITUATIONS` names it.
    pub name: &'static str,
    /// What sets the limit, written down before anything was measured.
    pub truth: LimitKind,
    /// It has to be told apart from what it resembles, or has no limit at all.
    pub is_control: bool,
    pub sizes: Vec<Size>,
}

/// A situation at one size.
#[derive(Clone)]
pub struct Size {
    pub workers: u16,
    pub threads: u16,
    /// A folder of `apps/`.
    pub app: &'static str,
    pub path: &'static str,
    /// The app's own variables.
    pub env: &'static [(&'static str, &'static str)],
    pub server: Server,
    /// `None`: all that the process may use.
    pub cores: Option<f64>,
    pub memory_mib: Option<u64>,
    pub services: &'static [Service],
    pub connection: ConnectionMode,
    pub timeout: Duration,
    pub purpose: TrialPurpose,
    pub offered: Offered,
    pub beside: Beside,
    /// The server's processes tell what they do inside.
    pub is_probed: bool,
}

/// What serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Puma,
    PumaBehindNginx,
    /// As users write it, with places for workers, threads and port.
    Command(&'static str),
}

/// What the app needs beside itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// With a table of orders.
    Mariadb,
    /// A service elsewhere that answers when the time asked for is over.
    Slow,
}

/// What there is besides server and load.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    Nothing,
    /// This many processes that compute without a pause on the server's cores.
    Busy(u16),
    /// A process that holds memory and sleeps.
    Asleep,
    /// Nothing, but all of it is on one core, and the generator has no right to come first there.
    OneCore,
    /// All workers but one stand still while the clients open the connections that they then keep.
    StandingStill,
    /// Nothing, but each of nginx's processes has room for this many connections.
    FewConnections(u16),
}

impl Size {
    /// On Puma, with fresh connections and a closed load that saturates.
    pub fn new(app: &'static str, path: &'static str) -> Self {
        Self {
            workers: 1,
            threads: 1,
            app,
            path,
            env: &[],
            server: Server::Puma,
            cores: Some(CORES),
            memory_mib: None,
            services: &[],
            connection: ConnectionMode::Fresh,
            timeout: Duration::from_secs(10),
            purpose: TrialPurpose::Saturate,
            offered: Offered::Closed { clients: 1, think: Duration::ZERO },
            beside: Beside::Nothing,
            is_probed: false,
        }
    }

    /// This size with these numbers of workers and threads.
    pub fn of(self, workers: u16, threads: u16) -> Self {
        Self { workers, threads, ..self }
    }

    /// This size under a closed load: clients that ask again as soon as they are answered.
    pub fn under(self, clients: u32) -> Self {
        Self { offered: Offered::Closed { clients, think: Duration::ZERO }, ..self }
    }

    /// This size at a rate, requests/s, as independent users make it: can it be sustained?
    pub fn at(self, rps: f64) -> Self {
        let rate = Rate::per_second(rps).expect("the rates written down here are above zero");
        let offered = Offered::Open { rate, arrivals: Arrivals::Poisson };
        Self { purpose: TrialPurpose::Probe, offered, ..self }
    }

    /// For people: what differs from one size to another.
    pub fn text(&self) -> String {
        let mut parts = vec![format!("{} x {}", self.workers, self.threads)];
        parts.push(match self.offered {
            Offered::Open { rate, .. } => rate.to_string(),
            Offered::Closed { clients, think } if think.is_zero() => format!("{clients} clients"),
            Offered::Closed { clients, think } => {
                format!("{clients} clients that think {} ms", think.as_millis())
            }
        });
        parts.extend(self.cores.filter(|cores| *cores != CORES).map(|it| format!("{it} cores")));
        parts.extend(self.memory_mib.map(|mib| format!("{mib} MiB")));
        match self.beside {
            Beside::Busy(count) => parts.push(format!("{count} neighbours")),
            Beside::FewConnections(count) => parts.push(format!("{count} connections a process")),
            Beside::OneCore => parts.push("1 core for all".to_string()),
            Beside::Nothing | Beside::Asleep | Beside::StandingStill => {}
        }
        parts.join(", ")
    }
}
