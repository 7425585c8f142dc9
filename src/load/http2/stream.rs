//! One request on a connection, and its reply.

use super::frame::Reason;
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
    pub resend: Resend,
}

/// Whether a request that failed may be sent once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resend {
    Never,
    /// Its connection had brought replies before, and ended before any byte of this one.
    IfHarmless,
    /// The server said that it has not begun to work on it.
    Always,
}

impl EndedStream {
    /// Whether its request is to be sent once more. `is_idempotent`: sending it twice does no more
    /// than sending it once.
    pub fn is_sent_again(&self, is_idempotent: bool) -> bool {
        let may_be = match self.resend {
            Resend::Never => false,
            Resend::IfHarmless => is_idempotent || self.bytes_out == 0,
            Resend::Always => true,
        };
        may_be && !self.request.is_retry
    }
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
    pub fn ended(self, result: Result<u16, RequestError>, resend: Resend) -> EndedStream {
        let head = self.head.unwrap_or_default();
        EndedStream {
            request: self.request,
            result,
            bytes_in: self.bytes_in,
            bytes_out: if self.has_left { self.bytes_out } else { 0 },
            marks: head.marks.of_status(head.status),
            resend,
        }
    }
}

/// What a request that the server ends for this reason has come to.
pub fn error_of(reason: Reason) -> RequestError {
    match reason {
        Reason::NO_ERROR => RequestError::ClosedEarly,
        _ => RequestError::Reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shape::Nanos;

    #[test]
    fn what_may_have_reached_the_server_is_sent_again_if_twice_is_as_good_as_once() {
        let request = Pending::new(Nanos::START, Nanos::START);
        let retried = Pending { is_retry: true, ..request };
        let is_sent_again = |resend, request, bytes_out, is_idempotent| {
            let (result, marks) = (Err(RequestError::Reset), Marks::default());
            let ended = EndedStream { request, result, bytes_in: 0, bytes_out, marks, resend };
            ended.is_sent_again(is_idempotent)
        };
        for (resend, request, bytes_out, is_idempotent, expected) in [
            (Resend::IfHarmless, request, 40, true, true),
            (Resend::IfHarmless, request, 40, false, false),
            // Nothing of it has left.
            (Resend::IfHarmless, request, 0, false, true),
            (Resend::IfHarmless, retried, 40, true, false),
            (Resend::Always, request, 40, false, true),
            (Resend::Always, retried, 0, true, false),
            (Resend::Never, request, 0, true, false),
        ] {
            let said = is_sent_again(resend, request, bytes_out, is_idempotent);
            assert_eq!(said, expected, "{resend:?}, {bytes_out} bytes, {is_idempotent}");
        }
    }
}
