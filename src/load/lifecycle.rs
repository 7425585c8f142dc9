//! A request from the moment it is due to its one outcome.

use super::reply::Marks;
use super::shape::{Nanos, Span};
use crate::terms::{RequestError, RequestRow};

/// A request that is due and has not ended.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub due: Nanos,
    /// When the loop acted on it: connected or sent.
    pub begun: Nanos,
    /// When its first byte was handed to the kernel; `None` before.
    pub sent: Option<Nanos>,
    pub target: u32,
    /// Its place among all requests of the load, from 0.
    pub number: u64,
    /// The closed model's client that sends it; 0 in the open model.
    pub client: u32,
    /// It had to wait for room among the requests in flight, so its lag is not the loop's.
    pub has_waited: bool,
    /// It was sent before, on a connection that the server had closed meanwhile.
    pub is_retry: bool,
}

/// A request that has ended, in one status or one error.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub request: Pending,
    /// When its reply was complete, or it was given up.
    pub at: Nanos,
    pub result: Result<u16, RequestError>,
    /// Bytes of it that the kernel took.
    pub bytes_out: u64,
    /// Bytes of its reply.
    pub bytes_in: u64,
    /// Of its reply.
    pub marks: Marks,
}

impl Pending {
    /// One that is due at `due` and noticed at `now`.
    #[inline]
    pub fn new(due: Nanos, now: Nanos) -> Self {
        Self {
            due,
            begun: now,
            sent: None,
            target: 0,
            number: 0,
            client: 0,
            has_waited: false,
            is_retry: false,
        }
    }

    /// From due until the loop acted on it; `None` when it waited for something else.
    #[inline]
    pub fn lag(&self) -> Option<Span> {
        (!self.has_waited).then(|| self.begun - self.due)
    }

    /// When its exchange began.
    #[inline]
    pub fn exchange_start(&self) -> Nanos {
        self.sent.unwrap_or(self.begun)
    }

    /// It has failed at `at`, and no byte of it or its reply has passed.
    pub fn failed(self, error: RequestError, at: Nanos) -> Ended {
        let marks = Marks::default();
        Ended { request: self, at, result: Err(error), bytes_out: 0, bytes_in: 0, marks }
    }
}

impl Ended {
    /// From due to its end.
    #[inline]
    pub fn latency(&self) -> Span {
        self.at - self.request.due
    }

    /// As a row, with its latency as it counts.
    pub fn row(&self, latency: Span) -> RequestRow {
        RequestRow {
            due_ns: self.request.due.get(),
            latency_ns: latency.get(),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            sequence: self.request.number,
            target: self.request.target,
            status: self.result.unwrap_or(0),
            error: self.result.err(),
        }
    }
}
