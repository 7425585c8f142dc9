//! One request on a connection, and its reply.

use super::hpack::Head;
use crate::load::lifecycle::Pending;
use crate::load::reply::Marks;
use crate::terms::RequestError;

/// A request that is under way.
#[derive(Debug)]
pub struct Stream {
    pub id: u32,
    pub request: Pending,
    /// Its reply has no body.
    pub is_head: bool,
    /// The place of its first byte among all that are sent on the connection.
    pub at: u64,
    /// That byte has been sent.
    pub has_left: bool,
    /// Sending has been tried.
    pub is_begun: bool,
    /// The reply's, once it is there.
    pub head: Option<Head>,
    /// Bytes of the reply's body.
    pub body_bytes: u64,
    /// Bytes of its frames.
    pub bytes_in: u64,
    /// Bytes of the request's frames, those that wait to be sent included.
    pub bytes_out: u64,
    /// How much of a body the server takes now; below zero when it has changed its mind.
    pub window: i64,
    /// Bytes of the reply's body that have not been given back to its flow control.
    pub unacknowledged: u32,
    pub unsent: Unsent,
}

/// What is left of a request's body.
#[derive(Debug)]
pub enum Unsent {
    Nothing,
    /// Of a body that is the same each time: from here on.
    Same(usize),
    Own(Vec<u8>),
}

/// A stream that has ended.
#[derive(Debug)]
pub struct EndedStream {
    pub request: Pending,
    /// The status, or why there is none.
    pub result: Result<u16, RequestError>,
    /// Of its frames.
    pub bytes_in: u64,
    /// Of its frames, as far as they were sent.
    pub bytes_out: u64,
    pub marks: Marks,
    /// The server said that it has not begun to work on it.
    pub may_be_sent_again: bool,
}

impl Stream {
    /// The reply is complete: its status, unless it breaks the rules (RFC 9113, section 8.1.1).
    pub fn status(&self) -> Option<u16> {
        let Head { status, content_length, .. } = self.head?;
        let has_body = !self.is_head && !matches!(status, 204 | 304);
        let is_whole = content_length.is_none_or(|length| length == self.body_bytes);
        (is_whole || !has_body).then_some(status)
    }

    /// It has ended in this way.
    pub fn ended(self, result: Result<u16, RequestError>) -> EndedStream {
        let head = self.head.unwrap_or_default();
        EndedStream {
            request: self.request,
            result,
            bytes_in: self.bytes_in,
            bytes_out: if self.has_left { self.bytes_out } else { 0 },
            marks: head.marks.of_status(head.status),
            may_be_sent_again: false,
        }
    }
}
