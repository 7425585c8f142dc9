//! The way of requests that share HTTP/2 connections: onto one with room, to the server, and
//! their replies back. Each that was due ends here in one status or one failure, as in `exchange`.

use std::io;

use super::connection::{Flight, Passed};
use super::event_loop::EventLoop;
use super::http2::{Ended, Message, Multiplexed};
use super::marks::Marks;
use super::poller::{Interest, Readiness};
use super::recorder::Failure;
use super::transport::Transport;
use crate::terms::ConnectionMode;

/// Marks the tokens of shared connections; no other has it.
const SHARED: u64 = 1 << 63;

/// Reads from one connection before the others have their turn; more is reported again.
const READS_IN_A_ROW: usize = 8;

/// What HTTP/2 needs to know of the load.
#[derive(Debug)]
pub struct Sharing {
    /// Most requests under way on a connection.
    pub streams: usize,
    /// One a target.
    pub messages: Vec<Message>,
}

/// All shared connections of a loop; places are reused.
#[derive(Default)]
pub struct SharedConnections {
    places: Vec<Place>,
    /// Where the last request found room.
    last: usize,
}

#[derive(Default)]
struct Place {
    /// Counts the place's connections, so that an event for an earlier one is not taken for this
    /// one's.
    generation: u32,
    connection: Option<Shared>,
}

struct Shared {
    transport: Transport,
    http: Multiplexed,
    /// `EPOLLOUT` is asked for.
    awaits_writable: bool,
}

impl SharedConnections {
    fn insert(&mut self, connection: Shared) -> usize {
        let free = self.places.iter().position(|place| place.connection.is_none());
        let at = free.unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        self.places[at].connection = Some(connection);
        at
    }

    fn token(&self, at: usize) -> u64 {
        SHARED | u64::from(self.places[at].generation & !(1 << 31)) << 32 | at as u64
    }

    /// The place of a token, unless that connection is gone.
    fn at(&self, token: u64) -> Option<usize> {
        let at = token as u32 as usize;
        let place = self.places.get(at)?;
        (place.connection.is_some() && self.token(at) == token).then_some(at)
    }

    fn get(&mut self, at: usize) -> Option<&mut Shared> {
        self.places.get_mut(at)?.connection.as_mut()
    }

    fn close(&mut self, at: usize) {
        let place = &mut self.places[at];
        place.connection = None;
        place.generation = place.generation.wrapping_add(1);
    }

    /// A connection that takes another request, the last one first.
    fn with_room(&mut self, most: usize) -> Option<usize> {
        let count = self.places.len();
        let places = (0..count).map(|n| (self.last + n) % count);
        let has_room = |at: &usize| {
            self.places[*at].connection.as_ref().is_some_and(|shared| shared.http.has_room(most))
        };
        let found = places.into_iter().find(has_room)?;
        self.last = found;
        Some(found)
    }
}

/// Whether an event is for a shared connection.
pub fn is_shared(readiness: Readiness) -> bool {
    readiness.token & SHARED != 0
}

impl EventLoop<'_> {
    /// Puts a request on its way: on a connection with room, or on a new one.
    pub(super) fn dispatch_shared(&mut self, flight: Flight, sharing: &Sharing) {
        let flight = Flight { begun: self.now, ..flight };
        let is_fresh = self.common.connection == ConnectionMode::Fresh;
        let room = if is_fresh { None } else { self.shared.with_room(sharing.streams) };
        let Some(at) = room.or_else(|| self.open_shared(&flight)) else { return };
        let Some(shared) = self.shared.get(at) else { return };
        self.in_flight += 1;
        match shared.http.send(flight, &sharing.messages[flight.target as usize]) {
            Ok(()) => self.carry_on(at),
            Err(flight) => {
                self.in_flight -= 1;
                self.carry_on(at);
                self.fail(&flight, Failure::ClosedEarly, Passed::default());
            }
        }
    }

    /// A new connection; without one the request has failed.
    fn open_shared(&mut self, flight: &Flight) -> Option<usize> {
        let opened = self.open_transport().and_then(|transport| {
            drop(transport.set_no_delay());
            let http = Multiplexed::new().ok_or(io::ErrorKind::Other)?;
            Ok(Shared { transport, http, awaits_writable: false })
        });
        match opened {
            Ok(shared) => {
                let at = self.shared.insert(shared);
                let token = self.shared.token(at);
                let shared = self.shared.get(at)?;
                if self.poller.add(&shared.transport, token, Interest::Readable).is_ok() {
                    return Some(at);
                }
                self.shared.close(at);
                self.fail(flight, Failure::AddressUnavailable, Passed::default());
            }
            Err(error) => {
                self.read_clock();
                let failure = self.class(&error);
                self.fail(flight, failure, Passed::default());
            }
        }
        None
    }

    pub(super) fn handle_shared(&mut self, readiness: Readiness) {
        let Some(at) = self.shared.at(readiness.token) else { return };
        if readiness.is_readable {
            self.read_shared(at);
        }
        self.carry_on(at);
    }

    fn read_shared(&mut self, at: usize) {
        for _ in 0..READS_IN_A_ROW {
            let Some(shared) = self.shared.get(at) else { return };
            match shared.transport.receive(&mut self.buffer) {
                Ok(read) if read.count == 0 => return shared.http.end(),
                Ok(read) => {
                    shared.http.feed(&self.buffer[..read.count]);
                    if !read.has_more {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.break_shared(at, &error),
            }
        }
    }

    /// Lets the library work and the bytes flow, and takes note of what has ended.
    fn carry_on(&mut self, at: usize) {
        let mut ended = std::mem::take(&mut self.ended);
        while let Some(shared) = self.shared.get(at) {
            shared.http.drive(&mut ended);
            if let Err(error) = self.send_shared(at) {
                self.break_shared(at, &error);
            }
            if ended.is_empty() {
                break;
            }
            self.read_clock();
            for one in ended.drain(..) {
                self.end_shared(one);
            }
        }
        self.ended = ended;
        let is_fresh = self.common.connection == ConnectionMode::Fresh;
        if let Some(shared) = self.shared.get(at)
            && (shared.http.is_over() || (is_fresh && shared.http.busy() == 0))
        {
            self.shared.close(at);
        }
    }

    /// Sends what waits. Requests that left with it were sent now.
    fn send_shared(&mut self, at: usize) -> io::Result<()> {
        let Some(shared) = self.shared.get(at) else { return Ok(()) };
        let transport = &mut shared.transport;
        let count = shared.http.pipe().send(|bytes| transport.send(bytes))?;
        let is_waiting = shared.http.pipe().has_unsent() || transport.has_unsent();
        if !shared.http.pipe().has_unsent() {
            let left: Vec<Flight> = shared.http.mark_sent(self.now);
            let each = count / left.len().max(1);
            for flight in left {
                let lag = (!flight.has_waited).then(|| flight.begun.saturating_sub(flight.due));
                self.recorder.sent(flight.due, lag, each);
            }
        }
        self.await_shared_writable(at, is_waiting);
        Ok(())
    }

    fn await_shared_writable(&mut self, at: usize, wanted: bool) {
        let token = self.shared.token(at);
        let Some(shared) = self.shared.get(at) else { return };
        if shared.awaits_writable == wanted {
            return;
        }
        shared.awaits_writable = wanted;
        let interest = if wanted { Interest::ReadableAndWritable } else { Interest::Readable };
        // It is registered, so that only a broken environment refuses; the timeout ends it then.
        drop(self.poller.modify(&shared.transport, token, interest));
    }

    fn end_shared(&mut self, ended: Ended) {
        self.in_flight -= 1;
        let Ended { flight, outcome, received, may_be_sent_again } = ended;
        let passed = Passed { written: 0, received };
        match outcome {
            Ok(_) if self.now - flight.due > self.common.timeout => {
                self.fail(&flight, Failure::Timeout, passed);
            }
            Ok(status) => {
                let marks = Marks { is_retry: flight.is_retry, ..Marks::default() };
                self.answered(&flight, self.now, status, passed, marks);
            }
            Err(_) if may_be_sent_again && !flight.is_retry => {
                self.waiting.push_front(Flight { is_retry: true, ..flight });
            }
            Err(failure) => self.fail(&flight, failure, passed),
        }
    }

    /// The connection has failed, and with it all that was under way on it.
    fn break_shared(&mut self, at: usize, error: &io::Error) {
        let failure = self.class(error);
        let Some(shared) = self.shared.get(at) else { return };
        let mut lost = Vec::new();
        shared.http.give_up(|_| true, &mut lost);
        self.shared.close(at);
        self.read_clock();
        for (flight, received) in lost {
            self.in_flight -= 1;
            self.fail(&flight, failure, Passed { written: 0, received });
        }
    }

    /// Gives up the requests for which the condition holds.
    pub(super) fn expire_shared(&mut self, condition: impl Fn(&Flight) -> bool) {
        for at in 0..self.shared.places.len() {
            let Some(shared) = self.shared.get(at) else { continue };
            let mut given_up = Vec::new();
            shared.http.give_up(&condition, &mut given_up);
            if given_up.is_empty() {
                continue;
            }
            for (flight, received) in given_up {
                self.in_flight -= 1;
                self.fail(&flight, Failure::Timeout, Passed { written: 0, received });
            }
            self.carry_on(at);
        }
    }
}
