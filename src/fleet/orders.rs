//! Loads that a collector is told to send one after the other, by a program that is run beside it
//! in its pod: a line of JSON each, over a loopback connection, answered by `ok`.
//!
//! In: an address of this machine. Out: orders.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::Offer;
use super::wire;
use crate::terms::StopSignal;

/// For an order to come once its connection is there, and for its answer to be read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks at the user's wish to end.
const TICK: Duration = Duration::from_millis(50);

const TAKEN: &str = "ok";

/// What a collector is told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The next load. One that has been ordered before is not sent again: whoever orders cannot
    /// always know whether an order came.
    Send {
        /// Counts from 1.
        number: u32,
        offer: Offer,
        /// Of each generator.
        loops: u16,
    },
    /// Nothing more of the load that runs is due. `now`: replies are not awaited either.
    Stop { now: bool },
    /// There is no further load.
    Bye,
}

/// A load to send, and what ends it early.
#[derive(Debug, Clone)]
pub struct Ordered {
    pub number: u32,
    pub offer: Offer,
    pub loops: u16,
    pub ending: StopSignal,
}

/// Orders as they come.
pub struct Orders {
    told: Receiver<Ordered>,
}

impl Orders {
    /// Listens there from now on.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let (teller, told) = channel();
        thread::spawn(move || {
            let mut last: Option<Ordered> = None;
            for stream in listener.incoming().flatten() {
                let Ok(order) = take(stream) else { continue };
                match order {
                    Order::Send { number, offer, loops } => {
                        if last.as_ref().is_some_and(|last| last.number >= number) {
                            continue;
                        }
                        let ordered =
                            Ordered { number, offer, loops, ending: StopSignal::default() };
                        last = Some(ordered.clone());
                        if teller.send(ordered).is_err() {
                            return;
                        }
                    }
                    Order::Stop { now } => {
                        let times = if now { 2 } else { 1 };
                        let ending = last.iter().map(|last| &last.ending);
                        ending.for_each(|it| (0..times).for_each(|_| it.raise()));
                    }
                    Order::Bye => return,
                }
            }
        });
        Ok(Self { told })
    }

    /// The next load; `None` when there is no further one, or the user wants to end.
    pub fn next(&self, stop: &StopSignal) -> Option<Ordered> {
        while !stop.is_raised() {
            match self.told.recv_timeout(TICK) {
                Ok(ordered) => return Some(ordered),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }
}

fn take(stream: TcpStream) -> io::Result<Order> {
    let (mut receiver, writer) = wire::open(stream)?;
    receiver.wait_at_most(Some(PATIENCE))?;
    let order = receiver.next()?.ok_or(io::ErrorKind::UnexpectedEof)?;
    writer.send(&TAKEN)?;
    Ok(order)
}

/// Hands an order, as JSON, to the collector that listens there.
///
/// # Errors
/// Nobody listens, or what was given is no order.
pub fn hand_over(address: SocketAddr, order: &str) -> io::Result<()> {
    let order: Order = serde_json::from_str(order).map_err(io::Error::other)?;
    let (mut receiver, writer) = wire::open(TcpStream::connect_timeout(&address, PATIENCE)?)?;
    receiver.wait_at_most(Some(PATIENCE))?;
    writer.send(&order)?;
    match receiver.next::<String>()?.as_deref() {
        Some(TAKEN) => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{ConnectionMode, Offered, StopRequest};

    /// The text that tells a collector to send a load of this number.
    fn sending(number: u32) -> String {
        let offer = Offer {
            offered: Offered::Closed { clients: 2, think: Duration::ZERO },
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(1),
            seed: 7,
            connection: ConnectionMode::Fresh,
        };
        serde_json::to_string(&Order::Send { number, offer, loops: 1 }).unwrap()
    }

    fn free_address() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    #[test]
    fn loads_come_in_order_each_once_and_one_that_runs_can_be_ended() {
        let address = free_address();
        let orders = Orders::listen(address).unwrap();
        let stop = StopSignal::default();
        let tell = |order: &str| hand_over(address, order).unwrap();
        for number in [1, 1, 2] {
            tell(&sending(number));
        }
        let first = orders.next(&stop).unwrap();
        let second = orders.next(&stop).unwrap();
        assert_eq!((first.number, second.number), (1, 2), "an order that came twice is one load");
        assert_eq!(second.offer.seed, 7);
        tell(r#"{"stop":{"now":false}}"#);
        tell(r#""bye""#);
        assert!(orders.next(&stop).is_none());
        assert_eq!(second.ending.requested(), StopRequest::Finish);
        assert_eq!(first.ending.requested(), StopRequest::None, "it is over");
    }

    #[test]
    fn what_is_no_order_is_refused_where_it_was_given() {
        let address = free_address();
        let orders = Orders::listen(address).unwrap();
        hand_over(address, "{\"send\":{}}").unwrap_err();
        let stop = StopSignal::default();
        stop.raise();
        assert!(orders.next(&stop).is_none(), "whoever wants to end waits for no order");
        let nobody = free_address();
        hand_over(nobody, r#""bye""#).unwrap_err();
    }
}
