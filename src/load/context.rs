//! What a loop's exchange works with: the clock, the poller, connections to be opened, the schedule
//! and the sink for what has ended.

use std::io;

use super::batching::Batching;
use super::clock::Clock;
use super::dialer::Dialer;
use super::lifecycle::{Ended, Pending};
use super::poller::Poller;
use super::scheduler::Scheduler;
use super::setup::Common;
use super::shape::{Nanos, Span};
use super::sink::Sink;
use super::transport::Transport;
use crate::terms::RequestError;

/// Reads from one connection before the others have their turn; more is reported again.
pub const READS_IN_A_ROW: usize = 8;

/// A server's full queue of unaccepted connections is looked at again after this.
const UNIX_QUEUE_PAUSE: Span = Span::millis(1);

/// All of one loop that its exchanges work with.
pub struct Context<'a> {
    pub common: &'a Common,
    pub clock: Clock,
    /// The clock when it was last read.
    pub now: Nanos,
    pub poller: Poller,
    pub dialer: Dialer,
    pub scheduler: Scheduler,
    pub batching: Batching,
    pub sink: Sink,
    /// Requests that were on their way and have ended, since the loop last set this to 0.
    pub ended: usize,
    /// For what is read.
    pub buffer: Box<[u8]>,
}

impl Context<'_> {
    #[inline]
    pub fn read_clock(&mut self) {
        self.now = self.clock.now();
    }

    /// Begins a connection for a request; without one the request has failed, or waits.
    pub fn open(&mut self, request: Pending) -> Option<Transport> {
        let error = match self.dialer.open() {
            Ok(transport) => return Some(transport),
            Err(error) => error,
        };
        if error.kind() == io::ErrorKind::WouldBlock {
            // Only unix sockets do so: the server has not accepted what came before.
            self.scheduler.put_back(Pending { has_waited: true, ..request });
            self.scheduler.pause_until(self.now + UNIX_QUEUE_PAUSE);
            return None;
        }
        self.read_clock();
        let class = self.dialer.classify(&error);
        self.fail(request, class);
        None
    }

    /// Ends a request that was on its way.
    #[inline]
    pub fn end(&mut self, mut ended: Ended) {
        if ended.result.is_ok() && ended.latency() > self.common.timeout {
            // Complete, but after the timeout, which was not noticed yet.
            (ended.result, ended.at) = (Err(RequestError::Timeout), self.now);
        }
        self.ended += 1;
        self.scheduler.ended(&ended);
        self.sink.take(&ended);
    }

    /// Ends a request that was on its way, and of which no byte has passed.
    pub fn fail(&mut self, request: Pending, error: RequestError) {
        self.end(request.failed(error, self.now));
    }

    /// Ends a request that was never on its way.
    pub fn drop_request(&mut self, request: Pending) {
        self.scheduler.begin();
        self.fail(request, RequestError::Dropped);
    }
}
