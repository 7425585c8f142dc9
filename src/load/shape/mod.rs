//! When requests are due: pure values, with no clock and no socket inside.
//!
//! In: a [`Shape`], a seed and which of how many loops asks. Out: due times. Must not know how a
//! request is sent.

mod arrivals;
mod clients;
mod cumulative;
mod due;
mod nanos;
mod stages;
mod times;

use std::sync::Arc;
use std::time::Duration;

use crate::terms::{Arrivals, Offered, Rate};

pub(super) use arrivals::DueTimes;
pub(super) use clients::LoopClients;
pub(super) use due::Due;
pub use due::Part;
pub(super) use nanos::{Nanos, Span};
pub use stages::{Stage, Stages, StagesError};
pub(super) use times::LoopTimes;
pub use times::{Times, TimesError};

/// A load shape. An enum and no trait, because it is stored and sent to other machines.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Open model at one rate.
    Constant { rate: Rate, arrivals: Arrivals },
    /// Open model whose rate changes: steps and ramps, one after the other. During the warm-up
    /// before them the rate is that with which the first begins; before a ramp from 0 nothing is
    /// due.
    Stages { stages: Arc<[Stage]>, arrivals: Arrivals },
    /// Open model whose due times were recorded. The warm-up, if there is one, is their beginning.
    Times(Arc<Times>),
    /// Closed model.
    Clients { clients: u32, think: Duration },
}

impl Shape {
    /// The load as trials name it; at its mean rate where that changes. Recorded arrivals count as
    /// Poisson's, which they are more like than uniform ones.
    pub fn offered(&self) -> Offered {
        match *self {
            Self::Constant { rate, arrivals } => Offered::Open { rate, arrivals },
            Self::Stages { ref stages, arrivals } => {
                Offered::Open { rate: stages::mean_rate(stages), arrivals }
            }
            Self::Times(ref times) => {
                Offered::Open { rate: times.mean_rate(), arrivals: Arrivals::Poisson }
            }
            Self::Clients { clients, think } => Offered::Closed { clients, think },
        }
    }

    /// How long requests are due for after this warm-up; `None` when the shape goes on for as long
    /// as it is asked to.
    pub fn length(&self, warm_up: Duration) -> Option<Duration> {
        match self {
            Self::Constant { .. } | Self::Clients { .. } => None,
            Self::Stages { stages, .. } => Some(stages::length(stages)),
            Self::Times(times) => Some(times.length().saturating_sub(warm_up)),
        }
    }

    /// Since the load began: nothing is due at or after this. `None` as for `length`.
    pub fn end(&self, warm_up: Duration) -> Option<Duration> {
        match self {
            Self::Constant { .. } | Self::Clients { .. } => None,
            Self::Stages { stages, .. } => Some(warm_up.saturating_add(stages::length(stages))),
            Self::Times(times) => Some(times.end()),
        }
    }

    /// The highest rate of the open model, of a recording its mean; `None` in the closed model.
    pub fn highest_rate(&self) -> Option<Rate> {
        match self {
            Self::Constant { rate, .. } => Some(*rate),
            Self::Stages { stages, .. } => stages::highest_rate(stages),
            Self::Times(times) => Some(times.mean_rate()),
            Self::Clients { .. } => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_by_itself_says_when_and_what_it_offers_on_the_average() {
        let s = Duration::from_secs;
        let Stages(stages) = "0..500/s:60s,0:30s".parse().unwrap();
        let stages = Shape::Stages { stages, arrivals: Arrivals::Uniform };
        assert_eq!((stages.length(s(5)), stages.end(s(5))), (Some(s(90)), Some(s(95))));
        let mean = stages.offered().rate().unwrap().as_per_second();
        assert!((mean - 15_000.0 / 90.0).abs() < 1e-9, "{mean}");
        assert_eq!(stages.highest_rate(), Some(Rate::per_second(500.0).unwrap()));

        let times = Times::new(vec![(s(9), 0), (s(0), 1), (s(3), 0), (s(4), 1)]).unwrap();
        let times = Shape::Times(Arc::new(times));
        assert_eq!((times.length(s(5)), times.length(s(20))), (Some(s(7)), Some(s(0))));
        assert_eq!(times.end(s(5)), Some(s(9) + Duration::from_nanos(1)));

        let clients = Shape::Clients { clients: 1, think: s(0) };
        assert_eq!((clients.length(s(5)), clients.end(s(5))), (None, None));
        assert_eq!(clients.highest_rate(), None);
    }
}
