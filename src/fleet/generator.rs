//! A generator of a fleet: joins, sends its part of each load, and tells the collector.
//!
//! In: the load as it was typed, and where the collector is. Out: nothing but what it told.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Channel, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::error::FleetError;
use super::message::{FromCollector, FromGenerator, Gate, Load};
use super::wire::{self, Receiver, Writer};
use crate::load::shape::Shape;
use crate::load::{self, Callbacks, Length, LoadError, LoadSpec, monotonic_ns};
use crate::terms::{LoadRun, StopSignal};

/// How to get in.
#[derive(Debug, Clone)]
pub struct Membership {
    /// `host:port`.
    pub collector: String,
    pub gate: Gate,
    /// It is tried again until then: a collector may start later than its generators.
    pub patience: Duration,
}

/// Between two tries to reach the collector, and looks at the user's wish to end.
const RETRY: Duration = Duration::from_millis(100);

/// For one try to reach the collector. A kernel asks again after 1, 3, 7 and 15 s: too seldom where
/// a network lets a new pod through some seconds late.
const TRY: Duration = Duration::from_secs(3);

/// Between two signs of life.
const ALIVE: Duration = Duration::from_millis(200);

/// Joins, and sends its parts of loads until the collector has none left or the user wants to end.
/// Returns how many began. `spec`: the load as it was typed, made anew for each, as its server may
/// have other addresses by then.
///
/// # Errors
/// The collector cannot be reached, refuses, or is gone; the engine cannot work.
pub fn join(
    spec: &dyn Fn() -> LoadSpec,
    membership: &Membership,
    stop: &StopSignal,
) -> Result<u32, FleetError> {
    let (mut receiver, writer) = reach(membership, stop)?;
    writer.send(&FromGenerator::Hello(membership.gate.clone())).map_err(FleetError::Broken)?;
    let (told, orders) = channel();
    let is_over = AtomicBool::new(false);
    let address = membership.collector.clone();
    thread::scope(|scope| {
        let pongs = writer.clone();
        let is_over = &is_over;
        scope.spawn(move || {
            // What ends a load early is of that load: the next one has a signal of its own.
            let mut ending = StopSignal::default();
            while let Ok(Some(message)) = receiver.next() {
                match message {
                    FromCollector::Ping { number } => {
                        let pong = FromGenerator::Pong { number, at_ns: monotonic_ns() };
                        if pongs.send(&pong).is_err() {
                            break;
                        }
                    }
                    FromCollector::Stop { now } => {
                        (0..=u8::from(now)).for_each(|_| ending.raise());
                    }
                    FromCollector::Load(load) => {
                        ending = StopSignal::default();
                        drop(told.send(Told::Load(load, ending.clone())));
                    }
                    other => drop(told.send(Told::Other(other))),
                }
            }
            // Without a collector nobody needs what is sent.
            ending.raise();
            ending.raise();
        });
        let alive = writer.clone();
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if alive.send(&FromGenerator::Alive).is_err() {
                    break;
                }
                thread::sleep(ALIVE);
            }
        });
        let generator = Generator { spec, writer: &writer, orders, stop, address };
        let _at_the_end = AtTheEnd { is_over, writer: &writer };
        generator.work_until_the_end()
    })
}

/// Ends the threads beside a generator's own when that does, however it does: a panic would else
/// wait for them for ever.
struct AtTheEnd<'a> {
    is_over: &'a AtomicBool,
    writer: &'a Writer,
}

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.writer.close();
    }
}

fn reach(membership: &Membership, stop: &StopSignal) -> Result<(Receiver, Writer), FleetError> {
    let began = Instant::now();
    let address = &membership.collector;
    let one_try = membership.patience.min(TRY);
    loop {
        let connected = connect(address, one_try);
        match connected.and_then(wire::open) {
            Ok(both) => return Ok(both),
            Err(_) if stop.is_raised() => return Err(FleetError::Stopped),
            Err(_) if began.elapsed() < membership.patience => thread::sleep(RETRY),
            Err(source) => {
                let (address, within) = (address.clone(), membership.patience);
                return Err(FleetError::Unreachable { address, within, source });
            }
        }
    }
}

/// To the first of a name's addresses that answers: it may listen on one of them alone.
fn connect(address: impl ToSocketAddrs, within: Duration) -> io::Result<TcpStream> {
    let mut refused = io::ErrorKind::AddrNotAvailable.into();
    for one in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&one, within) {
            Ok(connection) => return Ok(connection),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// What the collector has told.
enum Told {
    /// A load, and what ends it early.
    Load(Load, StopSignal),
    Other(FromCollector),
}

struct Generator<'a> {
    spec: &'a dyn Fn() -> LoadSpec,
    writer: &'a Writer,
    orders: Channel<Told>,
    stop: &'a StopSignal,
    address: String,
}

impl Generator<'_> {
    /// Returns how many loads began. Who was asked to end in one needs no goodbye: there is none
    /// before the others have ended too, and none for who was given up meanwhile.
    fn work_until_the_end(&self) -> Result<u32, FleetError> {
        let mut begun = 0;
        match self.work(&mut begun) {
            Err(FleetError::Stopped | FleetError::Broken(_))
                if self.stop.is_raised() && begun > 0 =>
            {
                Ok(begun)
            }
            worked => worked.map(|()| begun),
        }
    }

    /// `begun`: how many loads have, counted on.
    fn work(&self, begun: &mut u32) -> Result<(), FleetError> {
        loop {
            match self.next_order()? {
                Told::Load(load, ending) => self.send(&load, &ending, begun)?,
                Told::Other(FromCollector::Refused { why }) => {
                    return Err(FleetError::Refused { address: self.address.clone(), why });
                }
                Told::Other(FromCollector::Bye) => return Ok(()),
                Told::Other(_) => {}
            }
        }
    }

    /// The next order that is for this thread.
    fn next_order(&self) -> Result<Told, FleetError> {
        loop {
            match self.orders.recv_timeout(RETRY) {
                Ok(order) => return Ok(order),
                Err(RecvTimeoutError::Timeout) if self.stop.is_raised() => {
                    return Err(FleetError::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(FleetError::Broken(io::ErrorKind::UnexpectedEof.into()));
                }
            }
        }
    }

    /// What cannot be sent is the collector's to tell.
    fn send(&self, load: &Load, ending: &StopSignal, begun: &mut u32) -> Result<(), FleetError> {
        let spec = part_of((self.spec)(), load);
        let told = match self.run(&spec, ending, begun) {
            Ok(run) => FromGenerator::Ended(run),
            Err(error) => FromGenerator::Failed { why: error.to_string() },
        };
        self.writer.send(&told).map_err(FleetError::Broken)
    }

    fn run(
        &self,
        spec: &LoadSpec,
        ending: &StopSignal,
        begun: &mut u32,
    ) -> Result<LoadRun, LoadError> {
        // What cannot be told ends by the other thread, which sees the connection's end.
        let tell = |message: FromGenerator| drop(self.writer.send(&message));
        let mut watch = |second: &_| {
            tell(FromGenerator::Live(*second));
            match self.stop.is_raised() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let mut second = |second| tell(FromGenerator::Second(Box::new(second)));
        let mut begin = || {
            let flow = self.begin(ending);
            *begun += u32::from(flow.is_continue());
            flow
        };
        let callbacks = Callbacks {
            watch: &mut watch,
            second: &mut second,
            rows: &mut |_| {},
            begin: &mut begin,
        };
        load::stream(spec, ending, callbacks)
    }

    /// All is ready here: waits for the moment that the collector names.
    fn begin(&self, ending: &StopSignal) -> ControlFlow<()> {
        if self.writer.send(&FromGenerator::Ready).is_err() {
            return ControlFlow::Break(());
        }
        while !ending.is_raised() {
            match self.next_order() {
                Ok(Told::Other(FromCollector::Begin { at_ns })) => {
                    let ahead = at_ns.saturating_sub(monotonic_ns());
                    thread::sleep(Duration::from_nanos(ahead));
                    let late = Duration::from_nanos(monotonic_ns().saturating_sub(at_ns));
                    drop(self.writer.send(&FromGenerator::Began { late }));
                    return ControlFlow::Continue(());
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        ControlFlow::Break(())
    }
}

/// What of the load this generator is to send.
fn part_of(spec: LoadSpec, load: &Load) -> LoadSpec {
    let mut spec = LoadSpec { part: load.part, loops: load.loops, ..spec };
    if let Some(offer) = &load.offer {
        spec.shape = Shape::from(offer.offered);
        spec.warm_up = offer.warm_up;
        spec.length = Length::Duration(offer.duration);
        spec.seed = offer.seed;
        spec.connection = offer.connection;
    }
    spec
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    #[test]
    fn a_collector_that_listens_on_one_address_of_its_name_is_reached() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let gone = SocketAddr::from(([127, 0, 0, 2], there.port()));
        let connected = connect(&[gone, there][..], TRY).unwrap();
        assert_eq!(connected.peer_addr().unwrap(), there);
        let error = connect(&[gone][..], TRY).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
