//! A request's way: onto a connection, to the server, and its reply back. Each that was due ends
//! here in exactly one status or one failure.

use std::io;
use std::net::Ipv4Addr;

use super::Closing;
use super::clock::SECOND;
use super::connection::{Activity, Flight, Passed};
use super::event_loop::{EventLoop, READ_BUFFER};
use super::exchange_http2::is_shared;
use super::marks::Marks;
use super::poller::Readiness;
use super::recorder::Failure;
use super::reply::{Progress, Reply};
use super::socket::{Socket, SocketFailure};
use super::tls;
use super::transport::{Received, Transport};
use crate::terms::{ConnectionMode, RequestRow, TlsTrouble};

/// Reads from one connection before the others have their turn; more is reported again.
const READS_IN_A_ROW: usize = 8;

/// Dropped in one call; only bounds how long the call may take.
const LARGEST_DISCARD: u64 = 1 << 24;

/// A request that fits into one segment on the usual network needs no help to leave at once.
const ONE_SEGMENT: usize = 1400;

const LONGEST_LINGER: u64 = SECOND;

/// A server's full queue of unaccepted connections is looked at again after this.
const UNIX_QUEUE_PAUSE: u64 = 1_000_000;

/// The loopback addresses that are connected from, the usual one besides.
const LOOPBACK_SOURCES: std::ops::RangeInclusive<u8> = 2..=17;

impl EventLoop<'_> {
    /// Puts a request on its way: on an idle connection, or on a new one.
    pub(super) fn dispatch(&mut self, flight: Flight) {
        if let Some(sharing) = &self.common.sharing {
            return self.dispatch_shared(flight, sharing);
        }
        let idle = match self.client_connections.get_mut(flight.client as usize) {
            Some(own) => own.take(),
            None => self.connections.take_idle(),
        };
        match idle {
            Some(slot) => self.reuse(slot, flight),
            None => self.connect(flight),
        }
    }

    fn reuse(&mut self, slot: u32, flight: Flight) {
        let is_head = self.common.requests[flight.target as usize].is_head;
        let begun = self.now;
        let Some(connection) = self.connections.get(slot) else {
            self.connect(flight);
            return;
        };
        connection.reply.restart(is_head);
        if self.rounds.want_stamps() {
            connection.transport.stamp_arrivals();
        }
        let flight = Flight { begun, ..flight };
        connection.activity = Activity::Busy { flight, written: 0, received: 0 };
        self.in_flight += 1;
        self.render(slot, &flight);
        self.write(slot);
    }

    fn connect(&mut self, flight: Flight) {
        let flight = Flight { begun: self.now, ..flight };
        let request = &self.common.requests[flight.target as usize];
        let reply = Reply::new(request.is_head);
        let has_several_segments = request.longest() > ONE_SEGMENT;
        let mut transport = match self.open_transport() {
            Ok(transport) => transport,
            // Only unix sockets do so: the server has not accepted what came before.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.waiting.push_front(Flight { has_waited: true, ..flight });
                self.connect_after = self.now + UNIX_QUEUE_PAUSE;
                return;
            }
            Err(error) => {
                self.read_clock();
                let failure = self.class(&error);
                self.fail(&flight, failure, Passed::default());
                return;
            }
        };
        // In a TLS handshake each side speaks several times.
        if has_several_segments || self.tls.is_some() {
            // Refused by unix sockets only, which have no such delay.
            drop(transport.set_no_delay());
        }
        if self.rounds.want_stamps() && self.common.connection == ConnectionMode::KeepAlive {
            transport.stamp_arrivals();
        }
        self.in_flight += 1;
        let slot = self.connections.insert(transport, flight, reply);
        self.render(slot, &flight);
        // The handshake is no part of the exchange, nor of our lag.
        self.read_clock();
        self.write(slot);
        self.register(slot);
    }

    /// Puts a request that differs each time it is sent together; others are there already. The
    /// client's cookies are as the replies so far have set them.
    fn render(&mut self, slot: u32, flight: &Flight) {
        let request = &self.common.requests[flight.target as usize];
        if request.template().is_none() && self.jars.is_empty() {
            return;
        }
        let jar = self.jars.get_mut(flight.client as usize);
        let cookies = jar.map_or(&[][..], |jar| {
            jar.await_reply();
            jar.text()
        });
        if let Some(template) = request.template()
            && let Some(connection) = self.connections.get(slot)
        {
            template.render(flight.number, cookies, &mut connection.rendered);
        }
    }

    pub(super) fn open_transport(&mut self) -> io::Result<Transport> {
        let socket = self.open_socket()?;
        match &self.tls {
            None => Ok(Transport::Plain(socket)),
            Some(tls) => tls.open(socket).map(|stream| Transport::Tls(Box::new(stream))),
        }
    }

    fn open_socket(&mut self) -> io::Result<Socket> {
        self.next_remote = (self.next_remote + 1) % self.remotes.len();
        let remote = &self.remotes[self.next_remote];
        let source = self.loopback_source.filter(|_| remote.is_loopback_v4());
        let opened = Socket::connect(remote, source);
        let Err(error) = &opened else { return opened };
        if !remote.is_loopback_v4() || error.raw_os_error() != Some(libc::EADDRNOTAVAIL) {
            return opened;
        }
        // All ports of this source are in use or waiting out their minute; the next one has its
        // own.
        let last = source.map_or(1, |source| source.octets()[3]);
        let next = if LOOPBACK_SOURCES.contains(&(last + 1)) { last + 1 } else { 2 };
        let next = Ipv4Addr::new(127, 0, 0, next);
        self.loopback_source = Some(next);
        Socket::connect(remote, Some(next))
    }

    /// Tells the poller about a new connection, unless its first write ended it.
    fn register(&mut self, slot: u32) {
        let token = self.connections.token(slot);
        let Some(connection) = self.connections.get(slot) else { return };
        let interest = connection.interest();
        if self.poller.add(&connection.transport, token, interest).is_err() {
            self.fail_connection(slot, Failure::AddressUnavailable);
        }
    }

    pub(super) fn handle(&mut self, readiness: Readiness) {
        if is_shared(readiness) {
            return self.handle_shared(readiness);
        }
        if readiness.is_writable
            && let Some(slot) = self.connections.slot(readiness.token)
        {
            self.read_clock();
            self.write(slot);
        }
        // Looked up again: writing may have ended the connection.
        if readiness.is_readable
            && let Some(slot) = self.connections.slot(readiness.token)
        {
            self.read(slot, readiness.is_hung_up);
        }
    }

    /// Hands the rest of the request to the kernel, as far as it takes it.
    fn write(&mut self, slot: u32) {
        let Some(connection) = self.connections.get(slot) else { return };
        let Activity::Busy { flight, written, .. } = &mut connection.activity else { return };
        let request = &self.common.requests[flight.target as usize];
        let request = request.bytes(&connection.rendered);
        if *written == request.len() {
            return self.flush(slot);
        }
        let (due, is_partly_sent) = (flight.due, *written > 0);
        match connection.transport.send(&request[*written..]) {
            Ok(count) => {
                *written += count;
                let is_all = *written == request.len() && !connection.transport.has_unsent();
                if flight.sent.is_none() {
                    flight.sent = Some(self.now);
                    let lag = (!flight.has_waited).then(|| flight.begun.saturating_sub(due));
                    self.recorder.sent(due, lag, count);
                } else {
                    self.recorder.bytes_out(due, count);
                }
                if connection.awaits_writable == is_all {
                    self.await_writable(slot, !is_all);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let awaits_room = connection.transport.awaits_room();
                self.await_writable(slot, awaits_room);
            }
            Err(error) => {
                let failure = self.class(&error);
                let may_be_answered = is_partly_sent && failure == Failure::Reset;
                if !(may_be_answered && self.is_answered_all_the_same(slot)) {
                    self.broken(slot, failure);
                }
            }
        }
    }

    /// Sends what is left of a request that was handed over in full: TLS may hold some of it.
    fn flush(&mut self, slot: u32) {
        let Some(connection) = self.connections.get(slot) else { return };
        match connection.transport.flush() {
            Ok(()) => self.await_writable(slot, false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.await_writable(slot, true);
            }
            Err(error) => self.broken_by(slot, &error),
        }
    }

    /// A server may answer and hang up before it has read all of a request (413 to a large body).
    /// Nothing can be written then, but the reply that it sent before is still there.
    fn is_answered_all_the_same(&mut self, slot: u32) -> bool {
        loop {
            let Some(connection) = self.connections.get(slot) else { return false };
            let Ok(read) = connection.transport.receive(&mut self.buffer) else { return false };
            let Activity::Busy { received, .. } = &mut connection.activity else { return false };
            *received += read.count as u64;
            match connection.reply.feed(&self.buffer[..read.count]) {
                Ok(Progress::Done { .. }) => {
                    self.complete(slot, false, None);
                    return true;
                }
                Ok(Progress::More) if read.count > 0 => {}
                Ok(Progress::More) | Err(_) => return false,
            }
        }
    }

    /// Asks to be told when more can be written, or to be told no longer.
    fn await_writable(&mut self, slot: u32, wanted: bool) {
        let Some(connection) = self.connections.get(slot) else { return };
        if connection.awaits_writable == wanted {
            return;
        }
        connection.awaits_writable = wanted;
        self.ask_again(slot);
    }

    /// Asks the poller anew about a connection: it reports what is there already.
    fn ask_again(&mut self, slot: u32) {
        let token = self.connections.token(slot);
        let Some(connection) = self.connections.get(slot) else { return };
        match self.poller.modify(&connection.transport, token, connection.interest()) {
            // A new connection is registered right after its first write.
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => {
                self.fail_connection(slot, Failure::AddressUnavailable);
            }
            _ => {}
        }
    }

    /// Reads what there is. `is_hung_up`: up to the end, which is there too.
    fn read(&mut self, slot: u32, is_hung_up: bool) {
        for _ in 0..READS_IN_A_ROW {
            let Some(connection) = self.connections.get(slot) else { return };
            let skippable = connection.reply.skippable();
            let is_busy = matches!(connection.activity, Activity::Busy { .. });
            let may_skip = is_busy && self.can_discard && skippable >= READ_BUFFER as u64;
            let read = match may_skip {
                true => connection.transport.discard(skippable.min(LARGEST_DISCARD) as usize),
                false => connection.transport.receive(&mut self.buffer),
            };
            let Received { count, has_more, stamp } = match read {
                Ok(read) if read.count == 0 => return self.ended(slot),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !connection.transport.wants_write() {
                        return;
                    }
                    // The TLS handshake has come to its end: now the request can leave.
                    self.read_clock();
                    self.write(slot);
                    continue;
                }
                Err(error) => return self.broken_by(slot, &error),
            };
            let goes_on = has_more || is_hung_up;
            let Activity::Busy { flight, received, .. } = &mut connection.activity else {
                match connection.activity {
                    // What follows bytes that nobody asked for could not be trusted.
                    Activity::Idle => return self.forget(slot),
                    _ if goes_on => continue,
                    _ => return,
                }
            };
            if let Some(jar) = self.jars.get_mut(flight.client as usize).filter(|_| !may_skip) {
                jar.feed(&self.buffer[..count]);
            }
            let is_beginning = *received == 0;
            *received += count as u64;
            let progress = match may_skip {
                true => Ok(connection.reply.skip(count as u64)),
                false => connection.reply.feed_with(&self.buffer[..count], &mut self.memo),
            };
            match progress {
                Ok(Progress::Done { surplus }) => {
                    self.complete(slot, surplus == 0, stamp);
                    match (is_hung_up, has_more) {
                        // Nothing can follow on it, so that its end need not be read.
                        (true, _) => self.forget(slot),
                        (false, true) => self.ask_again(slot),
                        (false, false) => {}
                    }
                    return;
                }
                Err(_) => {
                    if is_beginning && self.tls.is_none() && tls::is_alert(&self.buffer[..count]) {
                        self.tls_trouble.get_or_insert(TlsTrouble::Unasked);
                    }
                    return self.fail_connection(slot, Failure::Malformed);
                }
                Ok(Progress::More) => {
                    self.rounds.reply_is_partial();
                    if !goes_on {
                        return;
                    }
                }
            }
        }
        self.read_later(slot);
    }

    /// Others have their turn before the rest of this connection's bytes.
    fn read_later(&mut self, slot: u32) {
        match self.connections.get(slot).map(|connection| connection.transport.has_ended()) {
            // No poller would report it.
            Some(true) => self.read(slot, false),
            Some(false) => self.ask_again(slot),
            None => {}
        }
    }

    /// The server has closed its side.
    fn ended(&mut self, slot: u32) {
        let Some(connection) = self.connections.get(slot) else { return };
        match connection.activity {
            Activity::Idle | Activity::Lingering { .. } => self.forget(slot),
            Activity::Busy { .. } if connection.reply.is_complete_at_close() => {
                self.complete(slot, false, None);
            }
            Activity::Busy { .. } => self.broken(slot, Failure::ClosedEarly),
        }
    }

    fn broken_by(&mut self, slot: u32, error: &io::Error) {
        let failure = self.class(error);
        self.broken(slot, failure);
    }

    /// The class of an error. The first that is about TLS is also kept in words.
    pub(super) fn class(&mut self, error: &io::Error) -> Failure {
        if self.tls_trouble.is_none() {
            self.tls_trouble = tls::trouble(error);
        }
        failure(error)
    }

    /// The connection is gone. When the server had closed it before the request could reach it, the
    /// request is sent once more, on a new one.
    fn broken(&mut self, slot: u32, failure: Failure) {
        let Some(connection) = self.connections.get(slot) else { return };
        let Activity::Busy { flight, written, .. } = connection.activity else {
            return self.forget(slot);
        };
        let is_gone = matches!(failure, Failure::Reset | Failure::ClosedEarly);
        let is_idempotent = self.common.requests[flight.target as usize].is_idempotent;
        let is_harmless = written == 0 || is_idempotent;
        let was_stale = connection.replies > 0 && !connection.reply.has_begun();
        if is_gone && was_stale && is_harmless && !flight.is_retry {
            self.forget(slot);
            self.in_flight -= 1;
            self.connect(Flight { is_retry: true, ..flight });
        } else {
            self.fail_connection(slot, failure);
        }
    }

    /// `stamp`: when its last byte arrived, where the kernel says so.
    fn complete(&mut self, slot: u32, is_clean: bool, stamp: Option<u64>) {
        self.read_clock();
        let Some(connection) = self.connections.get(slot) else { return };
        let Activity::Busy { flight, written, received } = connection.activity else { return };
        let sent = flight.sent.unwrap_or(flight.begun);
        let arrived = self.rounds.arrival(stamp, sent, self.now);
        let request = &self.common.requests[flight.target as usize];
        let is_written = written == request.bytes(&connection.rendered).len();
        let is_reusable = is_clean
            && is_written
            && self.common.connection == ConnectionMode::KeepAlive
            && connection.reply.leaves_connection_open();
        let status = connection.reply.status();
        let passed = Passed { written: written as u64, received };
        let marks = Marks { is_retry: flight.is_retry, ..connection.reply.marks() };
        self.in_flight -= 1;
        if arrived - flight.due > self.common.timeout {
            // Complete, but later than anybody would have waited; the sweep was just not there yet.
            self.fail(&flight, Failure::Timeout, passed);
        } else {
            self.answered(&flight, arrived, status, passed, marks);
        }
        if is_reusable {
            let own = self.client_connections.get_mut(flight.client as usize);
            let owner = own.map(|own| {
                *own = Some(slot);
                flight.client
            });
            self.connections.rest(slot, owner);
        } else {
            self.end_connection(slot);
        }
    }

    /// A whole reply is there, since `arrived`.
    pub(super) fn answered(
        &mut self,
        flight: &Flight,
        arrived: u64,
        status: u16,
        passed: Passed,
        marks: Marks,
    ) {
        let sent = flight.sent.unwrap_or(flight.begun);
        self.recorder.answered(flight.due, sent, arrived, status, passed.received, marks);
        self.recorder.of_target(flight.due, flight.target, arrived - flight.due, Ok(status));
        self.source.answered(flight.client, arrived);
        if self.rows.is_wanted() {
            let row = row(flight, arrived - flight.due, passed);
            self.keep_row(RequestRow { status, exchange_ns: arrived - sent, ..row });
        }
    }

    /// Its last reply is complete.
    fn end_connection(&mut self, slot: u32) {
        let has_room = self.connections.lingering() < self.max_lingering;
        match self.common.closing {
            Closing::Server if has_room => {
                self.connections.linger(slot, self.now + LONGEST_LINGER);
                // What was answered before all of it was taken is not written on. Asking on would
                // wake the loop again and again for as long as there is room.
                return self.await_writable(slot, false);
            }
            Closing::Reset => {
                if let Some(connection) = self.connections.get(slot) {
                    // Refused by unix sockets only, which have no ports to free.
                    drop(connection.transport.reset_when_closed());
                }
            }
            Closing::Server | Closing::Client => {}
        }
        self.forget(slot);
    }

    /// Closes a connection, and ends its request with this failure if it has one.
    pub(super) fn fail_connection(&mut self, slot: u32, failure: Failure) {
        let passed = match self.connections.get(slot).map(|connection| connection.activity) {
            Some(Activity::Busy { written, received, .. }) => {
                Passed { written: written as u64, received }
            }
            _ => return self.forget(slot),
        };
        if let Some(flight) = self.connections.close(slot) {
            self.in_flight -= 1;
            if failure != Failure::Timeout {
                self.read_clock();
            }
            self.fail(&flight, failure, passed);
        }
    }

    /// Ends a request that no connection holds any more.
    pub(super) fn fail(&mut self, flight: &Flight, failure: Failure, passed: Passed) {
        let after = self.now.saturating_sub(flight.due).min(self.common.timeout);
        self.recorder.failed(flight.due, after, failure, passed.received);
        self.recorder.of_target(flight.due, flight.target, after, Err(failure));
        self.source.failed(flight.client, self.now);
        if self.rows.is_wanted() {
            self.keep_row(RequestRow { error: Some(failure), ..row(flight, after, passed) });
        }
    }

    /// Closes a connection that has no request.
    fn forget(&mut self, slot: u32) {
        if let Some(connection) = self.connections.get(slot)
            && let (Activity::Idle, Some(owner)) = (connection.activity, connection.owner)
        {
            self.client_connections[owner as usize] = None;
        }
        self.connections.close(slot);
    }
}

/// What all rows have in common.
fn row(flight: &Flight, latency_ns: u64, passed: Passed) -> RequestRow {
    RequestRow {
        due_ns: flight.due,
        latency_ns,
        exchange_ns: 0,
        bytes_in: passed.received,
        bytes_out: passed.written,
        sequence: flight.number,
        target: flight.target,
        status: 0,
        error: None,
    }
}

/// The class of a transport's error.
fn failure(error: &io::Error) -> Failure {
    match (error.kind(), SocketFailure::from(error)) {
        (io::ErrorKind::InvalidData, _) => Failure::Tls,
        // Without TLS's notice of a proper end a reply that ends with its connection may lack a
        // part, and one that ends by itself does.
        (io::ErrorKind::UnexpectedEof, _) => Failure::ClosedEarly,
        (_, SocketFailure::Refused) => Failure::Refused,
        (_, SocketFailure::Reset) => Failure::Reset,
        (_, SocketFailure::TimedOut) => Failure::Timeout,
        (_, SocketFailure::AddressUnavailable) => Failure::AddressUnavailable,
    }
}
