//! One loop: a thread with its own poller, connections, schedule and recorder. It shares nothing
//! with the other loops while requests are under way but one number that says how urgently to end.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Closing;
use super::clock::{Clock, SECOND, duration};
use super::connection::{Activity, Connections, Flight, Passed};
use super::cookies::Jar;
use super::exchange_http2::{SharedConnections, Sharing};
use super::http2::Ended;
use super::poller::Poller;
use super::recorder::{ClockSecond, Failure, Recorder};
use super::reply::Memo;
use super::request::{Mix, Request};
use super::rounds::Rounds;
use super::rows::Rows;
use super::socket::Remote;
use super::source::Source;
use super::thread::{self, CpuTime};
use super::tls::TlsSettings;
use crate::terms::{ConnectionMode, LoadSecond, RequestRow, TlsTrouble};

const MS: u64 = 1_000_000;

/// Mean distance of the samples of requests in flight. Distances vary, so that samples don't fall
/// in step with uniform arrivals.
const SAMPLE_DISTANCE: u64 = 10 * MS;

/// Requests that may wait for a free place, a loop. At 16,000/s that is more than a minute's worth.
const LONGEST_QUEUE: usize = 1 << 20;

/// Sent in a row before the replies that are there are looked at.
const SENDS_IN_A_ROW: usize = 64;

/// Read in a row before what is due is sent. Of requests that are sent in a row only the first has
/// to wake a server that fell asleep.
const REPLIES_IN_A_ROW: usize = 2;

/// Sent after these. A loop that is behind must take in replies as fast as it sends: each gives
/// back a connection, while with more sends than reads it would open ever more of them.
const SENDS_AFTER_REPLIES: usize = 4;

/// Bytes read at once; bodies with more than that to come are dropped in the kernel.
pub const READ_BUFFER: usize = 64 * 1024;

/// How the load is to go on; later ones are more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Order {
    GoOn,
    /// Nothing is due any more; what is in flight is awaited up to the timeout.
    Finish,
    /// The same, but for a moment only.
    GiveUp,
    /// Everything ends now.
    Now,
}

/// After giving up, replies are awaited this long.
const SHORT_DRAIN: u64 = 2 * SECOND;

/// The order, as the coordinator gives it to all loops.
#[derive(Debug, Default)]
pub struct Orders(AtomicU8);

impl Orders {
    /// Orders are only ever made more urgent.
    pub fn give(&self, order: Order) {
        self.0.fetch_max(order as u8, Ordering::Relaxed);
    }

    pub fn current(&self) -> Order {
        match self.0.load(Ordering::Relaxed) {
            0 => Order::GoOn,
            1 => Order::Finish,
            2 => Order::GiveUp,
            _ => Order::Now,
        }
    }
}

/// What a loop tells the coordinator while it runs.
#[derive(Debug)]
pub enum Message {
    /// The first message of a loop: it waits for the clock.
    Ready,
    Clock(Box<ClockSecond>),
    /// Requests that have ended, where somebody wants to know each.
    Rows(Vec<RequestRow>),
    /// Nothing can be added any more to the second of this index.
    Finished(u64, Box<LoadSecond>),
    /// The last message of a loop.
    Ended,
}

/// What every loop of a load has in common.
#[derive(Debug)]
pub struct Common {
    /// Set when all loops are ready: the load begins.
    pub clock: OnceLock<Clock>,
    pub orders: Orders,
    pub requests: Vec<Request>,
    pub weights: Vec<u32>,
    pub connection: ConnectionMode,
    pub closing: Closing,
    pub tls: Option<TlsSettings>,
    /// HTTP/2 is spoken.
    pub sharing: Option<Sharing>,
    /// How many targets are told apart; 0: none.
    pub targets_apart: usize,
    pub keeps_rows: bool,
    pub keeps_cookies: bool,
    /// Nanoseconds.
    pub timeout: u64,
}

/// What one loop is given for itself.
pub struct Setup {
    pub index: u16,
    /// How many loops share the load.
    pub loops: u16,
    pub source: Source,
    pub remotes: Vec<Remote>,
    pub max_in_flight: usize,
    /// Most connections that linger, waiting for the server to close.
    pub max_lingering: usize,
    pub seed: u64,
    pub messages: SyncSender<(u16, Message)>,
}

/// How a loop ended.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub cpu: CpuTime,
    /// From its beginning to its end, nanoseconds.
    pub wall: u64,
    pub last_reply: u64,
    pub last_due: u64,
    /// When it noticed that nothing should be due any more, before the planned end.
    pub cut_short_at: Option<u64>,
    pub rows_left_out: u64,
    pub tls_trouble: Option<TlsTrouble>,
}

/// See the head of this file. How a request goes its way is in `exchange`.
pub struct EventLoop<'a> {
    pub(super) common: &'a Common,
    clock: Clock,
    pub(super) poller: Poller,
    pub(super) source: Source,
    pub(super) mix: Mix,
    /// Of the next request that is due, among those of all loops, which take turns.
    next_number: u64,
    loops: u16,
    pub(super) remotes: Vec<Remote>,
    pub(super) next_remote: usize,
    /// Where to connect from once the usual loopback address has no ports left.
    pub(super) loopback_source: Option<Ipv4Addr>,
    pub(super) connections: Connections,
    /// Those of HTTP/2.
    pub(super) shared: SharedConnections,
    /// Taken when requests end, and given back empty.
    pub(super) ended: Vec<Ended>,
    /// Each client's own connection, in the closed model with keep-alive; empty otherwise.
    pub(super) client_connections: Vec<Option<u32>>,
    /// Each client's cookies; empty unless they are kept.
    pub(super) jars: Vec<Jar>,
    /// Due, but not to be sent before a place is free; oldest first.
    pub(super) waiting: VecDeque<Flight>,
    /// A unix socket's queue was full: don't knock again before this.
    pub(super) connect_after: u64,
    pub(super) in_flight: usize,
    pub(super) max_in_flight: usize,
    pub(super) max_lingering: usize,
    pub(super) recorder: Recorder,
    /// The closed model: clients, and no schedule.
    is_closed: bool,
    pub(super) rounds: Rounds,
    pub(super) rows: Rows,
    /// The clock when it was last read.
    pub(super) now: u64,
    pub(super) buffer: Box<[u8]>,
    pub(super) memo: Memo,
    /// Bodies can be dropped in the kernel.
    pub(super) can_discard: bool,
    pub(super) tls: Option<TlsSettings>,
    /// The first that was met.
    pub(super) tls_trouble: Option<TlsTrouble>,
    index: u16,
    messages: SyncSender<(u16, Message)>,
    unsent_messages: VecDeque<Message>,
    sampling: Xoshiro256PlusPlus,
    next_sample: u64,
    next_second: u64,
    next_sweep: u64,
    sweep_distance: u64,
    /// When everything that is still in flight is given up.
    give_up_at: Option<u64>,
    cut_short_at: Option<u64>,
    expired: Vec<u32>,
}

impl<'a> EventLoop<'a> {
    /// # Errors
    /// No descriptor is left for the poller.
    pub fn new(common: &'a Common, setup: Setup) -> io::Result<Self> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(setup.seed);
        // Far away from the streams that arrivals are drawn from.
        random.long_jump();
        let mut sampling = random.clone();
        sampling.long_jump();
        let has_own_connections = common.connection == ConnectionMode::KeepAlive;
        let jars = setup.source.clients().filter(|_| common.keeps_cookies).unwrap_or(0);
        let clients = setup.source.clients().filter(|_| has_own_connections).unwrap_or(0);
        let is_closed = setup.source.clients().is_some();
        let sweep_distance = (common.timeout / 50).clamp(MS, 100 * MS);
        Ok(Self {
            poller: Poller::new()?,
            mix: Mix::new(&common.weights, random),
            is_closed,
            source: setup.source,
            next_number: u64::from(setup.index),
            loops: setup.loops,
            can_discard: common.tls.is_none() && !setup.remotes.iter().any(Remote::is_unix),
            tls: common.tls.as_ref().map(TlsSettings::for_a_loop),
            tls_trouble: None,
            index: setup.index,
            remotes: setup.remotes,
            next_remote: 0,
            loopback_source: None,
            connections: Connections::default(),
            shared: SharedConnections::default(),
            ended: Vec::new(),
            client_connections: vec![None; clients as usize],
            jars: (0..jars).map(|_| Jar::default()).collect(),
            waiting: VecDeque::new(),
            connect_after: 0,
            in_flight: 0,
            max_in_flight: setup.max_in_flight,
            max_lingering: setup.max_lingering,
            recorder: Recorder::apart(common.targets_apart),
            rounds: Rounds::default(),
            rows: Rows::new(common.keeps_rows),
            now: 0,
            buffer: vec![0; READ_BUFFER].into_boxed_slice(),
            memo: Memo::default(),
            messages: setup.messages,
            unsent_messages: VecDeque::new(),
            sampling,
            next_sample: SAMPLE_DISTANCE,
            next_second: SECOND,
            next_sweep: sweep_distance,
            sweep_distance,
            give_up_at: None,
            cut_short_at: None,
            expired: Vec::new(),
            clock: Clock::start(),
            common,
        })
    }

    /// Runs until every request that was due has ended. `clock`: the load's, just started.
    ///
    /// # Errors
    /// The poller fails: a broken environment.
    pub fn run(mut self, clock: Clock) -> io::Result<Outcome> {
        self.clock = clock;
        let cpu_before = thread::cpu_time();
        let began = self.clock.now();
        let (mut read_before, mut count) = (0, 0);
        loop {
            // What clients wait for has read the clock when it was there.
            if !self.is_closed || self.now == read_before {
                self.read_clock();
            }
            read_before = self.now;
            self.send_what_is_due(SENDS_IN_A_ROW);
            self.do_chores();
            if self.source.is_over() && self.in_flight == 0 && self.waiting.is_empty() {
                break;
            }
            count = self.wait(count)?;
            if !self.is_closed {
                self.read_clock();
            }
            for n in 0..count {
                if let Some(readiness) = self.poller.ready(n) {
                    self.handle(readiness);
                }
                // Whatever became due meanwhile must not wait for the rest of the batch.
                if n % REPLIES_IN_A_ROW == REPLIES_IN_A_ROW - 1 {
                    self.send_what_is_due(SENDS_AFTER_REPLIES);
                }
            }
        }
        self.hand_over_everything();
        let cpu = thread::cpu_time();
        Ok(Outcome {
            cpu: CpuTime {
                user: cpu.user.saturating_sub(cpu_before.user),
                system: cpu.system.saturating_sub(cpu_before.system),
            },
            wall: self.clock.now() - began,
            last_reply: self.recorder.last_reply(),
            last_due: self.recorder.last_due(),
            cut_short_at: self.cut_short_at,
            rows_left_out: self.rows.left_out(),
            tls_trouble: self.tls_trouble,
        })
    }

    pub(super) fn read_clock(&mut self) {
        self.now = self.clock.now();
    }

    /// Until something happens or is due; returns how many sockets are ready. `found`: how many
    /// were the last time.
    fn wait(&mut self, found: usize) -> io::Result<usize> {
        let Some(nap) = self.nap(found) else { return self.poller.wait(self.time_to_wait()) };
        std::thread::sleep(duration(nap));
        self.rounds.woke(self.clock);
        // Before the replies: what is sent now has waited, they have their time already.
        self.read_clock();
        self.send_what_is_due(SENDS_IN_A_ROW);
        self.poller.wait(0)
    }

    fn nap(&mut self, found: usize) -> Option<u64> {
        if self.is_closed {
            return self.rounds.nap_for_replies(self.in_flight, found);
        }
        let next = self.source.peek().filter(|_| self.waiting.is_empty())?;
        self.rounds.nap_until_due(next, self.now)
    }

    fn time_to_wait(&self) -> u64 {
        let mut next = self.next_sample.min(self.next_second).min(self.next_sweep);
        next = self.source.peek().map_or(next, |at| next.min(at));
        if !self.waiting.is_empty() && self.in_flight < self.max_in_flight {
            next = next.min(self.connect_after);
        }
        next.saturating_sub(self.now)
    }

    /// Takes note of what is due by now and sends it, oldest first, as far as there is room, but at
    /// most so many: replies must not be kept waiting.
    fn send_what_is_due(&mut self, most: usize) {
        let mut left = most;
        while left > 0 && !self.is_full() {
            let Some(flight) = self.waiting.pop_front() else { break };
            self.dispatch(flight);
            self.read_clock();
            left -= 1;
        }
        let mut next = self.source.peek();
        while let Some(at) = next.filter(|at| *at <= self.now) {
            self.pass_seconds(at);
            let due = self.source.take(self.now);
            next = self.source.peek();
            let Some(due) = due else { continue };
            self.recorder.due(due.at);
            self.rounds.due(due.at);
            let has_waited = self.is_full();
            let flight = Flight {
                due: due.at,
                sent: None,
                begun: self.now,
                target: due.target.unwrap_or_else(|| self.mix.next()),
                number: self.next_number,
                client: due.client,
                has_waited,
                is_retry: false,
            };
            self.next_number += u64::from(self.loops);
            if left > 0 && self.waiting.is_empty() && !has_waited {
                self.dispatch(flight);
                left -= 1;
                if next.is_some_and(|at| at <= self.now) {
                    self.read_clock();
                }
            } else if self.waiting.len() < LONGEST_QUEUE {
                self.waiting.push_back(flight);
            } else {
                self.fail(&flight, Failure::Dropped, Passed::default());
            }
        }
    }

    /// Whether no request may be put on its way now.
    fn is_full(&self) -> bool {
        self.in_flight >= self.max_in_flight || self.connect_after > self.now
    }

    /// What is done by the clock and not for a request.
    fn do_chores(&mut self) {
        if self.now >= self.next_sample {
            if !self.source.is_over() {
                self.recorder.sample((self.in_flight + self.waiting.len()) as u64);
            }
            let spread = self.sampling.next_u64() % SAMPLE_DISTANCE;
            self.next_sample = self.now + SAMPLE_DISTANCE / 2 + spread;
        }
        self.obey();
        if self.now >= self.next_sweep {
            self.sweep();
            self.next_sweep = self.now + self.sweep_distance;
        }
        self.pass_seconds(self.now);
    }

    /// Ends the seconds of the clock that are over at `time`, by when everything that was due in
    /// them has been told to the recorder.
    fn pass_seconds(&mut self, time: u64) {
        while time >= self.next_second {
            self.end_second();
            while let Some((index, second)) = self.recorder.take_finished() {
                self.unsent_messages.push_back(Message::Finished(index, Box::new(second)));
            }
            self.next_second += SECOND;
            self.unsent_messages.extend(self.rows.take().map(Message::Rows));
            self.send_messages();
        }
    }

    fn end_second(&mut self) {
        let in_flight = (self.in_flight + self.waiting.len()) as u64;
        let is_draining = self.source.was_over_at(self.next_second - SECOND);
        let over = self.recorder.second_over(in_flight, is_draining);
        self.unsent_messages.push_back(Message::Clock(Box::new(over)));
    }

    fn obey(&mut self) {
        let order = self.common.orders.current();
        if order == Order::GoOn {
            return;
        }
        if !self.source.is_over() {
            self.source.end(self.now);
            self.cut_short_at = Some(self.now);
        }
        while let Some(flight) = self.waiting.pop_front() {
            self.fail(&flight, Failure::Dropped, Passed::default());
        }
        match order {
            Order::Now => self.give_up_at = Some(self.now),
            Order::GiveUp if self.give_up_at.is_none() => {
                self.give_up_at = Some(self.now + SHORT_DRAIN);
            }
            _ => {}
        }
        if self.give_up_at.is_some_and(|at| at <= self.now) {
            self.expire(|activity| matches!(activity, Activity::Busy { .. }));
            self.expire_shared(|_| true);
        }
    }

    /// Ends what has taken too long. Times out once per sweep and not by a timer for each request,
    /// which would cost more than the requests.
    fn sweep(&mut self) {
        let (now, timeout) = (self.now, self.common.timeout);
        while self.waiting.front().is_some_and(|flight| flight.due.saturating_add(timeout) <= now) {
            if let Some(flight) = self.waiting.pop_front() {
                self.fail(&flight, Failure::Dropped, Passed::default());
            }
        }
        self.expire(|activity| match activity {
            Activity::Idle => false,
            Activity::Busy { flight, .. } => flight.due.saturating_add(timeout) <= now,
            Activity::Lingering { until } => *until <= now,
        });
        self.expire_shared(|flight| flight.due.saturating_add(timeout) <= now);
    }

    fn expire(&mut self, condition: impl Fn(&Activity) -> bool) {
        let mut expired = std::mem::take(&mut self.expired);
        expired.extend(self.connections.find(condition));
        for slot in expired.drain(..) {
            self.fail_connection(slot, Failure::Timeout);
        }
        self.expired = expired;
    }

    pub(super) fn keep_row(&mut self, row: RequestRow) {
        if let Some(piece) = self.rows.add(row) {
            self.unsent_messages.push_back(Message::Rows(piece));
            self.send_messages();
        }
    }

    /// Never waits: what the coordinator has no room for stays here, a few entries a second.
    fn send_messages(&mut self) {
        while let Some(message) = self.unsent_messages.pop_front() {
            let rows = if let Message::Rows(rows) = &message { rows.len() } else { 0 };
            match self.messages.try_send((self.index, message)) {
                Ok(()) => self.rows.taken(rows),
                Err(TrySendError::Full((_, message))) => {
                    self.unsent_messages.push_front(message);
                    return;
                }
                // Nobody listens any more; that ends with the load.
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
    }

    /// The load is over: now the loop may wait for the coordinator.
    fn hand_over_everything(&mut self) {
        // The piece of a second that is left is recorded, but is nothing to watch.
        self.end_second();
        self.unsent_messages.pop_back();
        while let Some((index, second)) = self.recorder.take_front() {
            self.unsent_messages.push_back(Message::Finished(index, Box::new(second)));
        }
        self.unsent_messages.extend(self.rows.take().map(Message::Rows));
        self.unsent_messages.push_back(Message::Ended);
        for message in self.unsent_messages.drain(..) {
            if self.messages.send((self.index, message)).is_err() {
                return;
            }
        }
    }
}
