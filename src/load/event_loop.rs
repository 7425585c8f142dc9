//! One loop: a thread with its own poller, connections, schedule and sink. It shares nothing with
//! the other loops while requests are under way but one number that says how urgently to end.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::batching::{Batching, Sleep};
use super::clock::Clock;
use super::context::Context;
use super::exchange::Exchange;
use super::poller::Poller;
use super::request::Mix;
use super::scheduler::Scheduler;
use super::setup::{Common, LoopSetup, Shutdown};
use super::shape::{Nanos, Span};
use super::sink::Sink;
use super::socket::READ_BUFFER;
use super::thread::{self, CpuTime};
use crate::terms::TlsTrouble;

/// Mean distance of the samples of requests in flight. Distances vary, so that samples don't fall
/// in step with uniform arrivals.
const SAMPLE_DISTANCE: Span = Span::millis(10);

/// Overdue requests are looked for in a fiftieth of the timeout, within these bounds.
const SWEEP_DISTANCES: [Span; 2] = [Span::millis(1), Span::millis(100)];

/// Sent in a row before the replies that are there are looked at.
const SENDS_IN_A_ROW: usize = 64;

/// Read in a row before what is due is sent. Of requests that are sent in a row only the first has
/// to wake a server that fell asleep.
const REPLIES_IN_A_ROW: usize = 2;

/// Sent after these; where requests share a connection, twice as many as have ended. A loop that is
/// behind must take in replies as fast as it sends: each gives back a connection, while with more
/// sends than reads it would open ever more of them.
const SENDS_AFTER_REPLIES: usize = 4;

/// How long a brief drain awaits replies.
const BRIEF_DRAIN: Span = Span::millis(2000);

/// How a loop ended.
#[derive(Debug, Clone, Default)]
pub struct LoopReport {
    pub cpu: CpuTime,
    /// From its beginning to its end.
    pub wall: Duration,
    pub last_reply: Nanos,
    pub last_due: Nanos,
    /// When it noticed that nothing should be due any more, before the planned end.
    pub cut_short_at: Option<Nanos>,
    pub rows_left_out: u64,
    pub tls_trouble: Option<TlsTrouble>,
}

/// What is done by the clock and not for a request: when it is done next.
struct Timers {
    /// Draws the distances of samples.
    random: Xoshiro256PlusPlus,
    sample: Nanos,
    second: Nanos,
    sweep: Nanos,
    sweep_distance: Span,
    /// Everything that was due by then has been counted.
    counted: Nanos,
    /// No request under way was due before this.
    oldest: Nanos,
    /// When everything that is still in flight is given up.
    give_up: Option<Nanos>,
}

/// One loop of a load.
pub struct EventLoop<'a> {
    cx: Context<'a>,
    exchange: Exchange<'a>,
    timers: Timers,
    /// The closed model: clients, and no schedule.
    is_closed: bool,
}

impl<'a> EventLoop<'a> {
    /// # Errors
    /// No descriptor is left for the poller.
    pub fn new(common: &'a Common, setup: LoopSetup) -> io::Result<Self> {
        let LoopSetup { index, part, source, dialer, max_in_flight, .. } = setup;
        let (max_lingering, seed, messages) = (setup.max_lingering, setup.seed, setup.messages);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Far away from the streams that arrivals are drawn from.
        random.long_jump();
        let mut sampling = random.clone();
        sampling.long_jump();
        let clients = source.clients();
        let mix = Mix::new(&common.weights, random);
        let mut cx = Context {
            common,
            clock: Clock::start(),
            now: Nanos::START,
            poller: Poller::new()?,
            dialer,
            scheduler: Scheduler::new(source, mix, part, max_in_flight),
            batching: Batching::default(),
            sink: Sink::new(common, index, messages),
            ended: 0,
            buffer: vec![0; READ_BUFFER].into_boxed_slice(),
        };
        let [shortest, longest] = SWEEP_DISTANCES;
        let sweep_distance = Span::new(common.timeout.get() / 50).clamp(shortest, longest);
        let timers = Timers {
            random: sampling,
            sample: Nanos::START + SAMPLE_DISTANCE,
            second: Nanos::START + Span::SECOND,
            sweep: Nanos::START + sweep_distance,
            sweep_distance,
            counted: Nanos::START,
            oldest: Nanos::START,
            give_up: None,
        };
        let exchange = Exchange::new(&cx, clients, max_lingering);
        cx.sink.recorder.sample_at(timers.sample);
        Ok(Self { cx, exchange, timers, is_closed: clients.is_some() })
    }

    /// Runs until every request that was due has ended. `clock`: the load's, just started.
    ///
    /// # Errors
    /// The poller fails: a broken environment.
    pub fn run(mut self, clock: Clock) -> io::Result<LoopReport> {
        self.cx.clock = clock;
        let cpu_before = thread::cpu_time();
        let began = clock.now();
        let (mut acted_at, mut count, mut replies) = (Nanos::START, 0, 0);
        // A load that is ended before it begins sends nothing, not even what is due at once.
        self.check_shutdown();
        loop {
            acted_at = self.act(acted_at);
            if self.cx.scheduler.source.is_over() && self.cx.scheduler.unended() == 0 {
                break;
            }
            count = self.wait(count, replies)?;
            replies = 0;
            if !self.is_closed {
                self.cx.read_clock();
            }
            for n in 0..count {
                let readiness = self.cx.poller.ready(n);
                self.exchange.handle(&mut self.cx, readiness);
                // Whatever became due meanwhile must not wait for the rest of the batch.
                if n % REPLIES_IN_A_ROW == REPLIES_IN_A_ROW - 1 {
                    let ended = std::mem::take(&mut self.cx.ended);
                    replies += ended;
                    self.send_due(SENDS_AFTER_REPLIES.max(ended * 2));
                }
            }
            replies += std::mem::take(&mut self.cx.ended);
        }
        let Self { mut cx, timers, .. } = self;
        cx.sink.finish(cx.scheduler.source.was_over_at(timers.second_begun()));
        let cpu = thread::cpu_time();
        Ok(LoopReport {
            cpu: CpuTime {
                user: cpu.user.saturating_sub(cpu_before.user),
                system: cpu.system.saturating_sub(cpu_before.system),
            },
            wall: (clock.now() - began).into(),
            last_reply: cx.sink.recorder.last_reply(),
            last_due: cx.sink.recorder.last_due,
            cut_short_at: cx.scheduler.cut_short_at,
            rows_left_out: cx.sink.rows.left_out,
            tls_trouble: cx.dialer.tls_trouble,
        })
    }

    /// Sends what is due and does what is done by the clock. `acted_at`: what the last call
    /// returned, the clock as it was last read before events were awaited.
    fn act(&mut self, acted_at: Nanos) -> Nanos {
        // What clients wait for has read the clock when it was there; a wait that ended by itself
        // has not.
        if !self.is_closed || self.cx.now == acted_at {
            self.cx.read_clock();
        }
        self.send_due(SENDS_IN_A_ROW);
        self.run_timers();
        // Sending may have read the clock too.
        self.cx.now
    }

    /// Until something happens or is due; returns how many sockets are ready. `found`: how many
    /// were the last time, with how many `replies`.
    fn wait(&mut self, found: usize, replies: usize) -> io::Result<usize> {
        let Some(Sleep { span, is_batch }) = self.sleep(found, replies) else {
            let span = self.cx.batching.wait(self.time_to_wait());
            return self.cx.poller.wait(span);
        };
        std::thread::sleep(span.into());
        let now = self.cx.batching.woke(self.cx.clock);
        if is_batch {
            // Before the replies: what is sent now has waited, they have their time already.
            self.cx.now = now;
            self.send_due(SENDS_IN_A_ROW);
        }
        self.cx.poller.wait(Span::ZERO)
    }

    /// How to sleep through events, if there is something to be slept through.
    fn sleep(&mut self, found: usize, replies: usize) -> Option<Sleep> {
        self.cx.batching.needs_each_event = self.exchange.needs_each_event();
        let Context { scheduler, batching, now, .. } = &mut self.cx;
        let next = scheduler.source.peek().filter(|_| !scheduler.has_waiting());
        match scheduler.source.think() {
            // Clients that ask again at once.
            Some(Span::ZERO) => batching.sleep_for_replies(scheduler.in_flight, found, replies),
            // A reply that is read late delays nobody who thinks for longer than that.
            Some(think) => batching.sleep_until_due(next?.min(*now + think), *now),
            None => batching.sleep_until_due(next?, *now),
        }
    }

    fn time_to_wait(&self) -> Span {
        let Timers { sample, second, sweep, .. } = self.timers;
        let timer = sample.min(second).min(sweep);
        self.cx.scheduler.next_wake().map_or(timer, |at| at.min(timer)) - self.cx.now
    }

    /// Takes note of what is due by now and sends it, oldest first, as far as there is room, but at
    /// most `most` requests: replies must not be kept waiting.
    fn send_due(&mut self, most: usize) {
        let mut left = most;
        while left > 0
            && let Some(request) = self.cx.scheduler.take_waiting(self.cx.now)
        {
            self.exchange.dispatch(&mut self.cx, request);
            self.cx.read_clock();
            left -= 1;
        }
        let mut has_sent = false;
        while let Some(request) = self.cx.scheduler.take_due(self.cx.now) {
            if std::mem::take(&mut has_sent) {
                // What was just sent has taken its time.
                self.cx.read_clock();
            }
            self.end_seconds(request.due);
            self.cx.sink.recorder.due(request.due);
            self.cx.batching.due(request.due);
            if left > 0 && !request.has_waited && !self.cx.scheduler.has_waiting() {
                self.exchange.dispatch(&mut self.cx, request);
                left -= 1;
                has_sent = true;
            } else if let Err(request) = self.cx.scheduler.enqueue(request) {
                self.cx.drop_request(request);
            }
        }
        // Before HTTP/2 reads the clock to send.
        self.timers.counted = self.cx.now;
        self.exchange.flush(&mut self.cx);
    }

    fn run_timers(&mut self) {
        let now = self.cx.now;
        if now >= self.timers.sample {
            if !self.cx.scheduler.source.is_over() {
                self.cx.sink.recorder.sample(self.cx.scheduler.unended() as u64);
            }
            let distance = SAMPLE_DISTANCE.get();
            let spread = self.timers.random.next_u64() % distance;
            self.timers.sample = now + Span::new(distance / 2 + spread);
            self.cx.sink.recorder.sample_at(self.timers.sample);
        }
        self.check_shutdown();
        if now >= self.timers.sweep {
            self.sweep();
            self.timers.sweep = now + self.timers.sweep_distance;
        }
        self.end_seconds(self.timers.counted);
    }

    /// Ends the seconds of the clock that are over at `time`, by when everything that was due in
    /// them has been counted.
    fn end_seconds(&mut self, time: Nanos) {
        while time >= self.timers.second {
            let is_draining = self.cx.scheduler.source.was_over_at(self.timers.second_begun());
            self.cx.sink.second_over(self.cx.scheduler.unended(), is_draining);
            self.timers.second = self.timers.second + Span::SECOND;
        }
    }

    /// Ends the load as far as the coordinator has asked for it.
    fn check_shutdown(&mut self) {
        let shutdown = self.cx.common.shutdown.current();
        if shutdown == Shutdown::None {
            return;
        }
        let now = self.cx.now;
        self.cx.scheduler.cut_short(now);
        while let Some(request) = self.cx.scheduler.take_overdue(Span::ZERO, now) {
            self.cx.drop_request(request);
        }
        match shutdown {
            Shutdown::Abort => self.timers.give_up = Some(now),
            Shutdown::DrainBriefly => {
                self.timers.give_up.get_or_insert(now + BRIEF_DRAIN);
            }
            Shutdown::Drain | Shutdown::None => {}
        }
        if self.timers.give_up.is_some_and(|at| at <= now) {
            self.exchange.expire(&mut self.cx, |_| true);
        }
    }

    /// Ends what has taken too long. Requests time out in a sweep and not by a timer each, which
    /// would cost more than the requests; and many connections are gone through only where one may
    /// have.
    fn sweep(&mut self) {
        let (now, timeout) = (self.cx.now, self.cx.common.timeout);
        while let Some(request) = self.cx.scheduler.take_overdue(timeout, now) {
            self.cx.drop_request(request);
        }
        if self.timers.oldest + timeout > now && !self.exchange.has_lingering() {
            return;
        }
        let oldest = Cell::new(now);
        self.exchange.expire(&mut self.cx, |request| {
            let is_overdue = request.due + timeout <= now;
            if !is_overdue {
                oldest.set(oldest.get().min(request.due));
            }
            is_overdue
        });
        // One that was given up may have been put back, to be sent again.
        self.timers.oldest = oldest.get().min(self.cx.scheduler.earliest_to_come(now));
    }
}

impl Timers {
    /// When the second of the clock that still runs began.
    fn second_begun(&self) -> Nanos {
        Nanos::new(self.second.get() - Span::SECOND.get())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::OnceLock;
    use std::sync::mpsc::{Receiver, sync_channel};

    use rustix::net::SocketAddrUnix;

    use super::*;
    use crate::load::dialer::Dialer;
    use crate::load::request::{Request, Values};
    use crate::load::setup::{LoopMessage, ShutdownFlag};
    use crate::load::shape::{Part, Shape};
    use crate::load::socket::Remote;
    use crate::load::source::{Limit, Source};
    use crate::load::spec::Closing;
    use crate::terms::{Arrivals, ConnectionMode, Rate, Target};

    /// Of a load whose requests are given up after a millisecond.
    fn common() -> Common {
        Common {
            clock: OnceLock::new(),
            shutdown: ShutdownFlag::default(),
            requests: Vec::new(),
            weights: vec![1],
            connection: ConnectionMode::KeepAlive,
            closing: Closing::default(),
            http2: None,
            recorded_targets: 0,
            keeps_rows: false,
            keeps_cookies: false,
            timeout: Span::millis(1),
        }
    }

    /// A loop whose server is not there, with at most `max_in_flight` requests under way.
    fn event_loop<'a>(
        common: &'a Common,
        shape: &Shape,
        max_in_flight: usize,
    ) -> (EventLoop<'a>, Receiver<(u16, LoopMessage)>) {
        let (messages, receiver) = sync_channel(64);
        let nowhere = Remote::Unix(SocketAddrUnix::new("/no/socket/here").unwrap());
        let limit = Limit::At(Nanos::MAX);
        let setup = LoopSetup {
            index: 0,
            part: Part::WHOLE,
            source: Source::new(shape, Duration::ZERO, Part::WHOLE, 1, limit),
            dialer: Dialer::new(&[nowhere], 0, None),
            max_in_flight,
            max_lingering: 0,
            seed: 1,
            messages,
        };
        (EventLoop::new(common, setup).unwrap(), receiver)
    }

    #[test]
    fn the_clock_is_read_after_a_wait_of_clients_that_ended_by_itself() {
        let common = common();
        let shape = Shape::Clients { clients: 1, think: Duration::ZERO };
        let (mut clients, _receiver) = event_loop(&common, &shape, 1);
        // The connection fails, and that reads the clock.
        let acted_at = clients.act(Nanos::START);
        let before = clients.cx.now;
        while clients.cx.clock.now() == before {
            std::hint::spin_loop();
        }
        clients.act(acted_at);
        assert!(clients.cx.now > before, "or what became due meanwhile would wait once more");
    }

    /// Whether the loop would sleep when the next request is due in 2 ms, if replies carried the
    /// time of their arrival.
    fn would_sleep(one: &mut EventLoop<'_>) -> bool {
        let next = one.cx.scheduler.source.peek().unwrap();
        one.cx.now = next.before(Span::millis(2));
        // The first says whether these times are wanted.
        one.sleep(0, 0);
        one.cx.batching.arrival(Some(1), one.cx.now, one.cx.now);
        one.sleep(0, 0).is_some()
    }

    #[test]
    fn a_loop_does_not_sleep_while_a_request_has_not_left_in_full() {
        // It takes connections, and reads nothing.
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let body = vec![b'x'; 20_000_000];
        let post = Target { method: "POST".into(), body, ..Target::get("/") };
        let (connection, values) = (ConnectionMode::KeepAlive, Values::default());
        let request = Request::new(&post, "app", connection, &values).unwrap();
        let common = Common { requests: vec![request], ..common() };
        let rate = Rate::per_second(1.0).unwrap();
        let shape = Shape::Constant { rate, arrivals: Arrivals::Uniform };
        let (mut one, _receiver) = event_loop(&common, &shape, 16);
        let remote = Remote::Tcp(server.local_addr().unwrap());
        one.cx.dialer = Dialer::new(&[remote], 0, None);
        one.send_due(SENDS_IN_A_ROW);
        assert!(!would_sleep(&mut one), "some of it has to wait for room");
        one.exchange.expire(&mut one.cx, |_| true);
        assert!(would_sleep(&mut one));
    }

    #[test]
    fn a_second_ends_when_all_that_was_due_in_it_has_been_counted() {
        let common = common();
        let rate = Rate::per_second(100.0).unwrap();
        let shape = Shape::Constant { rate, arrivals: Arrivals::Uniform };
        let (mut one, receiver) = event_loop(&common, &shape, 0);
        let ms = |count| Nanos::START + Span::millis(count);
        one.cx.now = ms(945);
        one.send_due(SENDS_IN_A_ROW);
        one.cx.now = ms(948);
        one.sweep();
        // As if it had taken that long to flush.
        one.cx.now = ms(1005);
        one.run_timers();
        one.send_due(SENDS_IN_A_ROW);
        let over = receiver.try_iter().find_map(|(_, message)| match message {
            LoopMessage::Clock(over) => Some((over.index, over.due)),
            _ => None,
        });
        assert_eq!(over, Some((0, 100)));
    }
}
