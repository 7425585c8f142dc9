//! What the coordinator gives the loops, what all of them share and what each has for itself; and
//! what they send back.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::SyncSender;

use super::clock::Clock;
use super::dialer::Dialer;
use super::http2::Http2Request;
use super::recorder::ClockSecond;
use super::request::Request;
use super::shape::{Part, Span};
use super::source::Source;
use super::spec::Closing;
use crate::terms::{ConnectionMode, LoadSecond, RequestRow};

/// How the load is to go on; later ones are more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Shutdown {
    /// The load runs.
    None,
    /// Nothing is due any more; replies in flight are awaited up to the timeout.
    Drain,
    /// Nothing is due any more; replies in flight are awaited for a moment.
    DrainBriefly,
    /// Everything ends now.
    Abort,
}

/// How to go on, as the coordinator says it to all loops.
#[derive(Debug, Default)]
pub struct ShutdownFlag(AtomicU8);

impl ShutdownFlag {
    /// It only ever becomes more urgent.
    pub fn raise(&self, shutdown: Shutdown) {
        self.0.fetch_max(shutdown as u8, Ordering::Relaxed);
    }

    #[inline]
    pub fn current(&self) -> Shutdown {
        match self.0.load(Ordering::Relaxed) {
            0 => Shutdown::None,
            1 => Shutdown::Drain,
            2 => Shutdown::DrainBriefly,
            _ => Shutdown::Abort,
        }
    }
}

/// What HTTP/2 needs to know of the load.
#[derive(Debug)]
pub struct Http2Setup {
    /// Most requests under way on a connection.
    pub streams: usize,
    /// One a target.
    pub requests: Vec<Http2Request>,
    /// See [`Http2Request::share_table`].
    pub slots: u8,
}

/// What every loop of a load has in common.
#[derive(Debug)]
pub struct Common {
    /// Set when all loops are ready: the load begins.
    pub clock: OnceLock<Clock>,
    pub shutdown: ShutdownFlag,
    pub requests: Vec<Request>,
    pub weights: Vec<u32>,
    pub connection: ConnectionMode,
    pub closing: Closing,
    /// `Some`: HTTP/2 is spoken.
    pub http2: Option<Http2Setup>,
    /// How many targets are recorded one by one; 0: none.
    pub recorded_targets: usize,
    pub keeps_rows: bool,
    pub keeps_cookies: bool,
    pub timeout: Span,
}

/// What one loop is given for itself.
pub struct LoopSetup {
    /// Which of this generator's loops it is.
    pub index: u16,
    /// Which of all generators' loops it is.
    pub part: Part,
    pub source: Source,
    pub dialer: Dialer,
    pub max_in_flight: usize,
    /// Most connections that linger, waiting for the server to close.
    pub max_lingering: usize,
    pub seed: u64,
    pub messages: SyncSender<(u16, LoopMessage)>,
}

/// What a loop sends to the coordinator while it runs.
#[derive(Debug, PartialEq)]
pub enum LoopMessage {
    /// The first message of a loop: it is prepared, and waits for the clock.
    Ready,
    Clock(Box<ClockSecond>),
    /// Requests that have ended.
    Rows(Vec<RequestRow>),
    /// Nothing can be added any more to the second of this index.
    Finished(u64, Box<LoadSecond>),
    /// The last message of a loop, and the only one of a loop that could not be prepared.
    Ended,
}
