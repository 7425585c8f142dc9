//! When requests are due: pure values, with no clock and no socket inside.
//!
//! In: a [`Shape`] and a seed. Out: due times. Must not know how a request is sent.

use std::time::Duration;

use crate::terms::{Arrivals, Offered, Rate};

/// A load shape. An enum and no trait, because it is stored and sent to other machines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Open model at one rate.
    Constant { rate: Rate, arrivals: Arrivals },
    /// Closed model.
    Clients { clients: u32, think: Duration },
}

impl Shape {
    /// The load as trials name it.
    pub fn offered(&self) -> Offered {
        match *self {
            Self::Constant { rate, arrivals } => Offered::Open { rate, arrivals },
            Self::Clients { clients, think } => Offered::Closed { clients, think },
        }
    }
}

impl From<Offered> for Shape {
    fn from(offered: Offered) -> Self {
        match offered {
            Offered::Open { rate, arrivals } => Self::Constant { rate, arrivals },
            Offered::Closed { clients, think } => Self::Clients { clients, think },
        }
    }
}
