//! A request's way over HTTP/1: onto a connection of its own, to the server, and its reply back.

use std::io;

use super::pool::{Activity, Pool, Sending};
use super::reading::Reading;
use crate::load::context::{Context, READS_IN_A_ROW};
use crate::load::cookies::{Jar, jars};
use crate::load::lifecycle::{Ended, Pending};
use crate::load::poller::Readiness;
use crate::load::reply::{HeadCache, Progress};
use crate::load::shape::Span;
use crate::load::slab::Key;
use crate::load::socket::{READ_BUFFER, Received};
use crate::load::spec::Closing;
use crate::terms::{ConnectionMode, RequestError};

/// A request that fits into one segment on the usual network needs no help to leave at once.
const ONE_SEGMENT: usize = 1400;

const LONGEST_LINGER: Span = Span::SECOND;

/// All HTTP/1 exchanges of one loop.
#[derive(Debug)]
pub struct Http1 {
    pool: Pool,
    /// Each client's cookies; empty unless they are kept.
    jars: Vec<Jar>,
    head_cache: HeadCache,
    /// Bodies can be dropped in the kernel.
    can_discard: bool,
    max_lingering: usize,
}

impl Http1 {
    /// `clients`: those of the closed model.
    pub fn new(cx: &Context<'_>, clients: Option<u32>, max_lingering: usize) -> Self {
        let has_own_connections = cx.common.connection == ConnectionMode::KeepAlive;
        let with_connection = clients.filter(|_| has_own_connections).unwrap_or(0);
        Self {
            pool: Pool::new(with_connection as usize),
            jars: jars(cx.common.keeps_cookies, clients),
            head_cache: HeadCache::default(),
            can_discard: cx.dialer.can_discard(),
            max_lingering,
        }
    }

    /// Puts a request on its way: on an idle connection, or on a new one.
    #[inline]
    pub fn dispatch(&mut self, cx: &mut Context<'_>, request: Pending) {
        match self.pool.take_idle(request.client) {
            Some(key) => self.reuse(cx, key, request),
            None => self.connect(cx, request),
        }
    }

    fn reuse(&mut self, cx: &mut Context<'_>, key: Key, request: Pending) {
        let Some(connection) = self.pool.get(key) else { return self.connect(cx, request) };
        connection.reply.restart(cx.common.requests[request.target as usize].is_head);
        if cx.batching.want_stamps() {
            connection.transport.socket.stamp_arrivals();
        }
        connection.activity = Activity::Busy { request, written: 0, received: 0 };
        self.render(cx, key, &request);
        self.write(cx, key);
    }

    // Cold: where connections are kept it is seldom called, and its code would lie amid that of
    // every request.
    #[cold]
    fn connect(&mut self, cx: &mut Context<'_>, request: Pending) {
        let Some(mut transport) = cx.open(request) else { return };
        let prepared = &cx.common.requests[request.target as usize];
        // In a TLS handshake each side speaks several times.
        if prepared.longest() > ONE_SEGMENT || cx.dialer.has_tls() {
            // Refused by unix sockets only, which have no such delay.
            drop(transport.socket.set_no_delay());
        }
        if cx.batching.want_stamps() && cx.common.connection == ConnectionMode::KeepAlive {
            transport.socket.stamp_arrivals();
        }
        let key = self.pool.insert(transport, request, prepared.is_head);
        self.render(cx, key, &request);
        // The handshake is no part of the exchange, nor of our lag.
        cx.read_clock();
        self.write(cx, key);
        self.register(cx, key);
    }

    /// Puts a request that differs each time it is sent together; others are there already. The
    /// client's cookies are as the replies so far have set them.
    fn render(&mut self, cx: &Context<'_>, key: Key, request: &Pending) {
        let template = cx.common.requests[request.target as usize].template();
        if template.is_none() && self.jars.is_empty() {
            return;
        }
        let jar = self.jars.get_mut(request.client as usize);
        let cookies = jar.map_or(&[][..], |jar| {
            jar.await_reply();
            jar.text()
        });
        if let Some(template) = template
            && let Some(connection) = self.pool.get(key)
        {
            template.render(request.number, cookies, &mut connection.rendered);
        }
    }

    /// Has the poller report a new connection, unless its first write ended it.
    fn register(&mut self, cx: &mut Context<'_>, key: Key) {
        let Some(connection) = self.pool.get(key) else { return };
        let interest = connection.interest();
        if cx.poller.add(&connection.transport.socket, key.token(), interest).is_err() {
            self.fail(cx, key, RequestError::AddressUnavailable);
        }
    }

    /// Something happened to a connection.
    #[inline]
    pub fn handle(&mut self, cx: &mut Context<'_>, readiness: Readiness) {
        let key = Key::from_token(readiness.token);
        if readiness.is_writable && self.pool.get(key).is_some() {
            cx.read_clock();
            self.write(cx, key);
        }
        // Writing may have ended the connection; then there is nothing to read.
        if readiness.is_readable {
            self.read(cx, key, readiness.is_hung_up);
        }
    }

    /// Hands the rest of the request to the kernel, as far as it takes it.
    fn write(&mut self, cx: &mut Context<'_>, key: Key) {
        let Some(connection) = self.pool.get(key) else { return };
        let Activity::Busy { request, written, .. } = &mut connection.activity else { return };
        let prepared = &cx.common.requests[request.target as usize];
        let unwritten = &prepared.bytes(&connection.rendered)[*written..];
        let is_partly_sent = *written > 0;
        let result = match unwritten {
            // TLS may hold some of a request that was handed over in full.
            [] => connection.transport.flush().map(|()| 0),
            bytes => connection.transport.send(bytes),
        };
        match result {
            Ok(count) => {
                *written += count;
                let is_all = count == unwritten.len() && !connection.transport.has_unsent();
                if request.sent.is_none() {
                    request.sent = Some(cx.now);
                    cx.sink.recorder.sent(request, count);
                } else {
                    cx.sink.recorder.bytes_out(request.due, count);
                }
                let sending = if is_all { Sending::Done } else { Sending::AwaitsRoom };
                if connection.sending != sending {
                    self.set_sending(cx, key, sending);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let awaits_room = connection.transport.awaits_room();
                let sending = if awaits_room { Sending::AwaitsRoom } else { Sending::AwaitsServer };
                self.set_sending(cx, key, sending);
            }
            Err(error) => {
                let class = cx.dialer.classify(&error);
                let may_be_answered = is_partly_sent && class == RequestError::Reset;
                if !(may_be_answered && self.take_early_reply(cx, key)) {
                    self.retry_or_fail(cx, key, class);
                }
            }
        }
    }

    /// A server may answer and hang up before it has read all of a request (413 to a large body).
    /// Nothing can be written then, but the reply that it sent before is still there. Returns
    /// whether it was.
    fn take_early_reply(&mut self, cx: &mut Context<'_>, key: Key) -> bool {
        loop {
            let Some(connection) = self.pool.get(key) else { return false };
            let read = connection.transport.receive(&mut cx.buffer, false);
            let Ok(read) = read else { return false };
            let Activity::Busy { request, received, .. } = &mut connection.activity else {
                return false;
            };
            *received += read.count as u64;
            let bytes = &cx.buffer[..read.count];
            if let Some(jar) = self.jars.get_mut(request.client as usize) {
                jar.feed(bytes);
            }
            match connection.reply.feed(bytes) {
                Ok(Progress::Done { surplus }) => {
                    *received -= surplus as u64;
                    self.complete(cx, key, false, None);
                    return true;
                }
                Ok(Progress::More) if read.count > 0 => {}
                Ok(Progress::More) | Err(_) => return false,
            }
        }
    }

    /// Has the poller report when more can be written, if the rest waits for that.
    fn set_sending(&mut self, cx: &mut Context<'_>, key: Key, sending: Sending) {
        if self.pool.set_sending(key, sending) {
            self.rearm(cx, key);
        }
    }

    /// Registers a connection's interest anew: the poller reports what is there already.
    fn rearm(&mut self, cx: &mut Context<'_>, key: Key) {
        let Some(connection) = self.pool.get(key) else { return };
        match cx.poller.modify(&connection.transport.socket, key.token(), connection.interest()) {
            // A new connection is registered right after its first write.
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => {
                self.fail(cx, key, RequestError::AddressUnavailable);
            }
            _ => {}
        }
    }

    /// Reads what there is. `is_hung_up`: up to the end, which is there too.
    fn read(&mut self, cx: &mut Context<'_>, key: Key, is_hung_up: bool) {
        for _ in 0..READS_IN_A_ROW {
            let Some(connection) = self.pool.get(key) else { return };
            let is_busy = matches!(connection.activity, Activity::Busy { .. });
            let reading = match is_busy && self.can_discard {
                true => Reading::of(&connection.reply, &self.head_cache),
                false => Reading::ALL,
            };
            let uses_stamp = cx.batching.uses_stamps();
            let read = match reading {
                Reading::Copied(most) => {
                    connection.transport.receive(&mut cx.buffer[..most], uses_stamp)
                }
                Reading::Dropped(most) => connection.transport.socket.discard(most, uses_stamp),
            };
            let is_skipped = matches!(reading, Reading::Dropped(_));
            let goes_on = match read {
                Ok(read) if read.count == 0 => return self.handle_end(cx, key),
                Ok(read) => self.take(cx, key, read, is_skipped, is_hung_up),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if connection.is_amid_reply() {
                        cx.batching.reply_is_partial();
                    }
                    let wants_write = connection.transport.wants_write();
                    if wants_write {
                        // The TLS handshake has come to its end: now the request can leave.
                        cx.read_clock();
                        self.write(cx, key);
                    }
                    wants_write
                }
                Err(error) => {
                    let class = cx.dialer.classify(&error);
                    return self.retry_or_fail(cx, key, class);
                }
            };
            if !goes_on {
                return;
            }
        }
        self.read_later(cx, key);
    }

    /// Takes what was read, or skipped in the kernel. Returns whether to read on.
    #[inline]
    fn take(
        &mut self,
        cx: &mut Context<'_>,
        key: Key,
        read: Received,
        is_skipped: bool,
        is_hung_up: bool,
    ) -> bool {
        let Some(connection) = self.pool.get(key) else { return false };
        let Received { count, has_more, stamp } = read;
        let goes_on = has_more || is_hung_up;
        let Activity::Busy { request, received, .. } = &mut connection.activity else {
            let is_idle = matches!(connection.activity, Activity::Idle { .. });
            if is_idle {
                // What follows bytes that no request asked for could not be trusted.
                self.pool.close(key);
            }
            return goes_on && !is_idle;
        };
        let is_beginning = *received == 0;
        *received += count as u64;
        let progress = if is_skipped {
            Ok(connection.reply.skip(count as u64))
        } else {
            let bytes = &cx.buffer[..count];
            if let Some(jar) = self.jars.get_mut(request.client as usize) {
                jar.feed(bytes);
            }
            connection.reply.feed_with(bytes, &mut self.head_cache)
        };
        match progress {
            Ok(Progress::Done { surplus }) => {
                // What follows a reply is not counted, whether it was read or dropped.
                *received -= surplus as u64;
                let is_clean = surplus == 0 && !connection.transport.has_ended();
                self.complete(cx, key, is_clean, stamp);
                if is_hung_up {
                    // Nothing can follow on it, so that its end need not be read.
                    self.pool.close(key);
                } else if has_more {
                    self.rearm(cx, key);
                }
                false
            }
            Ok(Progress::More) => {
                // The kernel may have too little room for a longer reply while the loop sleeps.
                let length = received.saturating_add(connection.reply.skippable());
                if !has_more || length > READ_BUFFER as u64 {
                    cx.batching.reply_is_partial();
                }
                goes_on
            }
            Err(_) => {
                if is_beginning {
                    cx.dialer.note_protocol(&cx.buffer[..count], false);
                }
                self.fail(cx, key, RequestError::Malformed);
                false
            }
        }
    }

    /// Others have their turn before the rest of this connection's bytes.
    fn read_later(&mut self, cx: &mut Context<'_>, key: Key) {
        match self.pool.get(key).map(|connection| connection.transport.has_ended()) {
            // No poller would report it.
            Some(true) => self.read(cx, key, false),
            Some(false) => self.rearm(cx, key),
            None => {}
        }
    }

    /// The server has closed its side.
    fn handle_end(&mut self, cx: &mut Context<'_>, key: Key) {
        let Some(connection) = self.pool.get(key) else { return };
        match connection.activity {
            Activity::Idle { .. } | Activity::Lingering { .. } => {
                self.pool.close(key);
            }
            Activity::Busy { .. } if connection.reply.is_complete_at_close() => {
                self.complete(cx, key, false, None);
            }
            Activity::Busy { .. } => self.retry_or_fail(cx, key, RequestError::ClosedEarly),
        }
    }

    /// The connection is gone. When the server had closed it before the request could reach it, the
    /// request is sent once more, on a new one.
    fn retry_or_fail(&mut self, cx: &mut Context<'_>, key: Key, class: RequestError) {
        let Some(connection) = self.pool.get(key) else { return };
        let Activity::Busy { request, written, .. } = connection.activity else {
            self.pool.close(key);
            return;
        };
        let is_gone = matches!(class, RequestError::Reset | RequestError::ClosedEarly);
        let is_idempotent = cx.common.requests[request.target as usize].is_idempotent;
        let is_harmless = written == 0 || is_idempotent;
        let was_stale = connection.replies > 0 && !connection.reply.has_begun();
        if is_gone && was_stale && is_harmless && !request.is_retry {
            self.pool.close(key);
            self.connect(cx, Pending { is_retry: true, begun: cx.now, ..request });
        } else {
            self.fail(cx, key, class);
        }
    }

    /// `stamp`: when its last byte arrived, where the kernel says so.
    fn complete(&mut self, cx: &mut Context<'_>, key: Key, is_clean: bool, stamp: Option<u64>) {
        cx.read_clock();
        let Some(connection) = self.pool.get(key) else { return };
        let Activity::Busy { request, written, received } = connection.activity else { return };
        let is_reusable = is_clean
            && connection.sending == Sending::Done
            && cx.common.connection == ConnectionMode::KeepAlive
            && connection.reply.leaves_connection_open();
        let ended = Ended {
            request,
            at: cx.batching.arrival(stamp, request.exchange_start(), cx.now),
            result: Ok(connection.reply.status()),
            bytes_out: written as u64,
            bytes_in: received,
            marks: connection.reply.marks(),
        };
        cx.end(ended);
        if is_reusable {
            self.pool.release(key, request.client);
        } else {
            self.retire(cx, key);
        }
    }

    /// The last reply of a connection is complete.
    fn retire(&mut self, cx: &mut Context<'_>, key: Key) {
        let has_room = self.pool.lingering < self.max_lingering;
        match cx.common.closing {
            Closing::Server if has_room => {
                self.pool.linger(key, cx.now + LONGEST_LINGER);
                // What was answered before all of it was taken is not written on. Asking on would
                // wake the loop again and again for as long as there is room.
                return self.set_sending(cx, key, Sending::Done);
            }
            Closing::Reset => {
                if let Some(connection) = self.pool.get(key) {
                    // Refused by unix sockets only, which have no ports to free.
                    drop(connection.transport.socket.reset_when_closed());
                }
            }
            Closing::Server | Closing::Client => {}
        }
        self.pool.close(key);
    }

    /// Closes a connection, and ends its request with this error if it has one.
    fn fail(&mut self, cx: &mut Context<'_>, key: Key, class: RequestError) {
        if let Some(Activity::Busy { request, written, received }) = self.pool.close(key) {
            if class != RequestError::Timeout {
                cx.read_clock();
            }
            let (bytes_out, bytes_in) = (written as u64, received);
            cx.end(Ended { bytes_out, bytes_in, ..request.failed(class, cx.now) });
        }
    }

    pub fn has_lingering(&self) -> bool {
        self.pool.lingering > 0
    }

    /// Whether a request has not left in full: its connection, its handshake or its body goes on.
    #[inline]
    pub fn needs_each_event(&self) -> bool {
        self.pool.unsent > 0
    }

    /// Times out the requests for which the condition holds, and ends what has lingered too long.
    pub fn expire(&mut self, cx: &mut Context<'_>, is_overdue: impl Fn(&Pending) -> bool) {
        let now = cx.now;
        let expired = self.pool.find(|activity| match activity {
            Activity::Idle { .. } => false,
            Activity::Busy { request, .. } => is_overdue(request),
            Activity::Lingering { until } => *until <= now,
        });
        for key in expired {
            self.fail(cx, key, RequestError::Timeout);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::OnceLock;
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::time::{Duration, Instant};

    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::load::batching::Batching;
    use crate::load::clock::Clock;
    use crate::load::dialer::Dialer;
    use crate::load::poller::Poller;
    use crate::load::request::{Mix, Request, Values};
    use crate::load::scheduler::Scheduler;
    use crate::load::setup::{Common, LoopMessage, ShutdownFlag};
    use crate::load::shape::{Nanos, Part, Shape};
    use crate::load::sink::Sink;
    use crate::load::socket::Remote;
    use crate::load::source::{Limit, Source};
    use crate::load::tls::{TlsOptions, TlsSettings};
    use crate::terms::{RequestRow, Target};

    /// Of a load whose client keeps its cookies.
    pub fn common(target: &Target) -> Common {
        let connection = ConnectionMode::KeepAlive;
        let request = Request::new(target, "app", connection, &Values::default()).unwrap();
        Common {
            clock: OnceLock::new(),
            shutdown: ShutdownFlag::default(),
            requests: vec![request],
            weights: vec![1],
            connection,
            closing: Closing::Client,
            http2: None,
            recorded_targets: 0,
            keeps_rows: true,
            keeps_cookies: true,
            timeout: Span::millis(60_000),
        }
    }

    /// Of a loop that connects there.
    pub fn context(
        common: &Common,
        remote: Remote,
        tls: Option<TlsSettings>,
    ) -> (Context<'_>, Receiver<(u16, LoopMessage)>) {
        let (messages, receiver) = sync_channel(64);
        let shape = Shape::Clients { clients: 1, think: Duration::ZERO };
        let source = Source::new(&shape, Duration::ZERO, Part::WHOLE, 1, Limit::At(Nanos::MAX));
        let mix = Mix::new(&common.weights, Xoshiro256PlusPlus::seed_from_u64(1));
        let cx = Context {
            common,
            clock: Clock::start(),
            now: Nanos::START,
            poller: Poller::new().unwrap(),
            dialer: Dialer::new(&[remote], 0, tls),
            scheduler: Scheduler::new(source, mix, Part::WHOLE, 1),
            batching: Batching::default(),
            sink: Sink::new(common, 0, messages),
            ended: 0,
            buffer: vec![0; READ_BUFFER].into_boxed_slice(),
        };
        (cx, receiver)
    }

    /// A client's request that is on its way.
    struct Sent<'a> {
        cx: Context<'a>,
        http1: Http1,
        key: Key,
        receiver: Receiver<(u16, LoopMessage)>,
    }

    /// Also the server's end of the connection, on which the request has begun to arrive.
    fn sent(common: &Common, tls: Option<TlsSettings>) -> (Sent<'_>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::Tcp(listener.local_addr().unwrap());
        let (mut cx, receiver) = context(common, remote, tls);
        let mut http1 = Http1::new(&cx, Some(1), 0);
        let request = cx.scheduler.take_due(cx.now).unwrap();
        cx.sink.recorder.due(request.due);
        cx.scheduler.begin();
        http1.dispatch(&mut cx, request);
        let key = http1.pool.find(|_| true)[0];
        let (mut server, _) = listener.accept().unwrap();
        // The first try may have come before the connection was there.
        http1.write(&mut cx, key);
        server.read_exact(&mut [0; 1]).unwrap();
        (Sent { cx, http1, key, receiver }, server)
    }

    impl Sent<'_> {
        /// Does this again and again until the request has ended, and returns what came of it.
        fn until_ended(&mut self, act: impl Fn(&mut Http1, &mut Context<'_>, Key)) -> RequestRow {
            let began = Instant::now();
            while self.cx.ended == 0 {
                assert!(began.elapsed() < Duration::from_secs(30), "it does not end");
                act(&mut self.http1, &mut self.cx, self.key);
            }
            self.cx.sink.finish(true);
            let rows = self.receiver.try_iter().find_map(|(_, message)| match message {
                LoopMessage::Rows(rows) => Some(rows),
                _ => None,
            });
            rows.unwrap()[0]
        }
    }

    #[test]
    fn what_follows_a_reply_is_not_counted_and_its_connection_is_not_used_again() {
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        let common = common(&Target::get("/"));
        let (mut sent, mut server) = sent(&common, None);
        server.write_all(&[&reply[..], b"surplus"].concat()).unwrap();
        let row = sent.until_ended(|http1, cx, key| http1.read(cx, key, false));
        assert_eq!((row.status, row.bytes_in), (200, reply.len() as u64));
        assert!(sent.http1.pool.take_idle(0).is_none());
    }

    #[test]
    fn each_event_is_needed_until_a_request_has_left_or_is_given_up() {
        let options = TlsOptions { is_insecure: true, ..TlsOptions::default() };
        let tls = TlsSettings::new("localhost", &options).unwrap().for_a_loop(false);
        let of_tls = common(&Target::get("/"));
        let (mut greeted, _server) = sent(&of_tls, Some(tls));
        assert!(greeted.http1.needs_each_event(), "the server has not answered the handshake");
        greeted.http1.fail(&mut greeted.cx, greeted.key, RequestError::Timeout);
        assert!(!greeted.http1.needs_each_event());

        let body = vec![b'x'; 20_000_000];
        let large = common(&Target { method: "POST".into(), body, ..Target::get("/") });
        let (mut sent, mut server) = sent(&large, None);
        assert!(sent.http1.needs_each_event(), "it waits for room");
        let mut buffer = vec![0; 1 << 16];
        while sent.http1.needs_each_event() {
            server.read_exact(&mut buffer).unwrap();
            sent.http1.write(&mut sent.cx, sent.key);
        }
        assert_eq!(sent.cx.ended, 0, "it has left");
    }

    /// The reply is seen only when no more can be written, as the server has hung up.
    #[test]
    fn a_reply_to_half_a_request_sets_cookies_and_is_counted_as_any_other() {
        let reply = b"HTTP/1.1 413 Too Large\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n";
        let body = vec![b'x'; 20_000_000];
        let common = common(&Target { method: "POST".into(), body, ..Target::get("/") });
        let (mut sent, mut server) = sent(&common, None);
        server.write_all(&[&reply[..], b"surplus"].concat()).unwrap();
        // Closed with much unread: that is a reset.
        drop(server);
        let row = sent.until_ended(Http1::write);
        assert_eq!((row.status, row.bytes_in), (413, reply.len() as u64));
        assert_eq!(sent.http1.jars[0].text(), b"a=1");
    }
}
