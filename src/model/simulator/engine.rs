//! The simulation's state and what each event does to it.

use std::collections::VecDeque;

use super::calendar::{Calendar, Due};
use super::cores::{Cores, Progress};
use super::lock::{Lock, Tick, Worker};
use super::request::{RequestKind, Requests, Step};
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
    calendar: Calendar,
    cores: Cores,
    requests: Requests,
    workers: Vec<Worker>,
    /// Workers with a free thread, in no order (not under split admission).
    open: Vec<u32>,
    backlog: VecDeque<u32>,
    load: Option<Load>,
    loads: u32,
    /// In the order of time, since the timeout is the same for all.
    deadlines: VecDeque<Deadline>,
    in_flight: u64,
    in_flight_area_s: f64,
    in_flight_since: f64,
    /// Of the event being dealt with.
    outcomes: Vec<Outcome>,
}

impl Simulator {
    /// An idle server at time zero. `kinds` must not be empty; their weights set the mix.
    pub fn new(server: Server, kinds: Vec<RequestKind>, seed: u64) -> Self {
        assert!(!kinds.is_empty(), "a server without requests has nothing to simulate");
        let workers = u32::from(server.workers);
        Self {
            cores: Cores::new(server.cores),
            kinds,
            slowness: 1.0,
            is_dead: false,
            now: 0.0,
            random: Random::new(seed),
            calendar: Calendar::default(),
            requests: Requests::default(),
            workers: vec![Worker::default(); workers as usize],
            open: (0..workers).collect(),
            backlog: VecDeque::new(),
            load: None,
            loads: 0,
            deadlines: VecDeque::new(),
            in_flight: 0,
            in_flight_area_s: 0.0,
            in_flight_since: 0.0,
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

    /// Makes everything that begins from now on last `factor` times as long as its kind says.
    pub fn set_slowness(&mut self, factor: f64) {
        self.slowness = factor;
    }

    /// Begins to offer a load, now; the one before ends. `seed` decides its arrivals and its mix.
    pub fn begin(&mut self, offered: Offered, seed: u64) {
        self.loads += 1;
        let random = Random::new(seed);
        let mut load = Load { offered, began_s: self.now, count: 0, next_s: f64::INFINITY, random };
        match offered {
            Offered::Open { rate, .. } if rate.as_per_second() > 0.0 => {
                load.next_s = self.now;
                load.advance();
            }
            Offered::Open { .. } => {}
            Offered::Closed { clients, .. } => {
                for _ in 0..clients {
                    self.calendar.add(self.now, Due::ClientReady { load: self.loads });
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
        self.workers.iter_mut().for_each(Worker::clear);
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
        let waiting = if self.server.admission == Admission::Split {
            self.workers.iter().map(|worker| worker.queue.len()).sum()
        } else {
            self.backlog.len()
        };
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
            Some(Due::WaitOver { request }) => self.next_step(request),
            Some(Due::HandedOver { request }) => {
                let worker = self.requests.get(request).worker;
                self.workers[worker as usize].is_handing_over = false;
                self.run(request);
            }
            Some(Due::Tick { worker }) => self.on_tick(worker),
            // A client of a load that has ended has nothing more to ask.
            Some(Due::ClientReady { load }) if load != self.loads => {}
            Some(Due::ClientReady { .. }) => self.add_request(),
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
        self.add_request();
        if let Some(load) = &mut self.load {
            load.advance();
        }
    }

    /// A request is due now.
    fn add_request(&mut self) {
        let Some(load) = &mut self.load else { return };
        load.count += 1;
        let kind = draw_kind(&self.kinds, &mut load.random);
        let request = self.requests.add(self.now, kind, self.loads);
        self.count_in_flight();
        self.in_flight += 1;
        self.deadlines.push_back(Deadline {
            at_s: self.now + self.server.timeout_s,
            request,
            generation: self.requests.get(request).generation,
        });
        self.connect(request, 0);
    }

    /// The request's connection reaches the server's host.
    fn connect(&mut self, request: u32, attempt: u32) {
        if self.is_dead {
            self.end_for_client(request, Ending::Refused);
            self.requests.remove(request);
        } else if self.server.admission == Admission::Split {
            let worker = self.random.below(self.workers.len()) as u32;
            if self.workers[worker as usize].busy < u32::from(self.server.threads) {
                self.accept(request, worker);
            } else {
                self.workers[worker as usize].queue.push_back(request);
            }
        } else if !self.open.is_empty() {
            let worker = self.choose_worker();
            self.accept(request, worker);
        } else if self.backlog.len() < self.server.backlog {
            self.backlog.push_back(request);
        } else {
            // TCP sends the lost segment again after 1, 2, 4, ... seconds.
            let pause = f64::from(1_u32 << attempt.min(6));
            self.calendar.add(self.now + pause, Due::Retry { request, attempt: attempt + 1 });
        }
    }

    /// One of the workers with a free thread; there is one.
    fn choose_worker(&mut self) -> u32 {
        if self.server.admission == Admission::Random {
            return self.open[self.random.below(self.open.len())];
        }
        let busy = |worker: &u32| self.workers[*worker as usize].busy;
        let least = self.open.iter().map(busy).min().unwrap_or(0);
        let ties = self.open.iter().filter(|worker| busy(worker) == least).count();
        let chosen = self.random.below(ties);
        let mut candidates = self.open.iter().filter(|worker| busy(worker) == least);
        *candidates.nth(chosen).expect("fewer than the number of ties was drawn")
    }

    fn accept(&mut self, request: u32, worker: u32) {
        let threads = u32::from(self.server.threads);
        let state = &mut self.workers[worker as usize];
        state.busy += 1;
        if state.busy == threads {
            self.open.retain(|&other| other != worker);
        }
        self.requests.get(request).worker = worker;
        self.next_step(request);
    }

    /// Whatever the request did is done; it goes on.
    fn next_step(&mut self, request: u32) {
        let state = self.requests.get(request);
        let step = state.step;
        state.step += 1;
        let (kind, worker) = (state.kind, state.worker);
        match self.kinds[kind as usize].step(step, &mut self.random) {
            None => self.finish(request, worker),
            Some(Step::Burst(work_s)) => {
                let state = self.requests.get(request);
                state.burst_s = work_s * self.slowness;
                state.is_locked = true;
                self.acquire(request, worker);
            }
            Some(Step::Free(work_s)) => {
                self.requests.get(request).is_locked = false;
                self.cores.start(self.now, request, worker, work_s * self.slowness);
            }
            Some(Step::Wait(wait_s)) => {
                self.workers[worker as usize].usage.voluntary_switches += 1;
                self.calendar.add(self.now + wait_s * self.slowness, Due::WaitOver { request });
            }
        }
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
        let Some(next) = self.workers[worker as usize].release() else { return };
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
        let state = &mut self.workers[worker as usize];
        state.usage.involuntary_switches += 1;
        state.waiting.push_back(owner);
        self.release(worker);
    }

    /// The request's work is done: its thread is free.
    fn finish(&mut self, request: u32, worker: u32) {
        if self.requests.get(request).is_awaited {
            self.end_for_client(request, Ending::Reply);
        }
        self.requests.remove(request);
        let state = &mut self.workers[worker as usize];
        state.usage.served += 1;
        state.busy -= 1;
        if self.server.admission == Admission::Split {
            if let Some(next) = state.queue.pop_front() {
                self.accept(next, worker);
            }
            return;
        }
        if state.busy + 1 == u32::from(self.server.threads) {
            self.open.push(worker);
        }
        if let Some(next) = self.backlog.pop_front() {
            let worker = self.choose_worker();
            self.accept(next, worker);
        }
    }

    /// What the client sees of the request has ended; in the closed model it asks again.
    fn end_for_client(&mut self, request: u32, ending: Ending) {
        let state = self.requests.get(request);
        state.is_awaited = false;
        let (due_s, kind, load) = (state.due_s, state.kind, state.load);
        self.count_in_flight();
        self.in_flight -= 1;
        self.outcomes.push(Outcome { due_s, ended_s: self.now, kind, ending });
        self.forget_deadlines();
        let Some(current) = &self.load else { return };
        if let Offered::Closed { think, .. } = current.offered
            && load == self.loads
        {
            let pause = if ending == Ending::Refused { REFUSAL_S } else { 0.0 };
            let at = self.now + think.as_secs_f64() + pause;
            self.calendar.add(at, Due::ClientReady { load });
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
