//! One HTTP/2 connection with several requests under way: the library's state machine, polled by
//! the loop and by nothing else.
//!
//! In: bytes that arrived, requests to send. Out: bytes to send, requests that have ended. It knows
//! no socket, no clock and no record.

mod pipe;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};

use super::LoadError;
use super::connection::Flight;
use super::recorder::Failure;
use super::request::USER_AGENT;
use crate::terms::Target;
use pipe::Pipe;

/// Room for replies: of one stream and of a whole connection, bytes. Bodies are dropped as they
/// come, so that this only has to be more than what a route can hold.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 1 << 24;

/// A request as the library takes it.
#[derive(Debug, Clone)]
pub struct Message {
    pub head: http::Request<()>,
    pub body: Bytes,
}

/// A request that has ended.
#[derive(Debug)]
pub struct Ended {
    pub flight: Flight,
    /// The status, or why there is none.
    pub outcome: Result<u16, Failure>,
    /// Bytes of its body.
    pub received: u64,
    /// The server said that it has not begun to work on it.
    pub may_be_sent_again: bool,
}

/// See the head of this file.
pub struct Multiplexed {
    pipe: Pipe,
    requests: SendRequest<Bytes>,
    driver: Connection<Pipe, Bytes>,
    /// By place; a place is reused.
    streams: Vec<Option<Stream>>,
    free: Vec<u32>,
    ready: Arc<Ready>,
    /// The library has nothing more to do with this connection.
    is_over: bool,
}

struct Stream {
    flight: Flight,
    waker: Waker,
    state: State,
    received: u64,
}

enum State {
    Head(ResponseFuture),
    Body { status: u16, body: RecvStream },
}

/// The places of streams that something happened to.
#[derive(Default)]
struct Ready(Mutex<Vec<u32>>);

impl Ready {
    /// A list of numbers is whole after any panic.
    fn places(&self) -> MutexGuard<'_, Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Signal {
    ready: Arc<Ready>,
    place: u32,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.places().push(self.place);
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
        let mut nobody = Context::from_waker(Waker::noop());
        // It only writes, and the pipe takes everything.
        let Poll::Ready(Ok((requests, driver))) = begun.as_mut().poll(&mut nobody) else {
            return None;
        };
        Some(Self {
            pipe,
            requests,
            driver,
            streams: Vec::new(),
            free: Vec::new(),
            ready: Arc::default(),
            is_over: false,
        })
    }

    /// How many requests are under way.
    pub fn busy(&self) -> usize {
        self.streams.len() - self.free.len()
    }

    /// Whether another request may be put on its way: fewer than `most` are, and than the server
    /// allows.
    pub fn has_room(&self, most: usize) -> bool {
        let most = most.min(self.requests.current_max_send_streams());
        !self.is_over && self.busy() < most.max(1)
    }

    /// Whether nothing will come of this connection any more.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// All that waited has left: gives the requests that left with it, and notes when.
    pub fn mark_sent(&mut self, now: u64) -> Vec<Flight> {
        let unsent = self.streams.iter_mut().flatten().filter(|one| one.flight.sent.is_none());
        unsent
            .map(|stream| {
                stream.flight.sent = Some(now);
                stream.flight
            })
            .collect()
    }

    /// Puts a request on its way.
    ///
    /// # Errors
    /// The connection takes no more requests; the flight comes back as it was.
    pub fn send(&mut self, flight: Flight, message: &Message) -> Result<(), Flight> {
        let has_body = !message.body.is_empty();
        let Ok((head, mut rest)) = self.requests.send_request(message.head.clone(), !has_body)
        else {
            return Err(flight);
        };
        if has_body && rest.send_data(message.body.clone(), true).is_err() {
            return Err(flight);
        }
        let place = self.place();
        let signal = Signal { ready: self.ready.clone(), place };
        let stream = Stream {
            flight,
            waker: Waker::from(Arc::new(signal)),
            state: State::Head(head),
            received: 0,
        };
        self.streams[place as usize] = Some(stream);
        // The first look leaves word where to be told.
        self.ready.places().push(place);
        Ok(())
    }

    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.streams.push(None);
            (self.streams.len() - 1) as u32
        })
    }

    /// Bytes arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.pipe.feed(bytes);
    }

    /// The other side has ended the connection.
    pub fn end(&mut self) {
        self.pipe.end();
    }

    /// The bytes that wait to be sent.
    pub fn pipe(&self) -> &Pipe {
        &self.pipe
    }

    /// Lets the library work, and hands out the requests that have ended meanwhile.
    pub fn drive(&mut self, ended: &mut Vec<Ended>) {
        loop {
            if !self.is_over {
                let mut nobody = Context::from_waker(Waker::noop());
                self.is_over = Pin::new(&mut self.driver).poll(&mut nobody).is_ready();
            }
            let mut places = std::mem::take(&mut *self.ready.places());
            if self.is_over {
                places.extend(0..self.streams.len() as u32);
            }
            if places.is_empty() {
                return;
            }
            places.sort_unstable();
            places.dedup();
            let had = ended.len();
            places.into_iter().for_each(|place| ended.extend(self.look(place)));
            // Room given back, or a reset, is something to send.
            if ended.len() == had && self.is_over {
                return;
            }
        }
    }

    /// What became of the stream at a place, if it has ended.
    fn look(&mut self, place: u32) -> Option<Ended> {
        let stream = self.streams.get_mut(place as usize)?.as_mut()?;
        let outcome = match stream.poll() {
            Poll::Pending if self.is_over => Err(lost(None)),
            Poll::Pending => return None,
            Poll::Ready(Ok(status)) => Ok(status),
            Poll::Ready(Err(error)) => Err(lost(Some(&error))),
        };
        let stream = self.close(place)?;
        let (outcome, may_be_sent_again) = match outcome {
            Ok(status) => (Ok(status), false),
            Err((failure, again)) => (Err(failure), again),
        };
        Some(Ended { flight: stream.flight, outcome, received: stream.received, may_be_sent_again })
    }

    fn close(&mut self, place: u32) -> Option<Stream> {
        let stream = self.streams.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(stream)
    }

    /// Gives up the requests for which the condition holds: the server is told so.
    pub fn give_up(
        &mut self,
        condition: impl Fn(&Flight) -> bool,
        given_up: &mut Vec<(Flight, u64)>,
    ) {
        for place in 0..self.streams.len() as u32 {
            let is_meant = self.streams[place as usize]
                .as_ref()
                .is_some_and(|stream| condition(&stream.flight));
            if is_meant && let Some(stream) = self.close(place) {
                given_up.push((stream.flight, stream.received));
            }
        }
    }
}

impl Stream {
    /// The status, once the whole reply is there.
    fn poll(&mut self) -> Poll<Result<u16, h2::Error>> {
        let mut told = Context::from_waker(&self.waker);
        loop {
            match &mut self.state {
                State::Head(head) => match Pin::new(head).poll(&mut told) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Ready(Ok(reply)) => {
                        let status = reply.status().as_u16();
                        self.state = State::Body { status, body: reply.into_body() };
                    }
                },
                State::Body { status, body } => match body.poll_data(&mut told) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => return Poll::Ready(Ok(*status)),
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                    Poll::Ready(Some(Ok(bytes))) => {
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
fn lost(error: Option<&h2::Error>) -> (Failure, bool) {
    let Some(error) = error else { return (Failure::ClosedEarly, false) };
    match error.reason() {
        Some(Reason::REFUSED_STREAM) => (Failure::Reset, true),
        // The streams that a GOAWAY leaves out are told so with no error of their own.
        Some(Reason::NO_ERROR) => (Failure::ClosedEarly, error.is_go_away()),
        Some(_) if error.is_remote() => (Failure::Reset, false),
        Some(_) => (Failure::Malformed, false),
        None => (Failure::ClosedEarly, false),
    }
}

/// Headers that belong to one connection, or that HTTP/2 says in another way (RFC 9113, section
/// 8.2.2).
const NOT_SENT: [&str; 6] =
    ["host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

impl Message {
    /// The request of a target, that the HTTP/1 form of it was made from without complaint.
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
