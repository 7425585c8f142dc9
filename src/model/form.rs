//! How a worker takes requests in, and what that makes of it for the formulas.

use super::{Demand, Scalability, event_loop};
use crate::terms::Configuration;

/// How a worker takes requests in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// One a thread.
    Threads,
    /// One a thread, as far as can be told: of a server that is not known, throughput follows its
    /// own curve where there are points enough to have one.
    Unknown(Option<Scalability>),
    /// An event loop: as many as come, while the one that computes holds the others up.
    EventLoop,
}

impl Form {
    /// The configuration as the formulas know it: an event loop has as many threads as may be of
    /// use.
    pub fn places(&self, configuration: Configuration, demand: &Demand) -> Configuration {
        match self {
            Self::Threads | Self::Unknown(_) => configuration,
            Self::EventLoop => event_loop::as_threads(configuration, demand),
        }
    }

    /// The request as the formulas know it, and by how much less it waits there, seconds.
    pub fn computed(&self, configuration: Configuration, demand: &Demand) -> (Demand, f64) {
        match self {
            Self::Threads | Self::Unknown(_) => (*demand, 0.0),
            Self::EventLoop => event_loop::squeezed(configuration, demand),
        }
    }

    /// What the clients of a closed load keep busy: of an event loop as many places as they are.
    pub fn occupied(&self, configuration: Configuration, clients: Option<u32>) -> Configuration {
        match (self, clients) {
            (Self::EventLoop, Some(clients)) => event_loop::occupied(configuration, clients),
            _ => configuration,
        }
    }
}
