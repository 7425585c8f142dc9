//! What is asked of a session's model.
//!
//! In and out: a value.

use std::time::Duration;

use super::fleet::FleetQuestion;
use crate::model::WhatIf;
use crate::terms::{Bytes, Cores, OtherRequests, QuantileLimit, Rate, Slo, Wait};

/// What is asked; what is `None` or empty is as it was measured, as all is by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// Each is predicted for.
    pub cores: Vec<Cores>,
    pub memory: Option<Bytes>,
    pub workers: Option<Vec<u16>>,
    pub threads: Option<Vec<u16>>,
    pub wait: Wait,
    /// Kinds of requests besides those that were measured; asks for a simulation.
    pub others: Vec<OtherRequests>,
    /// The rate at which latency is predicted.
    pub rate: Option<Rate>,
    pub slo: Option<Slo>,
    /// Play requests one by one instead of computing.
    pub is_simulated: bool,
    /// How long a thread may keep the interpreter's lock; asks for a simulation.
    pub quantum: Option<Duration>,
    /// Leave out what the load generator took of the server's cores.
    pub without_generator: bool,
    /// How many machines would be needed.
    pub fleet: Option<FleetQuestion>,
}

impl Question {
    /// The formulas know of no quantum and of no requests that differ.
    pub(super) fn is_played(&self) -> bool {
        self.is_simulated || self.quantum.is_some() || !self.others.is_empty()
    }

    /// The question as the model is asked it, on a machine with `cores`.
    pub(super) fn what_if(&self, goal: QuantileLimit, cores: Cores) -> WhatIf {
        WhatIf {
            cores: cores.get(),
            wait: self.wait,
            has_generator: !self.without_generator,
            goal,
            others: self.others.clone(),
            is_played: self.is_played(),
            quantum_s: self.quantum.map(|quantum| quantum.as_secs_f64()),
            rate: self.rate.map(Rate::as_per_second),
        }
    }
}
