//! A request's way to the server and back, a file a protocol. Each request that is put on its way
//! ends here in exactly one status or one error.

mod http1;
mod http2;
mod pool;
mod reading;

use super::context::Context;
use super::lifecycle::Pending;
use super::poller::Readiness;
use http1::Http1;
use http2::Http2;

/// All exchanges of one loop; a load speaks one protocol.
pub enum Exchange<'a> {
    Http1(Http1),
    Http2(Http2<'a>),
}

impl<'a> Exchange<'a> {
    /// `clients`: those of the closed model. `max_lingering`: most connections that wait for the
    /// server to close them.
    pub fn new(cx: &Context<'a>, clients: Option<u32>, max_lingering: usize) -> Self {
        match &cx.common.http2 {
            None => Self::Http1(Http1::new(cx, clients, max_lingering)),
            Some(setup) => Self::Http2(Http2::new(cx, setup, clients)),
        }
    }

    /// Puts a request on its way; it has left after the next [`flush`](Self::flush).
    #[inline]
    pub fn dispatch(&mut self, cx: &mut Context<'_>, request: Pending) {
        cx.scheduler.begin();
        let request = Pending { begun: cx.now, ..request };
        match self {
            Self::Http1(http1) => http1.dispatch(cx, request),
            Self::Http2(http2) => http2.dispatch(cx, request),
        }
    }

    /// Sends what was put on its way and has not left yet.
    #[inline]
    pub fn flush(&mut self, cx: &mut Context<'_>) {
        if let Self::Http2(http2) = self {
            http2.flush(cx);
        }
    }

    /// Something happened to a connection.
    #[inline]
    pub fn handle(&mut self, cx: &mut Context<'_>, readiness: Readiness) {
        match self {
            Self::Http1(http1) => http1.handle(cx, readiness),
            Self::Http2(http2) => http2.handle(cx, readiness),
        }
    }

    /// Whether something of ours goes on as soon as the server has done its part, or several
    /// replies could arrive as one: what is slept through then would count as the server's time.
    #[inline]
    pub fn needs_each_event(&self) -> bool {
        match self {
            Self::Http1(http1) => http1.needs_each_event(),
            Self::Http2(http2) => http2.needs_each_event(),
        }
    }

    /// Whether connections wait for the server to close them.
    pub fn has_lingering(&self) -> bool {
        matches!(self, Self::Http1(http1) if http1.has_lingering())
    }

    /// Times out the requests for which the condition holds; asks it of each that is under way.
    pub fn expire(&mut self, cx: &mut Context<'_>, is_overdue: impl Fn(&Pending) -> bool) {
        match self {
            Self::Http1(http1) => http1.expire(cx, is_overdue),
            Self::Http2(http2) => http2.expire(cx, is_overdue),
        }
    }
}
