//! The way of requests that share HTTP/2 connections: onto one with room, to the server, and their
//! replies back.

use std::io;

use crate::load::context::{Context, READS_IN_A_ROW};
use crate::load::http2::{EndedStream, Multiplexed};
use crate::load::lifecycle::{Ended, Pending};
use crate::load::poller::{Interest, Readiness};
use crate::load::setup::Http2Setup;
use crate::load::slab::{Key, Slab};
use crate::load::transport::Transport;
use crate::terms::{ConnectionMode, RequestError};

/// All HTTP/2 exchanges of one loop.
pub struct Http2<'a> {
    setup: &'a Http2Setup,
    connections: Slab<Connection>,
    /// Where the last request found room.
    last: Option<Key>,
    /// For the streams that have ended; empty between uses.
    ended: Vec<EndedStream>,
}

struct Connection {
    transport: Transport,
    http: Multiplexed,
    /// `EPOLLOUT` is asked for.
    awaits_writable: bool,
}

impl<'a> Http2<'a> {
    pub fn new(setup: &'a Http2Setup) -> Self {
        Self { setup, connections: Slab::default(), last: None, ended: Vec::new() }
    }

    /// Puts a request on its way: on a connection with room, or on a new one.
    pub fn dispatch(&mut self, cx: &mut Context<'_>, request: Pending) {
        let is_fresh = cx.common.connection == ConnectionMode::Fresh;
        let with_room = if is_fresh { None } else { self.with_room() };
        let Some(key) = with_room.or_else(|| self.connect(cx, request)) else { return };
        let Some(connection) = self.connections.get(key) else { return };
        let message = &self.setup.requests[request.target as usize];
        let sent = connection.http.send(request, message);
        self.advance(cx, key);
        if sent.is_err() {
            cx.fail(request, RequestError::ClosedEarly);
        }
    }

    /// A connection that takes another request, the last one first.
    fn with_room(&mut self) -> Option<Key> {
        let streams = self.setup.streams;
        let last = self.last.and_then(|key| self.connections.get(key));
        if !last.is_some_and(|connection| connection.http.has_room(streams)) {
            self.last = self.connections.find(|one| one.http.has_room(streams)).next();
        }
        self.last
    }

    /// A new connection; without one the request has failed.
    fn connect(&mut self, cx: &mut Context<'_>, request: Pending) -> Option<Key> {
        let opened = cx.dialer.open().and_then(|transport| {
            // Refused by unix sockets only, which have no such delay.
            drop(transport.socket.set_no_delay());
            let http = Multiplexed::new().ok_or(io::ErrorKind::Other)?;
            Ok(Connection { transport, http, awaits_writable: false })
        });
        match opened {
            Ok(connection) => {
                let key = self.connections.insert(connection);
                let socket = &self.connections.get(key)?.transport.socket;
                if cx.poller.add(socket, key.token(), Interest::Readable).is_ok() {
                    return Some(key);
                }
                self.connections.remove(key);
                cx.fail(request, RequestError::AddressUnavailable);
            }
            Err(error) => {
                cx.read_clock();
                let class = cx.dialer.classify(&error);
                cx.fail(request, class);
            }
        }
        None
    }

    /// Something happened to a connection.
    pub fn handle(&mut self, cx: &mut Context<'_>, readiness: Readiness) {
        let key = Key::from_token(readiness.token);
        if readiness.is_readable {
            self.read(cx, key);
        }
        self.advance(cx, key);
    }

    fn read(&mut self, cx: &mut Context<'_>, key: Key) {
        for _ in 0..READS_IN_A_ROW {
            let Some(connection) = self.connections.get(key) else { return };
            match connection.transport.receive(&mut cx.buffer) {
                Ok(read) if read.count == 0 => return connection.http.pipe.end(),
                Ok(read) => {
                    connection.http.pipe.feed(&cx.buffer[..read.count]);
                    if !read.has_more {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.break_off(cx, key, &error),
            }
        }
    }

    /// Lets the library work and the bytes flow, and ends the requests whose streams have ended.
    fn advance(&mut self, cx: &mut Context<'_>, key: Key) {
        let mut ended = std::mem::take(&mut self.ended);
        while let Some(connection) = self.connections.get(key) {
            connection.http.drive(&mut ended);
            if let Err(error) = self.send(cx, key) {
                self.break_off(cx, key, &error);
            }
            if ended.is_empty() {
                break;
            }
            cx.read_clock();
            for stream in ended.drain(..) {
                end(cx, stream);
            }
        }
        self.ended = ended;
        let is_fresh = cx.common.connection == ConnectionMode::Fresh;
        if let Some(Connection { http, .. }) = self.connections.get(key)
            && (http.is_over || (is_fresh && http.busy() == 0))
        {
            self.connections.remove(key);
        }
    }

    /// Sends what waits. Requests that left with it were sent now.
    fn send(&mut self, cx: &mut Context<'_>, key: Key) -> io::Result<()> {
        let Some(connection) = self.connections.get(key) else { return Ok(()) };
        let transport = &mut connection.transport;
        let count = connection.http.pipe.send(|bytes| transport.send(bytes))?;
        let is_waiting = connection.http.pipe.has_unsent() || transport.has_unsent();
        if !connection.http.pipe.has_unsent() {
            let left = connection.http.mark_sent(cx.now);
            let each = count / left.len().max(1);
            left.iter().for_each(|request| cx.sink.recorder.sent(request, each));
        }
        if connection.awaits_writable != is_waiting {
            connection.awaits_writable = is_waiting;
            let interest =
                if is_waiting { Interest::ReadableAndWritable } else { Interest::Readable };
            // It is registered, so that only a broken environment refuses; the timeout ends it
            // then.
            drop(cx.poller.modify(&connection.transport.socket, key.token(), interest));
        }
        Ok(())
    }

    /// The connection has failed, and with it all that was under way on it.
    fn break_off(&mut self, cx: &mut Context<'_>, key: Key, error: &io::Error) {
        let class = cx.dialer.classify(error);
        let Some(mut connection) = self.connections.remove(key) else { return };
        let lost = connection.http.give_up(|_| true);
        drop(connection);
        cx.read_clock();
        for (request, bytes_in) in lost {
            cx.end(Ended { bytes_in, ..request.failed(class, cx.now) });
        }
    }

    /// Times out the requests for which the condition holds.
    pub fn expire(&mut self, cx: &mut Context<'_>, is_overdue: impl Fn(&Pending) -> bool) {
        for key in self.connections.find(|_| true).collect::<Vec<_>>() {
            let Some(connection) = self.connections.get(key) else { continue };
            let given_up = connection.http.give_up(&is_overdue);
            if given_up.is_empty() {
                continue;
            }
            for (request, bytes_in) in given_up {
                cx.end(Ended { bytes_in, ..request.failed(RequestError::Timeout, cx.now) });
            }
            self.advance(cx, key);
        }
    }
}

/// The end of a stream is that of its request, unless it can be sent again.
fn end(cx: &mut Context<'_>, stream: EndedStream) {
    let EndedStream { request, result, received, may_be_sent_again } = stream;
    if result.is_err() && may_be_sent_again && !request.is_retry {
        return cx.scheduler.put_back(Pending { is_retry: true, ..request });
    }
    let failed = request.failed(RequestError::ClosedEarly, cx.now);
    cx.end(Ended { result, bytes_in: received, ..failed });
}
