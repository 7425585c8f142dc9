//! When requests are due: pure values, with no clock and no socket inside.
//!
//! In: a [`Shape`], a seed and which of how many loops asks. Out: due times, in nanoseconds since
//! the load began. Must not know how a request is sent.

mod arrivals;
mod clients;

use std::time::Duration;

use crate::terms::{Arrivals, Offered, Rate};

pub use arrivals::DueTimes;
pub use clients::{LoopClients, Ready};

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

/// One of several loops that share a load: `index` counts from 0 and is below `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub index: u16,
    pub of: u16,
}

impl Part {
    /// The whole load in one loop.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// This part's share of `total` things dealt out in turn: the shares of all parts add up.
    pub fn share(self, total: u32) -> u32 {
        let (index, of) = (u32::from(self.index), u32::from(self.of));
        total / of + u32::from(index < total % of)
    }
}

/// Duration as nanoseconds, the unit of due times; 584 years at most.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_loops_add_up() {
        for of in 1..9 {
            for total in 0..40 {
                let sum: u32 = (0..of).map(|index| Part { index, of }.share(total)).sum();
                assert_eq!(sum, total, "{total} among {of}");
            }
        }
    }
}
