//! The simulation's state and what each event does to it.

mod seats;

use std::collections::VecDeque;

use super::backend::Waits;
use super::calendar::{Calendar, Due};
use super::connection::{Connections, KeepAlive};
use super::cores::{Cores, Progress};
use super::lock::{Lock, Tick, Worker};
use super::request::{Begun, RequestKind, Requests, Step};
use super::sample::Random;
use super::{Admission, Ending, Outcome, Server, Usage, WorkerUsage};
use crate::terms::{Arrivals, Offered};

/// How soon a client notices that no server is there, seconds.
const REFUSAL_S: f64 = 1e-3;

/// A load that is being offered.
#[derive(Debug, Clone)]
struct Load {
    offered: Offered,
    began_s: f64,
    /// Requests due so far.
    count: u64,
    /// Of the open model; infinity in the closed one.
    next_s: f64,
    random: Random,
}

impl Load {
    /// Moves on to the next due time of the open model.
    fn advance(&mut self) {
        let Offered::Open { rate, arrivals } = self.offered else { return };
        let rate = rate.as_per_second();
        self.next_s = match arrivals {
            // Divided, not added up: no error grows with the run.
            Arrivals::Uniform => self.began_s + self.count as f64 / rate,
            Arrivals::Poisson => self.next_s + self.random.exponential(1.0 / rate),
        };
    }
}

/// A deadline at which a request's client gives up.
#[derive(Debug, Clone, Copy)]
struct Deadline {
    at_s: f64,
    request: u32,
    generation: u32,
}

/// One server in virtual time. Loads are offered one after another; time passes only in
/// [`run_until`](Self::run_until).
#[derive(Debug, Clone)]
pub struct Simulator {
    server: Server,
    kinds: Vec<RequestKind>,
    /// Every duration of the server is multiplied by this.
    slowness: f64,
    is_dead: bool,
    now: f64,
    random: Random,
    calendar: Calendar<Due>,
    cores: Cores,
    requests: Requests,
    workers: Vec<Worker>,
    /// What limits waits, if anything does.
    waits: Option<Waits>,
    /// Workers with a free thread, in no order (not where each has a queue of its own).
    open: Vec<u32>,
    /// The worker whose turn is next.
    turn: u32,
    backlog: VecDeque<u32>,
    connections: Connections,
    load: Option<Load>,
    loads: u32,
    /// In the order of time, since the timeout is the same for all.
    deadlines: VecDeque<Deadline>,
    in_flight: u64,
    in_flight_area_s: f64,
    in_flight_since: f64,
    events: u64,
    /// Of the event being dealt with.
    outcomes: Vec<Outcome>,
}

impl Simulator {
    /// An idle server at time zero. `kinds` must not be empty; their weights set the mix.
    pub fn new(server: Server, kinds: Vec<RequestKind>, seed: u64) -> Self {
        assert!(!kinds.is_empty(), "a server without requests has nothing to simulate");
        let count = u32::from(server.workers);
        let mut random = Random::new(seed);
        let mut workers = vec![Worker::default(); count as usize];
        if let Some(pauses) = &server.pauses {
            // They do not collect their garbage all at once.
            workers.iter_mut().for_each(|worker| {
                worker.since_pause = random.below(pauses.every as usize) as u32;
            });
        }
        Self {
            cores: Cores::new(server.cores, server.quota),
            kinds,
            slowness: 1.0,
            is_dead: false,
            now: 0.0,
            random,
            calendar: Calendar::new(),
            requests: Requests::default(),
            workers,
            waits: server.backend.map(|backend| Waits::new(backend, server.workers)),
            open: (0..count).collect(),
            turn: 0,
            backlog: VecDeque::new(),
            connections: Connections::default(),
            load: None,
            loads: 0,
            deadlines: VecDeque::new(),
            in_flight: 0,
            in_flight_area_s: 0.0,
            in_flight_since: 0.0,
            events: 0,
            outcomes: Vec::new(),
            server,
        }
    }

    /// Virtual time, seconds.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Requests due and not ended.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// What has happened so far: arrivals, ends of bursts, of waits and of patience, ticks.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Makes everything that begins from now on last `factor` times as long as its kind says.
    pub fn set_slowness(&mut self, factor: f64) {
        self.slowness = factor;
    }

    /// Begins to offer a load, now; the one before ends. `seed` decides its arrivals and its mix.
    pub fn begin(&mut self, offered: Offered, seed: u64) {
        self.loads += 1;
        self.close_connections();
        let random = Random::new(seed);
        let mut load = Load { offered, began_s: self.now, count: 0, next_s: f64::INFINITY, random };
        match offered {
            Offered::Open { rate, .. } if rate.as_per_second() > 0.0 => {
                load.next_s = self.now;
                load.advance();
            }
            Offered::Open { .. } => {}
            Offered::Closed { clients, .. } => {
                for client in 0..clients {
                    self.calendar.add(self.now, Due::ClientReady { load: self.loads, client });
                }
            }
        }
        self.load = Some(load);
    }

    /// Nothing is due any more; what is in flight goes on.
    pub fn end(&mut self) {
        self.load = None;
    }

    /// All clients hang up: nothing is in flight any more; the server goes on with what it has
    /// begun. Each request they gave up is told to `see` as a timeout.
    pub fn give_up(&mut self, see: &mut dyn FnMut(Outcome)) {
        self.load = None;
        for request in self.requests.live() {
            if self.requests.get(request).is_awaited {
                self.end_for_client(request, Ending::Timeout);
            }
        }
        self.close_connections();
        self.outcomes.drain(..).for_each(see);
    }

    /// The server dies: what is in it is reset, what comes later is refused.
    pub fn kill(&mut self, see: &mut dyn FnMut(Outcome)) {
        self.is_dead = true;
        for progress in self.cores.progress(self.now) {
            count(&mut self.workers[progress.worker as usize].usage, progress);
        }
        self.cores.clear();
        self.backlog.clear();
        self.open.clear();
        self.connections.close_all();
        self.workers.iter_mut().for_each(Worker::clear);
        self.waits.iter_mut().for_each(Waits::clear);
        for request in self.requests.live() {
            if self.requests.get(request).is_awaited {
                self.end_for_client(request, Ending::Reset);
            }
            self.requests.remove(request);
        }
        self.calendar.retain(|due| matches!(due, Due::ClientReady { .. }));
        self.outcomes.drain(..).for_each(see);
    }

    /// Lets time pass up to `until` (seconds), without what happens just then; `see` is told of
    /// every request that ends, in order.
    pub fn run_until(&mut self, until: f64, see: &mut dyn FnMut(Outcome)) {
        loop {
            let arrival = self.load.as_ref().map_or(f64::INFINITY, |load| load.next_s);
            let event = self.calendar.next_time();
            let job = self.cores.next_time();
            let deadline = self.deadlines.front().map_or(f64::INFINITY, |first| first.at_s);
            let next = arrival.min(event).min(job).min(deadline);
            if next >= until {
                break;
            }
            self.now = self.now.max(next);
            self.events += 1;
            // At the same instant: replies before giving up, and both before new arrivals.
            if event <= job && event <= deadline && event <= arrival {
                self.on_event();
            } else if job <= deadline && job <= arrival {
                self.on_job_done();
            } else if deadline <= arrival {
                self.on_deadline();
            } else {
                self.on_arrival();
            }
            self.outcomes.drain(..).for_each(&mut *see);
        }
        self.now = self.now.max(until);
    }

    /// Counters up to now.
    pub fn usage(&mut self) -> Usage {
        self.count_in_flight();
        let of = |worker: &Worker| WorkerUsage { busy: worker.busy, ..worker.usage };
        let mut workers: Vec<WorkerUsage> = self.workers.iter().map(of).collect();
        for progress in self.cores.progress(self.now) {
            let usage = &mut workers[progress.worker as usize];
            count(usage, progress);
            usage.runnable += 1;
        }
        let in_workers: usize = self.workers.iter().map(|worker| worker.queue.len()).sum();
        let waiting = in_workers + self.backlog.len();
        Usage {
            workers,
            backlog: waiting as u32,
            in_flight: self.in_flight,
            in_flight_area_s: self.in_flight_area_s,
        }
    }

    fn on_event(&mut self) {
        match self.calendar.pop() {
            None => {}
            Some(Due::WaitOver { request }) => {
                self.end_wait(request);
                self.next_step(request);
            }
            Some(Due::HandedOver { request }) => {
                let worker = self.requests.get(request).worker;
                self.workers[worker as usize].is_handing_over = false;
                self.run(request);
            }
            Some(Due::Tick { worker }) => self.on_tick(worker),
            // A client of a load that has ended has nothing more to ask.
            Some(Due::ClientReady { load, .. }) if load != self.loads => {}
            Some(Due::ClientReady { client, .. }) => self.add_request(client),
            Some(Due::HoldOver { connection, hold }) => self.on_hold_over(connection, hold),
            Some(Due::Retry { request, attempt }) => {
                if self.requests.get(request).is_awaited {
                    self.connect(request, attempt);
                } else {
                    self.requests.remove(request);
                }
            }
        }
    }

    fn on_arrival(&mut self) {
        let connection = match self.server.keep_alive {
            KeepAlive::Closed => 0,
            _ => self.connections.take(),
        };
        self.add_request(connection);
        if let Some(load) = &mut self.load {
            load.advance();
        }
    }

    /// A request of the load is due now; over this connection, when those are kept.
    fn add_request(&mut self, connection: u32) {
        let Some(load) = &mut self.load else { return };
        load.count += 1;
        let kind = draw_kind(&self.kinds, &mut load.random);
        let size = self.kinds[kind as usize].size(&mut load.random);
        let connection = (self.server.keep_alive != KeepAlive::Closed).then_some(connection);
        let (due_s, load) = (self.now, self.loads);
        self.start_request(Begun { due_s, kind, load, size, connection });
    }

    /// Sends one request of a kind besides the load, over a connection of its own.
    pub fn send(&mut self, kind: u16) {
        let size = self.kinds[kind as usize].size(&mut self.random);
        // It belongs to no load: no client asks again when it ends.
        let (due_s, load) = (self.now, 0);
        self.start_request(Begun { due_s, kind, load, size, connection: None });
    }

    fn start_request(&mut self, due: Begun) {
        let request = self.requests.add(due);
        self.count_in_flight();
        self.in_flight += 1;
        self.deadlines.push_back(Deadline {
            at_s: self.now + self.server.timeout_s,
            request,
            generation: self.requests.get(request).generation,
        });
        self.connect(request, 0);
    }

    /// Whatever the request did is done; it goes on.
    fn next_step(&mut self, request: u32) {
        let state = self.requests.get(request);
        let step = state.step;
        state.step += 1;
        let (kind, worker, factor) = (state.kind, state.worker, state.size * self.slowness);
        match self.kinds[kind as usize].step(step, &mut self.random) {
            None => self.finish(request, worker),
            Some(Step::Burst(work_s)) => {
                let pause_s = self.pause(worker);
                let state = self.requests.get(request);
                state.burst_s = work_s * factor + pause_s;
                state.is_locked = true;
                self.acquire(request, worker);
            }
            Some(Step::Free(work_s)) => {
                self.requests.get(request).is_locked = false;
                self.cores.start(self.now, request, worker, work_s * factor);
            }
            Some(Step::Wait(wait_s)) => {
                self.workers[worker as usize].usage.voluntary_switches += 1;
                self.wait(request, worker, wait_s * factor);
            }
        }
    }

    fn wait(&mut self, request: u32, worker: u32, wait_s: f64) {
        let lasts_s = match &mut self.waits {
            Some(waits) => waits.enter(worker, request, wait_s),
            None => Some(wait_s),
        };
        if let Some(lasts_s) = lasts_s {
            self.calendar.add(self.now + lasts_s, Due::WaitOver { request });
        }
    }

    /// Whoever has waited for its place may wait now.
    fn end_wait(&mut self, request: u32) {
        let worker = self.requests.get(request).worker;
        let next = self.waits.as_mut().and_then(|waits| waits.leave(worker));
        if let Some((request, lasts_s)) = next {
            self.calendar.add(self.now + lasts_s, Due::WaitOver { request });
        }
    }

    /// The garbage collection that a burst of this worker has to do first, seconds.
    fn pause(&mut self, worker: u32) -> f64 {
        let Some(pauses) = &self.server.pauses else { return 0.0 };
        let state = &mut self.workers[worker as usize];
        if state.since_pause < pauses.every {
            return 0.0;
        }
        state.since_pause = 0;
        pauses.length_s * self.slowness
    }

    fn acquire(&mut self, request: u32, worker: u32) {
        let state = &mut self.workers[worker as usize];
        if self.server.lock == Lock::None {
            self.run(request);
        } else if state.owner.is_none() {
            state.take(request);
            self.run(request);
        } else {
            state.usage.voluntary_switches += 1;
            state.waiting.push_back(request);
            if state.waiting.len() == 1 {
                self.arm(worker);
            }
        }
    }

    fn arm(&mut self, worker: u32) {
        if let Some(at) = self.workers[worker as usize].arm(self.now, self.server.lock) {
            self.calendar.add(at, Due::Tick { worker });
        }
    }

    fn run(&mut self, request: u32) {
        let state = self.requests.get(request);
        let (worker, work_s) = (state.worker, state.burst_s);
        self.cores.start(self.now, request, worker, work_s);
    }

    fn on_job_done(&mut self) {
        let Some((job, progress)) = self.cores.finish_next(self.now) else { return };
        count(&mut self.workers[progress.worker as usize].usage, progress);
        if self.requests.get(job.request).is_locked && self.server.lock != Lock::None {
            self.release(job.worker);
        }
        self.next_step(job.request);
    }

    /// The lock is free for the next who waits.
    fn release(&mut self, worker: u32) {
        let is_by_chance = matches!(self.server.lock, Lock::CPython { .. });
        let random = &mut self.random;
        let choose = |count| if is_by_chance { random.below(count) } else { 0 };
        let Some(next) = self.workers[worker as usize].release(choose) else { return };
        if !self.workers[worker as usize].waiting.is_empty() {
            self.arm(worker);
        }
        let kind = self.requests.get(next).kind;
        let handoff_s = self.kinds[kind as usize].handoff_per_burst_s() * self.slowness;
        if handoff_s > 0.0 {
            self.workers[worker as usize].is_handing_over = true;
            self.calendar.add(self.now + handoff_s, Due::HandedOver { request: next });
        } else {
            self.run(next);
        }
    }

    fn on_tick(&mut self, worker: u32) {
        let state = &mut self.workers[worker as usize];
        match state.tick(self.now) {
            Tick::Idle => return,
            Tick::Later(at) => return self.calendar.add(at, Due::Tick { worker }),
            Tick::Expired => {}
        }
        let Some(owner) = state.owner else { return };
        if state.is_handing_over {
            // The new owner has not run yet: it gets a quantum of its own.
            return self.arm(worker);
        }
        let Some((left_s, progress)) = self.cores.interrupt(self.now, owner) else { return };
        count(&mut self.workers[progress.worker as usize].usage, progress);
        self.requests.get(owner).burst_s = left_s;
        self.workers[worker as usize].usage.involuntary_switches += 1;
        // Whoever waits, never the one that has just been stopped.
        self.release(worker);
        let state = &mut self.workers[worker as usize];
        state.waiting.push_back(owner);
        if state.waiting.len() == 1 {
            self.arm(worker);
        }
    }

    /// What the client sees of the request has ended; in the closed model it asks again.
    fn end_for_client(&mut self, request: u32, ending: Ending) {
        let state = self.requests.get(request);
        state.is_awaited = false;
        let (due_s, kind, load) = (state.due_s, state.kind, state.load);
        let connection = state.connection;
        self.count_in_flight();
        self.in_flight -= 1;
        self.outcomes.push(Outcome { due_s, ended_s: self.now, kind, ending });
        self.forget_deadlines();
        self.part_with(connection, ending);
        let Some(current) = &self.load else { return };
        if let Offered::Closed { think, .. } = current.offered
            && load == self.loads
        {
            let pause = if ending == Ending::Refused { REFUSAL_S } else { 0.0 };
            let at = self.now + think.as_secs_f64() + pause;
            let client = connection.unwrap_or(0);
            self.calendar.add(at, Due::ClientReady { load, client });
        }
    }

    /// A client without a reply hangs up; one with a reply has its connection for the next request.
    fn part_with(&mut self, connection: Option<u32>, ending: Ending) {
        let Some(connection) = connection else { return };
        if ending != Ending::Reply {
            self.connections.close(connection);
        }
        if self.load.as_ref().is_some_and(|load| matches!(load.offered, Offered::Open { .. })) {
            self.connections.give_back(connection);
        }
    }

    /// The first deadline has come. It is of a request that is awaited: the others are forgotten.
    fn on_deadline(&mut self) {
        match self.deadlines.pop_front() {
            Some(first) if self.is_awaited(first) => {
                self.end_for_client(first.request, Ending::Timeout);
            }
            _ => self.forget_deadlines(),
        }
    }

    /// Drops the deadlines of ended requests up to the first that is awaited: so their number stays
    /// within what can be due in one timeout.
    fn forget_deadlines(&mut self) {
        while self.deadlines.front().is_some_and(|&first| !self.is_awaited(first)) {
            self.deadlines.pop_front();
        }
    }

    fn is_awaited(&self, deadline: Deadline) -> bool {
        self.requests.is_awaited(deadline.request, deadline.generation)
    }

    fn count_in_flight(&mut self) {
        self.in_flight_area_s += self.in_flight as f64 * (self.now - self.in_flight_since);
        self.in_flight_since = self.now;
    }
}

/// Adds what a job has used to its worker's counters.
fn count(usage: &mut WorkerUsage, progress: Progress) {
    usage.cpu_s += progress.cpu_s;
    usage.run_delay_s += progress.run_delay_s;
}

fn draw_kind(kinds: &[RequestKind], random: &mut Random) -> u16 {
    if kinds.len() == 1 {
        return 0;
    }
    let total: f64 = kinds.iter().map(|kind| kind.weight).sum();
    let mut left = random.unit() * total;
    for (index, kind) in kinds.iter().enumerate() {
        left -= kind.weight;
        if left <= 0.0 {
            return index as u16;
        }
    }
    (kinds.len() - 1) as u16
}
