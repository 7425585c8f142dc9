//! One HTTP/2 connection with several requests under way: the library's state machine, polled by
//! the loop and by nothing else.
//!
//! In: bytes that arrived, requests to send. Out: bytes to send, requests that have ended. It knows
//! no socket, no clock and no record.

#[cfg(fuzzing)]
mod fuzzed;
mod pipe;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};

use super::error::LoadError;
use super::lifecycle::Pending;
use super::request::USER_AGENT;
use super::shape::Nanos;
use super::slab::{Key, Slab};
use crate::terms::{RequestError, Target};
#[cfg(fuzzing)]
pub use fuzzed::{FuzzedConnection, fuzzed};
use pipe::Pipe;

/// Room for replies: of one stream and of a whole connection, bytes. Bodies are dropped as they
/// come, so that this only has to be more than what a route can hold.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 24;

/// A request as the library takes it.
#[derive(Debug, Clone)]
pub struct Http2Request {
    pub head: http::Request<()>,
    pub body: Bytes,
}

/// A stream that has ended.
#[derive(Debug)]
pub struct EndedStream {
    pub request: Pending,
    /// The status, or why there is none.
    pub result: Result<u16, RequestError>,
    /// Bytes of its body.
    pub received: u64,
    /// The server said that it has not begun to work on it.
    pub may_be_sent_again: bool,
}

/// One HTTP/2 connection with its streams.
pub struct Multiplexed {
    pub pipe: Pipe,
    requests: SendRequest<Bytes>,
    driver: Connection<Pipe, Bytes>,
    streams: Slab<Stream>,
    ready: Arc<Ready>,
    /// The library has nothing more to do with this connection.
    pub is_over: bool,
}

struct Stream {
    request: Pending,
    waker: Waker,
    state: State,
    received: u64,
}

enum State {
    Head(ResponseFuture),
    Body { status: u16, body: RecvStream },
}

/// The streams that something happened to.
#[derive(Default)]
struct Ready(Mutex<Vec<Key>>);

impl Ready {
    /// A list of keys is whole after any panic.
    fn streams(&self) -> MutexGuard<'_, Vec<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct StreamWaker {
    ready: Arc<Ready>,
    stream: Key,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.streams().push(self.stream);
    }
}

impl Multiplexed {
    /// Begins a connection: what it has to say first waits to be sent. `None` only if the library
    /// could not begin, which depends on nothing outside.
    pub fn new() -> Option<Self> {
        let pipe = Pipe::default();
        let mut begun = std::pin::pin!(
            Builder::new()
                .enable_push(false)
                .initial_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .handshake::<_, Bytes>(pipe.clone())
        );
        let mut unwoken = Context::from_waker(Waker::noop());
        // It only writes, and the pipe takes everything.
        let Poll::Ready(Ok((requests, driver))) = begun.as_mut().poll(&mut unwoken) else {
            return None;
        };
        Some(Self {
            pipe,
            requests,
            driver,
            streams: Slab::default(),
            ready: Arc::default(),
            is_over: false,
        })
    }

    /// How many requests are under way.
    pub fn busy(&self) -> usize {
        self.streams.len()
    }

    /// Whether another request may be put on its way: fewer than `most` are, and than the server
    /// allows.
    pub fn has_room(&self, most: usize) -> bool {
        let most = most.min(self.requests.current_max_send_streams());
        !self.is_over && self.busy() < most.max(1)
    }

    /// All that waited has left: gives the requests that left with it, and notes when.
    pub fn mark_sent(&mut self, now: Nanos) -> Vec<Pending> {
        let unsent = self.streams.values_mut().filter(|stream| stream.request.sent.is_none());
        unsent
            .map(|stream| {
                stream.request.sent = Some(now);
                stream.request
            })
            .collect()
    }

    /// Puts a request on its way.
    ///
    /// # Errors
    /// The connection takes no more requests.
    pub fn send(&mut self, request: Pending, message: &Http2Request) -> Result<(), h2::Error> {
        let has_body = !message.body.is_empty();
        let (head, mut body) = self.requests.send_request(message.head.clone(), !has_body)?;
        if has_body {
            body.send_data(message.body.clone(), true)?;
        }
        let stream = self.streams.insert_with(|stream| Stream {
            request,
            waker: Waker::from(Arc::new(StreamWaker { ready: self.ready.clone(), stream })),
            state: State::Head(head),
            received: 0,
        });
        // Only once it has been polled does the library know its waker.
        self.ready.streams().push(stream);
        Ok(())
    }

    /// Lets the library work, and hands out the streams that have ended meanwhile.
    pub fn drive(&mut self, ended: &mut Vec<EndedStream>) {
        loop {
            if !self.is_over {
                let mut unwoken = Context::from_waker(Waker::noop());
                self.is_over = Pin::new(&mut self.driver).poll(&mut unwoken).is_ready();
            }
            let mut ready = std::mem::take(&mut *self.ready.streams());
            if self.is_over {
                ready.extend(self.streams.find(|_| true));
            }
            if ready.is_empty() {
                return;
            }
            ready.sort_unstable();
            ready.dedup();
            let had = ended.len();
            ready.into_iter().for_each(|stream| ended.extend(self.poll(stream)));
            // Room given back, or a reset, is something to send.
            if ended.len() == had && self.is_over {
                return;
            }
        }
    }

    /// What became of a stream, if it has ended.
    fn poll(&mut self, key: Key) -> Option<EndedStream> {
        let (result, may_be_sent_again) = match self.streams.get(key)?.poll() {
            Poll::Pending if self.is_over => lost(None),
            Poll::Pending => return None,
            Poll::Ready(Ok(status)) => (Ok(status), false),
            Poll::Ready(Err(error)) => lost(Some(&error)),
        };
        let Stream { request, received, .. } = self.streams.remove(key)?;
        Some(EndedStream { request, result, received, may_be_sent_again })
    }

    /// Gives up the requests for which the condition holds, which resets their streams. Returns
    /// each with the bytes of its reply's body so far.
    pub fn give_up(&mut self, condition: impl Fn(&Pending) -> bool) -> Vec<(Pending, u64)> {
        let given_up: Vec<Key> = self.streams.find(|one| condition(&one.request)).collect();
        let streams = given_up.into_iter().filter_map(|key| self.streams.remove(key));
        streams.map(|stream| (stream.request, stream.received)).collect()
    }
}

impl Stream {
    /// The status, once the whole reply is there.
    fn poll(&mut self) -> Poll<Result<u16, h2::Error>> {
        let mut context = Context::from_waker(&self.waker);
        loop {
            match &mut self.state {
                State::Head(head) => match ready!(Pin::new(head).poll(&mut context)) {
                    Err(error) => return Poll::Ready(Err(error)),
                    Ok(reply) => {
                        let status = reply.status().as_u16();
                        self.state = State::Body { status, body: reply.into_body() };
                    }
                },
                State::Body { status, body } => match ready!(body.poll_data(&mut context)) {
                    None => return Poll::Ready(Ok(*status)),
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    Some(Ok(bytes)) => {
                        self.received += bytes.len() as u64;
                        // Refused only for more than was received.
                        drop(body.flow_control().release_capacity(bytes.len()));
                    }
                },
            }
        }
    }
}

/// Why a reply will not come, and whether the server has certainly not begun to work on it.
fn lost(error: Option<&h2::Error>) -> (Result<u16, RequestError>, bool) {
    let (class, may_be_sent_again) = match error.map(|error| (error, error.reason())) {
        Some((_, Some(Reason::REFUSED_STREAM))) => (RequestError::Reset, true),
        // The streams that a GOAWAY leaves out get no error of their own.
        Some((error, Some(Reason::NO_ERROR))) => (RequestError::ClosedEarly, error.is_go_away()),
        Some((error, Some(_))) if error.is_remote() => (RequestError::Reset, false),
        Some((_, Some(_))) => (RequestError::Malformed, false),
        Some((_, None)) | None => (RequestError::ClosedEarly, false),
    };
    (Err(class), may_be_sent_again)
}

/// Headers that belong to one connection, or that HTTP/2 says in another way (RFC 9113, section
/// 8.2.2).
const NOT_SENT: [&str; 6] =
    ["host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

impl Http2Request {
    /// The request of a target that a valid HTTP/1 request was made from already.
    ///
    /// # Errors
    /// Variables, or what cannot be said in HTTP/2.
    pub fn new(target: &Target, scheme: &str, host: &str) -> Result<Self, LoadError> {
        let refuse = |what: String| LoadError::Plan(format!("target '{target}': {what}"));
        let own_host = target.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = own_host.map_or(host, |(_, value)| value.as_str());
        let mut builder = http::Request::builder()
            .method(target.method.as_str())
            .uri(format!("{scheme}://{host}{}", target.path))
            .version(http::Version::HTTP_2);
        let has =
            |wanted: &str| target.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        for (name, value) in [("user-agent", USER_AGENT), ("accept", "*/*")] {
            if !has(name) {
                builder = builder.header(name, value);
            }
        }
        for (name, value) in &target.headers {
            if !NOT_SENT.contains(&name.to_ascii_lowercase().as_str()) {
                builder = builder.header(name.as_str(), value.as_str());
            }
        }
        if !target.body.is_empty() {
            builder = builder.header("content-length", target.body.len());
        }
        let head = builder.body(()).map_err(|error| refuse(error.to_string()))?;
        Ok(Self { head, body: Bytes::copy_from_slice(&target.body) })
    }
}
