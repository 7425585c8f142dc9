//! A generator on another host, which sends all loads of a session; the app is changed and asked
//! from here all the same.
//!
//! In: offers. Out: what was recorded of each.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::fleet::{Collector, FleetError, ForHosts, Gathered, Hosts, Offer, gather_hosts};
use crate::place::PlaceError;
use crate::terms::{LiveSecond, LoadRecord, StopSignal};

/// To be copied there, and to join.
const WITHIN: Duration = Duration::from_secs(120);

/// A rate beyond what one loop can send is beyond one app.
const LOOPS: u16 = 1;

/// A host's generator; ended when it is dropped.
pub struct Away {
    collector: Collector,
    _hosts: Hosts,
}

impl Away {
    /// Has it join.
    ///
    /// # Errors
    /// It cannot be had to.
    pub fn begin(order: &ForHosts, stop: &StopSignal) -> Result<Self, PlaceError> {
        let (collector, hosts) = gather_hosts(order, WITHIN, stop).map_err(in_words)?;
        Ok(Self { collector, _hosts: hosts })
    }

    /// Sends one load.
    ///
    /// # Errors
    /// It is gone, or could not send it.
    pub fn send(
        &mut self,
        offer: Offer,
        stop: &StopSignal,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<LoadRecord, PlaceError> {
        let mut seconds = Vec::new();
        let mut second = |second| seconds.push(second);
        let sent = self.collector.send(LOOPS, Some(offer), stop, watch, &mut second);
        let Gathered { run, generators } = sent.map_err(in_words)?;
        match generators.iter().find(|one| one.lost_at.is_some()) {
            Some(lost) => {
                let why =
                    format!("the generator at {} was lost in the middle of a load", lost.address);
                Err(PlaceError::Elsewhere(why))
            }
            None => Ok(LoadRecord { run, seconds }),
        }
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        self.collector.dismiss();
    }
}

fn in_words(error: FleetError) -> PlaceError {
    match error {
        FleetError::Stopped => PlaceError::Stopped,
        error => PlaceError::Elsewhere(error.to_string()),
    }
}
