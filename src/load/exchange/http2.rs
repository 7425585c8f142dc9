//! The way of requests that share HTTP/2 connections: onto one with room, to the server, and their
//! replies back.
//!
//! Requests are put on their way one by one, and sent together: what is due at once leaves a
//! connection in one write.

use std::io;

use crate::load::context::{Context, READS_IN_A_ROW};
use crate::load::cookies::{Jar, jars};
use crate::load::http2::{EndedStream, Multiplexed};
use crate::load::lifecycle::{Ended, Pending};
use crate::load::poller::{Interest, Readiness};
use crate::load::setup::Http2Setup;
use crate::load::slab::{Key, Slab};
use crate::load::spec::Closing;
use crate::load::transport::Transport;
use crate::terms::{ConnectionMode, RequestError};

/// All HTTP/2 exchanges of one loop.
pub struct Http2<'a> {
    setup: &'a Http2Setup,
    connections: Slab<Connection>,
    /// Those that had room when they were last looked at; the one used last on top.
    with_room: Vec<Key>,
    /// Those that may have something to send.
    unsent: Vec<Key>,
    /// How many connections need each event.
    needy: usize,
    /// How many requests at once the server allowed on the connection that it spoke on last.
    allowed: usize,
    /// Each client's cookies; empty unless they are kept.
    jars: Vec<Jar>,
    /// For the streams that have ended; empty between uses.
    ended: Vec<EndedStream>,
}

struct Connection {
    transport: Transport,
    http: Multiplexed,
    /// It is among those with room.
    is_listed: bool,
    /// It is among those that may have something to send.
    may_send: bool,
    /// `EPOLLOUT` is asked for.
    awaits_writable: bool,
    /// When it was last sent on, not all could leave, or several requests were under way: replies
    /// that are read together have one time of arrival.
    needs_each_event: bool,
}

impl<'a> Http2<'a> {
    /// `clients`: those of the closed model.
    pub fn new(cx: &Context<'_>, setup: &'a Http2Setup, clients: Option<u32>) -> Self {
        Self {
            setup,
            connections: Slab::default(),
            with_room: Vec::new(),
            unsent: Vec::new(),
            needy: 0,
            allowed: usize::MAX,
            jars: jars(cx.common.keeps_cookies, clients),
            ended: Vec::new(),
        }
    }

    /// Puts a request on its way: on a connection with room, or on a new one. It leaves with the
    /// next [`flush`](Self::flush).
    // Never inline: HTTP/1, the usual protocol, would carry its code along.
    #[inline(never)]
    pub fn dispatch(&mut self, cx: &mut Context<'_>, request: Pending) {
        let Some(key) = self.take_room().or_else(|| self.connect(cx, request)) else { return };
        let Some(connection) = self.connections.get(key) else { return };
        if cx.batching.want_stamps() && cx.common.connection == ConnectionMode::KeepAlive {
            connection.transport.socket.stamp_arrivals();
        }
        let message = &self.setup.requests[request.target as usize];
        let cookies = self.jars.get(request.client as usize).map_or(&[][..], Jar::text);
        connection.http.send(request, message, cookies);
        self.send_later(key);
    }

    /// A connection that takes another request, the one used last first. As long as its server has
    /// not said how many it allows, it is taken to allow as many as on the last: what is too much
    /// would be refused, and each request is sent again once only.
    #[inline]
    fn take_room(&mut self) -> Option<Key> {
        while let Some(key) = self.with_room.last().copied() {
            if let Some(connection) = self.connections.get(key) {
                let allowed = connection.http.allowed().unwrap_or(self.allowed);
                if connection.http.has_room(self.setup.streams.min(allowed)) {
                    return Some(key);
                }
                connection.is_listed = false;
            }
            self.with_room.pop();
        }
        None
    }

    /// Lists a connection that may have room again.
    #[inline]
    fn list(&mut self, cx: &Context<'_>, key: Key) {
        let is_kept = cx.common.connection == ConnectionMode::KeepAlive;
        if let Some(connection) = self.connections.get(key)
            && !connection.is_listed
            && is_kept
        {
            connection.is_listed = true;
            self.with_room.push(key);
        }
    }

    #[inline]
    fn send_later(&mut self, key: Key) {
        if let Some(connection) = self.connections.get(key)
            && !connection.may_send
        {
            connection.may_send = true;
            self.unsent.push(key);
        }
    }

    /// A new connection; without one the request has failed, or waits.
    fn connect(&mut self, cx: &mut Context<'_>, request: Pending) -> Option<Key> {
        let transport = cx.open(request)?;
        // Refused by unix sockets only, which have no such delay.
        drop(transport.socket.set_no_delay());
        let http = Multiplexed::new(self.setup.slots, !self.jars.is_empty());
        let key = self.connections.insert(Connection {
            transport,
            http,
            is_listed: false,
            may_send: false,
            awaits_writable: false,
            needs_each_event: false,
        });
        let socket = &self.connections.get(key)?.transport.socket;
        if cx.poller.add(socket, key.token(), Interest::Readable).is_err() {
            self.connections.remove(key);
            cx.fail(request, RequestError::AddressUnavailable);
            return None;
        }
        self.list(cx, key);
        Some(key)
    }

    /// Something happened to a connection.
    // Never inline, as `dispatch`.
    #[inline(never)]
    pub fn handle(&mut self, cx: &mut Context<'_>, readiness: Readiness) {
        let key = Key::from_token(readiness.token);
        if readiness.is_readable {
            self.read(cx, key);
        }
        self.send_later(key);
    }

    /// Reads what there is.
    fn read(&mut self, cx: &mut Context<'_>, key: Key) {
        for n in 1.. {
            let Some(connection) = self.connections.get(key) else { return };
            let Connection { transport, http, .. } = connection;
            let uses_stamp = cx.batching.uses_stamps();
            let (goes_on, stamp) = match transport.receive(&mut cx.buffer, uses_stamp) {
                Ok(read) if read.count == 0 => {
                    http.end(RequestError::ClosedEarly, &mut self.ended);
                    (false, None)
                }
                Ok(read) => {
                    let bytes = &cx.buffer[..read.count];
                    http.receive(bytes, &mut self.jars, &mut self.ended);
                    match http.allowed() {
                        Some(allowed) => self.allowed = allowed,
                        // No HTTP/2 from its first byte on.
                        None if http.is_over() => cx.dialer.note_protocol(bytes, true),
                        None => {}
                    }
                    if http.is_amid_reply() {
                        cx.batching.reply_is_partial();
                    }
                    // An end that was read already is reported by no poller.
                    let goes_on = n < READS_IN_A_ROW || transport.has_ended();
                    (read.has_more && goes_on, read.stamp)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (false, None),
                Err(error) => return self.break_off(cx, key, &error),
            };
            self.settle(cx, key, stamp);
            if !goes_on {
                return;
            }
        }
    }

    /// Ends the requests whose streams have ended. `stamp`: when the last bytes of their replies
    /// arrived, where the kernel says so.
    fn settle(&mut self, cx: &mut Context<'_>, key: Key, stamp: Option<u64>) {
        if !self.ended.is_empty() {
            cx.read_clock();
            let mut ended = std::mem::take(&mut self.ended);
            ended.drain(..).for_each(|stream| end(cx, stream, stamp));
            self.ended = ended;
            self.list(cx, key);
        }
        let is_fresh = cx.common.connection == ConnectionMode::Fresh;
        let Some(Connection { http, transport, .. }) = self.connections.get(key) else { return };
        if http.is_over() {
            // Why the connection ends; whether it arrives changes nothing.
            drop(transport.send(http.unsent(&self.setup.requests, |_, _| {})));
        }
        if http.is_over() || (is_fresh && http.busy() == 0) {
            if cx.common.closing == Closing::Reset {
                // Closed either way.
                drop(transport.socket.reset_when_closed());
            }
            self.remove(key);
        }
    }

    /// Takes a connection out.
    fn remove(&mut self, key: Key) -> Option<Connection> {
        let connection = self.connections.remove(key)?;
        self.needy -= usize::from(connection.needs_each_event);
        Some(connection)
    }

    /// Whether a connection does.
    #[inline]
    pub fn needs_each_event(&self) -> bool {
        self.needy > 0
    }

    /// Sends what waits on all connections.
    #[inline]
    pub fn flush(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.unsent.pop() {
            if let Some(connection) = self.connections.get(key) {
                connection.may_send = false;
                if let Err(error) = self.send(cx, key) {
                    self.break_off(cx, key, &error);
                }
            }
        }
    }

    /// Sends what waits. Requests that left with it were sent now.
    fn send(&mut self, cx: &mut Context<'_>, key: Key) -> io::Result<()> {
        let Some(connection) = self.connections.get(key) else { return Ok(()) };
        let Connection { transport, http, .. } = connection;
        let recorder = &mut cx.sink.recorder;
        cx.now = cx.clock.now();
        http.begin(cx.now);
        let sent = loop {
            let more = |request: &Pending, bytes| recorder.bytes_out(request.due, bytes);
            let outcome = match http.unsent(&self.setup.requests, more) {
                // TLS may hold some of what was handed over in full.
                [] => break transport.flush(),
                bytes => transport.send(bytes),
            };
            match outcome {
                Ok(count) => {
                    http.sent(count, cx.now, |request, bytes, is_first| match is_first {
                        true => recorder.sent(request, bytes),
                        false => recorder.bytes_out(request.due, bytes),
                    });
                }
                Err(error) => break Err(error),
            }
        };
        let is_all = sent.is_ok();
        let awaits_room = match sent {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => transport.awaits_room(),
            Err(error) => return Err(error),
        };
        let needs_each_event = !is_all || http.has_unsent_bodies() || http.busy() > 1;
        self.needy += usize::from(needs_each_event);
        self.needy -= usize::from(connection.needs_each_event);
        connection.needs_each_event = needs_each_event;
        if connection.awaits_writable != awaits_room {
            connection.awaits_writable = awaits_room;
            let interest =
                if awaits_room { Interest::ReadableAndWritable } else { Interest::Readable };
            // It is registered, so that only a broken environment refuses; the timeout ends it
            // then.
            drop(cx.poller.modify(&connection.transport.socket, key.token(), interest));
        }
        Ok(())
    }

    /// The connection has failed, and with it all that was under way on it.
    fn break_off(&mut self, cx: &mut Context<'_>, key: Key, error: &io::Error) {
        let class = cx.dialer.classify(error);
        let Some(mut connection) = self.remove(key) else { return };
        connection.http.end(class, &mut self.ended);
        drop(connection);
        self.settle(cx, key, None);
    }

    /// Times out the requests for which the condition holds.
    pub fn expire(&mut self, cx: &mut Context<'_>, is_overdue: impl Fn(&Pending) -> bool) {
        for key in self.connections.find(|one| one.http.busy() > 0).collect::<Vec<_>>() {
            let Some(connection) = self.connections.get(key) else { continue };
            connection.http.give_up(RequestError::Timeout, &is_overdue, &mut self.ended);
            if !self.ended.is_empty() {
                self.settle(cx, key, None);
                self.send_later(key);
            }
        }
        self.flush(cx);
    }
}

/// The end of a stream is that of its request, unless it can be sent again.
fn end(cx: &mut Context<'_>, stream: EndedStream, stamp: Option<u64>) {
    let EndedStream { request, result, bytes_in, bytes_out, marks, .. } = stream;
    let requests = &cx.common.requests;
    if result.is_err() && stream.is_sent_again(requests[request.target as usize].is_idempotent) {
        return cx.scheduler.put_back(Pending { is_retry: true, ..request });
    }
    let at = match result {
        Ok(_) => cx.batching.arrival(stamp, request.exchange_start(), cx.now),
        Err(_) => cx.now,
    };
    cx.end(Ended { request, at, result, bytes_out, bytes_in, marks });
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::load::exchange::http1::tests::{common, context};
    use crate::load::http2::Http2Request;
    use crate::load::request::Values;
    use crate::load::setup::Common;
    use crate::load::socket::Remote;
    use crate::terms::Target;

    /// Of a load that posts so many bytes.
    fn posting(bytes: usize) -> Common {
        let body = vec![b'x'; bytes];
        let target = Target { method: "POST".into(), body, ..Target::get("/") };
        let request = Http2Request::new(&target, "http", "app", &Values::default()).unwrap();
        let mut requests = vec![request];
        let slots = Http2Request::share_table(&mut requests, &[1]);
        Common { http2: Some(Http2Setup { streams: 100, requests, slots }), ..common(&target) }
    }

    /// With so many requests under way on one connection; and the server's end of it.
    fn sent(common: &Common, requests: usize) -> (Http2<'_>, Context<'_>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::Tcp(listener.local_addr().unwrap());
        let (mut cx, _) = context(common, remote, None);
        let mut http2 = Http2::new(&cx, common.http2.as_ref().unwrap(), None);
        for _ in 0..requests {
            cx.sink.recorder.due(cx.now);
            let request = Pending::new(cx.now, cx.now);
            http2.dispatch(&mut cx, request);
        }
        let (server, _) = listener.accept().unwrap();
        http2.flush(&mut cx);
        (http2, cx, server)
    }

    #[test]
    fn each_event_is_needed_where_a_body_waits_or_replies_could_come_together() {
        for (bytes, requests, is_needed) in [(9, 1, false), (9, 2, true), (100_000, 1, true)] {
            let common = posting(bytes);
            let (mut http2, mut cx, mut server) = sent(&common, requests);
            assert_eq!(http2.needs_each_event(), is_needed, "{requests} of {bytes} bytes");
            // SETTINGS, and room for 64 KiB more: of the connection and of its first stream.
            let room = |stream: u8| [0u8, 0, 4, 8, 0, 0, 0, 0, stream, 0, 1, 0, 0];
            server.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).unwrap();
            server.write_all(&[room(0), room(1)].concat()).unwrap();
            server.set_nonblocking(true).unwrap();
            let key = http2.connections.find(|_| true).next().unwrap();
            let (began, mut buffer) = (Instant::now(), vec![0; 1 << 16]);
            while http2.needs_each_event() != (requests > 1) {
                assert!(began.elapsed() < Duration::from_secs(30), "the body does not leave");
                drop(server.read(&mut buffer));
                http2.read(&mut cx, key);
                http2.send_later(key);
                http2.flush(&mut cx);
            }
        }
    }
}
