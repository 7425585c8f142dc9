//! Loads of several pods, one after the other, by a fleet that stays there.
//!
//! In: offers. Out: what was recorded of each.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::Value;

use super::api::{Api, ApiError};
use super::collector::Said;
use super::fleet::{Fleet, FleetError, Order};
use super::patience::patiently;
use crate::fleet::{self, Relay};
use crate::place::Offer;
use crate::terms::{ConnectionMode, FleetMember, LiveSecond, LoadRecord, StopRequest, StopSignal};

/// Where the collector is told what to send; of its pod alone.
const ORDERS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7078);

/// A fleet that waits for loads to send.
pub struct Loads<'a> {
    fleet: Fleet<'a>,
    /// What is run in the collector's pod to hand over an order.
    program: String,
    sent: u32,
}

/// What came of a load.
pub struct Sent {
    pub record: LoadRecord,
    /// Those that were lost before it was over.
    pub lost: Vec<FleetMember>,
}

impl<'a> Loads<'a> {
    /// Makes the pods, and waits until they are ready for a load.
    ///
    /// # Errors
    /// As [`Fleet::begin`]; or the collector ends at once.
    pub fn begin(
        api: &'a dyn Api,
        order: Order,
        within: Duration,
        stop: &StopSignal,
        own: &mut dyn FnMut(&Value) -> Result<(), ApiError>,
    ) -> Result<Self, FleetError> {
        let order = Order { orders: Some(ORDERS), ..order };
        let fleet = Fleet::begin(api, order, within, stop, own)?;
        let mut loads = Self { fleet, program: String::new(), sent: 0 };
        loop {
            match loads.next()? {
                Relay::Ready { program } => {
                    loads.program = program;
                    return Ok(loads);
                }
                Relay::Failed { why } => return Err(FleetError::Failed { why }),
                _ => {}
            }
        }
    }

    /// As [`Fleet::nodes`].
    pub fn nodes(&self) -> &BTreeMap<String, u64> {
        self.fleet.nodes()
    }

    /// What has become of a generator that was lost, in words.
    pub fn fate(&self, lost: &FleetMember) -> String {
        self.fleet.fate(&lost.address)
    }

    /// Sends one load, each generator with so many loops.
    ///
    /// # Errors
    /// The pods are gone or could not send it, or the API server does not answer.
    pub fn send(
        &mut self,
        offer: &Offer,
        (connection, loops): (ConnectionMode, u16),
        stop: &StopSignal,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Sent, FleetError> {
        self.sent += 1;
        let wanted = fleet::Offer {
            offered: offer.offered,
            warm_up: offer.warm_up,
            duration: offer.duration,
            seed: offer.seed,
            connection: offer.connection.unwrap_or(connection),
        };
        self.tell(&fleet::Order::Send { number: self.sent, offer: wanted, loops })?;
        let mut seconds = Vec::new();
        let mut told = StopRequest::None;
        loop {
            match self.next()? {
                Relay::Live(live) => {
                    let wish = if watch(&live).is_break() { StopRequest::Finish } else { told };
                    let wish = wish.max(stop.requested());
                    if wish > told {
                        told = wish;
                        self.tell(&fleet::Order::Stop { now: wish == StopRequest::Now })?;
                    }
                }
                Relay::Second(second) => seconds.push(*second),
                Relay::Gathered { run, generators } => {
                    let lost = |member: &FleetMember| member.lost_at.is_some();
                    let lost = generators.into_iter().filter(lost).collect();
                    return Ok(Sent { record: LoadRecord { run, seconds }, lost });
                }
                Relay::Failed { why } => return Err(FleetError::Failed { why }),
                Relay::Joined { .. } | Relay::Ready { .. } | Relay::TooFew { .. } => {}
            }
        }
    }

    /// What is said next of loads.
    fn next(&mut self) -> Result<Relay, FleetError> {
        loop {
            match self.fleet.next_said()? {
                Some(Said::Relay(relay)) => return Ok(relay),
                Some(Said::Words(_)) => {}
                None => {
                    let why = format!("the collector's pod has ended{}", self.fleet.last_words());
                    return Err(FleetError::Failed { why });
                }
            }
        }
    }

    /// An order may be given again where it is not known whether it came: a load has a number.
    fn tell(&self, order: &fleet::Order) -> Result<(), FleetError> {
        let text = serde_json::to_string(order).unwrap_or_default();
        let address = ORDERS.to_string();
        let words = [self.program.as_str(), "__order", &address, &text];
        patiently(|| self.fleet.run_beside(&words)).map_err(|error| match error {
            ApiError::Command { message } => {
                FleetError::Failed { why: format!("an order was not taken: {message}") }
            }
            error => error.into(),
        })
    }
}
