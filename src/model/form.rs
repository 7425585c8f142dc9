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

    /// What the clients of a closed load keep busy: of an event loop as many places as they are, of
    /// workers with threads no more than that.
    pub fn occupied(&self, configuration: Configuration, clients: Option<u32>) -> Configuration {
        match (self, clients) {
            (Self::EventLoop, Some(clients)) => event_loop::occupied(configuration, clients),
            (_, Some(clients)) if clients < configuration.slots() => spread(configuration, clients),
            _ => configuration,
        }
    }
}

/// So few requests on its workers, each on the one with the fewest.
fn spread(configuration: Configuration, requests: u32) -> Configuration {
    let workers = requests.clamp(1, configuration.workers.get().into());
    let threads = requests.div_ceil(workers).max(1);
    Configuration::new(workers as u16, threads as u16).unwrap_or(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_clients_than_threads_keep_as_many_busy_as_they_are() {
        let at = |workers, threads| Configuration::new(workers, threads).unwrap();
        for (clients, occupied) in [(3, at(3, 1)), (4, at(4, 1)), (10, at(4, 3)), (32, at(4, 8))] {
            assert_eq!(Form::Threads.occupied(at(4, 8), Some(clients)), occupied, "{clients}");
        }
        assert_eq!(Form::Threads.occupied(at(4, 8), None), at(4, 8));
    }
}
