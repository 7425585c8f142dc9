//! A generator on another host, which sends all loads of a session; the app is changed and asked
//! from here all the same. Where it is lost, another is begun there.
//!
//! In: offers. Out: what was recorded of each.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use crate::fleet::{self, Collector, FleetError, ForHosts, Gathered, Hosts, gather_hosts};
use crate::place::{Offer, PlaceError};
use crate::terms::{ConnectionMode, LiveSecond, LoadRecord, StopSignal};

/// To be copied there, and to join.
const WITHIN: Duration = Duration::from_secs(120);

/// Between two tries to reach a host that was lost.
const AGAIN: Duration = Duration::from_secs(1);

/// A rate beyond what one loop can send is beyond one app.
const LOOPS: u16 = 1;

/// How often one load is sent again whose generator was lost.
pub const REPEATS: u32 = 2;

/// Another host that sends loads.
pub struct Away {
    order: ForHosts,
    /// From the first load on.
    generator: Option<Generator>,
    /// The last one was lost: when its load is over there too, though nobody could tell it to end.
    lost_until: Option<Instant>,
}

/// A host's generator; ended when it is dropped.
struct Generator {
    collector: Collector,
    _hosts: Hosts,
}

impl Away {
    /// Nothing is begun there yet.
    pub fn new(order: ForHosts) -> Self {
        Self { order, generator: None, lost_until: None }
    }

    /// Whether an app with one of these addresses runs there, as far as names say it.
    pub fn is_at(&self, addresses: &[SocketAddr]) -> bool {
        self.order.hosts.iter().any(|host| host.is_at(addresses))
    }

    /// Sends one load. The inner error: its generator was lost, and another may send it again.
    ///
    /// # Errors
    /// No generator can be had there, or it could not send it.
    pub fn send(
        &mut self,
        (offer, connection): (&Offer, ConnectionMode),
        stop: &StopSignal,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Result<LoadRecord, PlaceError>, PlaceError> {
        let mut generator = match self.generator.take() {
            Some(generator) => generator,
            None => self.begin(stop)?,
        };
        let Offer { offered, warm_up, duration, seed, .. } = *offer;
        let order = fleet::Offer { offered, warm_up, duration, seed, connection };
        let mut seconds = Vec::new();
        let mut second = |second| seconds.push(second);
        let sent = generator.collector.send(LOOPS, Some(order), stop, watch, &mut second);
        let why = match sent {
            Ok(Gathered { run, generators }) => {
                let Some(lost) = generators.iter().find(|one| one.lost_at.is_some()) else {
                    self.generator = Some(generator);
                    return Ok(Ok(LoadRecord { run, seconds }));
                };
                format!("the generator at {} was lost in the middle of a load", lost.address)
            }
            Err(error @ (FleetError::LostBefore { .. } | FleetError::AllLost { .. })) => {
                error.to_string()
            }
            Err(error) => return Err(in_words(error)),
        };
        self.lost_until = Some(Instant::now() + warm_up + duration);
        Ok(Err(PlaceError::Elsewhere(why)))
    }

    /// Has a generator join. After a loss not before the load that it was sending is over, which
    /// would disturb the next; and again and again for a while, as the way there may be gone.
    fn begin(&mut self, stop: &StopSignal) -> Result<Generator, PlaceError> {
        let Some(over) = self.lost_until.take() else { return self.try_once(stop) };
        while Instant::now() < over {
            pause(stop)?;
        }
        loop {
            match self.try_once(stop) {
                Err(_) if over.elapsed() < WITHIN => pause(stop)?,
                begun => return begun,
            }
        }
    }

    fn try_once(&self, stop: &StopSignal) -> Result<Generator, PlaceError> {
        let (collector, hosts) = gather_hosts(&self.order, WITHIN, stop).map_err(in_words)?;
        Ok(Generator { collector, _hosts: hosts })
    }
}

/// When a load began, which another host may send: it joins first, and begins when all is ready.
/// The earliest of what its seconds tell, each of which is over by `now` and may be told late, but
/// not before it was asked for. `told`: by those before this one.
pub fn began(asked: Instant, told: Option<Instant>, second: &LiveSecond, now: Instant) -> Instant {
    let latest = now.checked_sub(second.at).unwrap_or(asked).max(asked);
    told.map_or(latest, |told| told.min(latest))
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.collector.dismiss();
    }
}

fn pause(stop: &StopSignal) -> Result<(), PlaceError> {
    if stop.is_raised() {
        return Err(PlaceError::Stopped);
    }
    thread::sleep(AGAIN);
    Ok(())
}

fn in_words(error: FleetError) -> PlaceError {
    match error {
        FleetError::Stopped => PlaceError::Stopped,
        error => PlaceError::Elsewhere(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_begins_some_time_after_it_was_asked_for_is_known_by_its_seconds() {
        let asked = Instant::now();
        let after = |ms: u64| asked + Duration::from_millis(ms);
        let second = |at_s: u64| LiveSecond {
            at: Duration::from_secs(at_s),
            ..LiveSecond::with_in_flight(1.0)
        };
        let mut told = None;
        // It begins after 20 s; its seconds come 30, 10 and 50 ms late.
        for (at_s, told_ms, expected_ms) in
            [(1, 21_030, 20_030), (2, 22_010, 20_010), (3, 23_050, 20_010)]
        {
            told = Some(began(asked, told, &second(at_s), after(told_ms)));
            assert_eq!(told, Some(after(expected_ms)), "second {at_s}");
        }
        let odd = began(asked, None, &second(5), after(1000));
        assert_eq!(odd, asked, "not before it was asked for");
    }
}
