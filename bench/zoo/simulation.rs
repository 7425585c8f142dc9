//! An app of the zoo at work, event by event: requests come, wait for a thread, compute on cores
//! that all workers share while they hold their worker's interpreter, and call others.
//!
//! Cores are given in slices, to whoever has waited longest. All that is random comes from seeds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use sweetspot::terms::{Arrivals, Configuration, Offered};

use super::app::{Admission, App, Backend, Gate, LockScope, Step};
use super::chance::Chance;
use super::job::{Ending, Event, Job, Outcome, Stage, Usage, Worker};
use super::machine::{Machine, Places};

/// A core is given for this long at once, seconds.
const SLICE_S: f64 = 0.01;
/// Clients give up after this long, seconds.
pub const TIMEOUT_S: f64 = 10.0;
/// Connections that wait to be accepted; more are refused.
const BACKLOG: usize = 1024;
/// A client whose connection was refused waits this long before the next, as the engine's do: else
/// it would ask again without end while no time passes.
const PAUSE_S: f64 = 0.01;

/// See the head of this file.
pub struct Simulation {
    app: App,
    steps: Vec<Step>,
    pub machine: Machine,
    chance: Chance,
    now_s: f64,
    /// Times as bits: those of numbers that are not negative are in the numbers' order.
    events: BinaryHeap<Reverse<(u64, Event)>>,
    jobs: Vec<Job>,
    unused: Vec<u32>,
    workers: Vec<Worker>,
    threads: usize,
    cores: Places,
    /// One for each worker, or one for all.
    locks: Vec<Places>,
    pools: Vec<Places>,
    accept: VecDeque<u32>,
    /// How much slower this start is.
    slowness: f64,
    /// What the generator has taken from whoever computes next, seconds.
    stolen_s: f64,
    calls: u32,
    /// When the bucket will be full again, seconds.
    bucket_full_s: f64,
    load: Option<Load>,
    /// Counts loads: what belongs to an earlier one is dropped.
    load_number: u32,
    /// Of requests that have not ended: when they were due.
    due: VecDeque<(f64, u32)>,
    in_flight: u64,
    in_flight_area_s: f64,
    in_flight_since_s: f64,
    next_tick_s: f64,
}

struct Load {
    offered: Offered,
    chance: Chance,
}

type See<'a> = &'a mut dyn FnMut(Outcome);

impl Simulation {
    pub fn new(app: App, has_credits: bool, machine_seed: u64, seed: u64) -> Self {
        let machine = Machine::new(app.hardware, has_credits, machine_seed);
        Self {
            steps: app.steps(),
            machine,
            chance: Chance::new(seed),
            now_s: 0.0,
            events: BinaryHeap::new(),
            jobs: Vec::new(),
            unused: Vec::new(),
            workers: Vec::new(),
            threads: 0,
            cores: Places::new(app.hardware.cores),
            locks: Vec::new(),
            pools: Vec::new(),
            accept: VecDeque::new(),
            slowness: 1.0,
            stolen_s: 0.0,
            calls: 0,
            bucket_full_s: 0.0,
            load: None,
            load_number: 0,
            due: VecDeque::new(),
            in_flight: 0,
            in_flight_area_s: 0.0,
            in_flight_since_s: 0.0,
            next_tick_s: 1.0,
            app,
        }
    }

    /// Starts the server afresh: whatever ran is gone. `slowness`: of this start.
    pub fn start(&mut self, configuration: Configuration, slowness: f64, is_warm: bool) {
        self.events.clear();
        self.jobs.clear();
        self.unused.clear();
        self.accept.clear();
        self.due.clear();
        let count = usize::from(configuration.workers.get());
        let every = self.app.collection.map_or(f64::INFINITY, |it| it.every);
        self.workers = (0..count)
            .map(|_| Worker {
                collects_in: every * self.chance.between(0.5, 1.5),
                served: if is_warm { f64::INFINITY } else { 0.0 },
                ..Worker::default()
            })
            .collect();
        self.threads = usize::from(configuration.threads.get());
        self.cores = Places::new(self.app.hardware.cores);
        let locks = match self.app.lock.map(|it| it.scope) {
            Some(LockScope::Worker) => count,
            Some(LockScope::Server) | None => 1,
        };
        self.locks = (0..locks).map(|_| Places::new(1)).collect();
        let connections = self.app.pool.map_or(0, |it| it.connections);
        self.pools = (0..count).map(|_| Places::new(connections)).collect();
        (self.slowness, self.calls, self.in_flight, self.load) = (slowness, 0, 0, None);
        self.in_flight_since_s = self.now_s;
    }

    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Begins to offer a load, from now on.
    pub fn offer(&mut self, offered: Offered, seed: u64) {
        self.load_number += 1;
        let mut chance = Chance::new(seed);
        match offered {
            Offered::Open { rate, arrivals } => {
                let gap_s = gap_s(rate.as_per_second(), arrivals, &mut chance);
                self.after(gap_s, Event::Arrival(self.load_number));
            }
            Offered::Closed { clients, .. } => {
                for _ in 0..clients {
                    self.after(0.0, Event::Client(self.load_number));
                }
            }
        }
        self.load = Some(Load { offered, chance });
    }

    /// Nothing is due any more.
    pub fn end(&mut self) {
        self.load = None;
        self.load_number += 1;
    }

    /// Whoever waits for a reply gives up now.
    pub fn give_up(&mut self, see: See<'_>) {
        while let Some((due_s, id)) = self.due.pop_front() {
            self.abandon(due_s, id, self.now_s, see);
        }
    }

    pub fn run_until(&mut self, until_s: f64, see: See<'_>) {
        loop {
            let next_s = match self.events.peek() {
                Some(Reverse((bits, _))) => f64::from_bits(*bits),
                None => f64::INFINITY,
            };
            if self.next_tick_s <= next_s.min(until_s) {
                self.now_s = self.next_tick_s;
                self.next_tick_s += 1.0;
                self.machine.tick();
                self.expire(see);
                continue;
            }
            if next_s > until_s {
                break;
            }
            self.now_s = next_s;
            if let Some(Reverse((_, event))) = self.events.pop() {
                self.happen(event, see);
            }
        }
        self.now_s = self.now_s.max(until_s);
    }

    /// Counters since the server's start.
    pub fn usage(&mut self) -> Usage {
        self.count_in_flight(0);
        Usage {
            workers: self.workers.clone(),
            in_flight: self.in_flight,
            in_flight_area_s: self.in_flight_area_s,
            backlog: self.accept.len() as u32,
            periods: self.machine.periods,
            throttled_periods: self.machine.throttled_periods,
            throttled_s: self.machine.throttled_s,
        }
    }

    fn after(&mut self, seconds: f64, event: Event) {
        self.events.push(Reverse(((self.now_s + seconds).to_bits(), event)));
    }

    fn count_in_flight(&mut self, change: i64) {
        self.in_flight_area_s += self.in_flight as f64 * (self.now_s - self.in_flight_since_s);
        self.in_flight_since_s = self.now_s;
        self.in_flight = self.in_flight.saturating_add_signed(change);
    }

    fn happen(&mut self, event: Event, see: See<'_>) {
        match event {
            Event::Arrival(load) | Event::Client(load) if load != self.load_number => {}
            Event::Arrival(_) => {
                if let Some(Load { offered: Offered::Open { rate, arrivals }, chance }) =
                    &mut self.load
                {
                    let gap_s = gap_s(rate.as_per_second(), *arrivals, chance);
                    self.after(gap_s, Event::Arrival(self.load_number));
                }
                self.arrive(see);
            }
            Event::Client(_) => self.arrive(see),
            Event::SliceEnded(id) => self.slice_ended(id, see),
            Event::WaitEnded(id) => self.wait_ended(id, see),
            Event::Generated(id) => self.generated(id, see),
            Event::Unthrottled(id) => self.begin_slice(id),
        }
    }

    /// A request is due.
    fn arrive(&mut self, see: See<'_>) {
        let chance = &mut self.chance;
        let mut rest = if self.app.endpoints.len() > 1 { chance.share() } else { 0.0 };
        let mut endpoint = self.app.endpoints[0];
        for it in &self.app.endpoints {
            endpoint = *it;
            if rest < it.share {
                break;
            }
            rest -= it.share;
        }
        let times = self.app.spread.draw(chance);
        let job = Job {
            due_s: self.now_s,
            sent_s: self.now_s,
            cpu_s: endpoint.cpu_s * times,
            wait_s: endpoint.wait_s * times,
            is_failing: chance.is(self.app.failing),
            ..Job::default()
        };
        let id = self.unused.pop().unwrap_or(self.jobs.len() as u32);
        match self.jobs.get_mut(id as usize) {
            Some(place) => *place = job,
            None => self.jobs.push(job),
        }
        self.count_in_flight(1);
        self.due.push_back((self.now_s, id));
        if !self.generate(id) {
            self.enter(id, see);
        }
    }

    /// The generator works for a request, half of what it does before it is sent and half after
    /// its reply; false: on cores of its own. A kernel lets who sleeps most of the time come
    /// first: whoever computes on the core pays for it.
    fn generate(&mut self, id: u32) -> bool {
        let seconds = 0.5 * self.app.hardware.generator_s;
        if seconds <= 0.0 {
            return false;
        }
        if self.cores.free == 0 {
            self.stolen_s += seconds;
        }
        self.after(seconds, Event::Generated(id));
        true
    }

    fn generated(&mut self, id: u32, see: See<'_>) {
        match self.jobs[id as usize].stage {
            Stage::Sending => self.enter(id, see),
            _ => self.reply(id, see),
        }
    }

    /// A request reaches the server.
    fn enter(&mut self, id: u32, see: See<'_>) {
        let job = &mut self.jobs[id as usize];
        (job.stage, job.sent_s) = (Stage::Served, self.now_s);
        match self.free_worker() {
            Some(worker) => self.serve(id, worker, see),
            None if self.accept.len() >= BACKLOG => self.tell(id, Ending::Refused, see),
            None => {
                job_at(&mut self.jobs, id).stage = Stage::Queued;
                self.accept.push_back(id);
            }
        }
    }

    fn free_worker(&mut self) -> Option<usize> {
        let threads = self.threads;
        let is_free = |worker: &Worker| (worker.busy as usize) < threads;
        match self.app.admission {
            Admission::LeastBusy => {
                let (at, least) = self.workers.iter().enumerate().min_by_key(|(_, it)| it.busy)?;
                is_free(least).then_some(at)
            }
            Admission::Random => {
                let count = self.workers.iter().filter(|it| is_free(it)).count();
                let nth = if count > 0 { self.chance.index(count) } else { 0 };
                let mut free = self.workers.iter().enumerate().filter(|(_, it)| is_free(it));
                free.nth(nth).map(|(at, _)| at)
            }
        }
    }

    fn serve(&mut self, id: u32, worker: usize, see: See<'_>) {
        self.workers[worker].busy += 1;
        let job = &mut self.jobs[id as usize];
        (job.stage, job.worker, job.step) = (Stage::Served, worker as u16, 0);
        self.proceed(id, see);
    }

    /// The job's next step begins.
    fn proceed(&mut self, id: u32, see: See<'_>) {
        loop {
            let job = &mut self.jobs[id as usize];
            let Some(&step) = self.steps.get(usize::from(job.step)) else {
                return self.served(id, see);
            };
            job.step += 1;
            match step {
                Step::Compute(share) => {
                    let served = self.workers[usize::from(job.worker)].served;
                    job.left_s = share * job.cpu_s * self.app.youth(served);
                    return self.want_interpreter(id);
                }
                Step::Wait(share) => {
                    let wait_s = share * job.wait_s;
                    return self.after(wait_s, Event::WaitEnded(id));
                }
                Step::Call(share) => return self.call(id, share, see),
                Step::Take(gate) => {
                    if !self.gate(id, gate).take(id) {
                        return;
                    }
                }
                Step::Give(gate) => {
                    if let Some(next) = self.gate(id, gate).give() {
                        self.proceed(next, see);
                    }
                }
            }
        }
    }

    fn gate(&mut self, id: u32, gate: Gate) -> &mut Places {
        let worker = usize::from(self.jobs[id as usize].worker);
        match gate {
            Gate::Pool => &mut self.pools[worker],
            Gate::Lock => {
                let at = worker.min(self.locks.len() - 1);
                &mut self.locks[at]
            }
        }
    }

    fn call(&mut self, id: u32, share: f64, see: See<'_>) {
        let mut wait_s = share * self.jobs[id as usize].wait_s;
        match self.app.backend {
            Backend::Independent => {}
            Backend::Thrashing { knee, power } => {
                self.calls += 1;
                wait_s *= 1.0 + (f64::from(self.calls) / knee).powf(power);
            }
            // As many tokens lack as it takes seconds times the rate until the bucket is full.
            Backend::Bucket { rate_per_s, burst, refuses } => {
                let full_s = self.bucket_full_s.max(self.now_s) + 1.0 / rate_per_s;
                let late_s = (full_s - self.now_s - burst / rate_per_s).max(0.0);
                if refuses && late_s > 0.0 {
                    self.jobs[id as usize].is_failing = true;
                    return self.proceed(id, see);
                }
                self.bucket_full_s = full_s;
                wait_s += late_s;
            }
        }
        self.after(wait_s, Event::WaitEnded(id));
    }

    fn wait_ended(&mut self, id: u32, see: See<'_>) {
        let step = self.steps[usize::from(self.jobs[id as usize].step) - 1];
        let is_call = matches!(step, Step::Call(_));
        if is_call && matches!(self.app.backend, Backend::Thrashing { .. }) {
            self.calls -= 1;
        }
        self.proceed(id, see);
    }

    fn want_interpreter(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.held_s = 0.0;
        let worker = &mut self.workers[usize::from(job.worker)];
        worker.voluntary_switches += 1;
        if worker.interpreter.take(id) {
            self.want_core(id);
        }
    }

    fn want_core(&mut self, id: u32) {
        self.jobs[id as usize].since_s = self.now_s;
        if self.cores.take(id) {
            self.begin_slice(id);
        }
    }

    /// The job has a core.
    fn begin_slice(&mut self, id: u32) {
        if let Some(until_s) = self.machine.throttled_until(self.now_s) {
            return self.after(until_s - self.now_s, Event::Unthrottled(id));
        }
        let speed = self.machine.slowness(self.now_s);
        let job = &mut self.jobs[id as usize];
        let worker = &mut self.workers[usize::from(job.worker)];
        worker.run_delay_s += self.now_s - job.since_s;
        let others = f64::from(worker.busy.saturating_sub(1));
        let slowness = speed * self.slowness * (1.0 + self.app.switching * others);
        let pause_s = std::mem::take(&mut worker.owed_pause_s) * speed * self.slowness;
        let stolen_s = std::mem::take(&mut self.stolen_s);
        worker.run_delay_s += stolen_s;
        let full_s = job.left_s.min(SLICE_S / slowness);
        job.left_s -= full_s;
        let wall_s = full_s * slowness + pause_s;
        job.held_s += wall_s;
        job.slice_s = wall_s;
        self.machine.spend(wall_s, wall_s / speed);
        self.after(wall_s + stolen_s, Event::SliceEnded(id));
    }

    fn slice_ended(&mut self, id: u32, see: See<'_>) {
        let job = &mut self.jobs[id as usize];
        let worker = &mut self.workers[usize::from(job.worker)];
        worker.cpu_s += job.slice_s;
        let is_done = job.left_s <= 1e-12;
        let yields = job.held_s >= self.app.quantum_s && !worker.interpreter.waiting.is_empty();
        if !is_done && !yields && self.cores.waiting.is_empty() {
            job.since_s = self.now_s;
            return self.begin_slice(id);
        }
        if !is_done {
            worker.involuntary_switches += 1;
        }
        if is_done || yields {
            let next = worker.interpreter.give();
            if let Some(next) = next {
                self.want_core(next);
            }
        }
        if is_done {
            self.pass_core();
            return self.proceed(id, see);
        }
        if yields {
            job_at(&mut self.jobs, id).held_s = 0.0;
            let at = usize::from(self.jobs[id as usize].worker);
            // Nobody else of this worker can have taken it: whoever was next has it.
            self.workers[at].interpreter.take(id);
        } else {
            self.want_core_again(id);
        }
        self.pass_core();
    }

    /// Behind all others that wait, whose first takes its core.
    fn want_core_again(&mut self, id: u32) {
        job_at(&mut self.jobs, id).since_s = self.now_s;
        self.cores.waiting.push_back(id);
    }

    fn pass_core(&mut self) {
        if let Some(next) = self.cores.give() {
            self.begin_slice(next);
        }
    }

    /// The last step is done: the thread is free.
    fn served(&mut self, id: u32, see: See<'_>) {
        let job = &self.jobs[id as usize];
        let at = usize::from(job.worker);
        let worker = &mut self.workers[at];
        worker.busy -= 1;
        worker.served += 1.0;
        worker.collects_in -= 1.0;
        if let Some(collection) = self.app.collection.filter(|_| worker.collects_in <= 0.0) {
            worker.owed_pause_s += collection.pause_s;
            worker.collects_in += collection.every * self.chance.between(0.5, 1.5);
        }
        self.jobs[id as usize].stage = Stage::Receiving;
        if !self.generate(id) {
            self.reply(id, see);
        }
        if let Some(next) = self.accept.pop_front() {
            self.serve(next, at, see);
        }
    }

    fn reply(&mut self, id: u32, see: See<'_>) {
        let is_failing = self.jobs[id as usize].is_failing;
        self.tell(id, if is_failing { Ending::Failed } else { Ending::Reply }, see);
    }

    /// The request has left the server; who asked for it hears of it, unless they gave up.
    fn tell(&mut self, id: u32, ending: Ending, see: See<'_>) {
        let job = &mut self.jobs[id as usize];
        job.stage = Stage::Gone;
        if !job.is_abandoned {
            let (due_s, sent_s, ended_s) = (job.due_s, job.sent_s, self.now_s);
            let is_late = ended_s - due_s > TIMEOUT_S;
            let (ending, ended_s) =
                if is_late { (Ending::Timeout, due_s + TIMEOUT_S) } else { (ending, ended_s) };
            see(Outcome { due_s, sent_s, ended_s, ending });
            self.ended(if ending == Ending::Refused { PAUSE_S } else { 0.0 });
        }
        self.unused.push(id);
        while self.due.front().is_some_and(|(due_s, id)| !self.is_awaited(*due_s, *id)) {
            self.due.pop_front();
        }
    }

    fn is_awaited(&self, due_s: f64, id: u32) -> bool {
        let job = &self.jobs[id as usize];
        job.due_s == due_s && job.stage != Stage::Gone && !job.is_abandoned
    }

    /// `pause_s`: its client's, beside what it thinks for.
    fn ended(&mut self, pause_s: f64) {
        self.count_in_flight(-1);
        if let Some(Load { offered: Offered::Closed { think, .. }, .. }) = &self.load {
            let think_s = think.as_secs_f64();
            self.after(think_s + pause_s, Event::Client(self.load_number));
        }
    }

    /// Requests whose time is over.
    fn expire(&mut self, see: See<'_>) {
        while let Some(&(due_s, id)) = self.due.front()
            && (due_s + TIMEOUT_S <= self.now_s || !self.is_awaited(due_s, id))
        {
            self.due.pop_front();
            self.abandon(due_s, id, due_s + TIMEOUT_S, see);
        }
    }

    fn abandon(&mut self, due_s: f64, id: u32, ended_s: f64, see: See<'_>) {
        if !self.is_awaited(due_s, id) {
            return;
        }
        let job = &mut self.jobs[id as usize];
        job.is_abandoned = true;
        let sent_s = job.sent_s;
        see(Outcome { due_s, sent_s, ended_s, ending: Ending::Timeout });
        self.ended(0.0);
    }
}

fn job_at(jobs: &mut [Job], id: u32) -> &mut Job {
    &mut jobs[id as usize]
}

fn gap_s(rate_per_s: f64, arrivals: Arrivals, chance: &mut Chance) -> f64 {
    match arrivals {
        Arrivals::Uniform => 1.0 / rate_per_s,
        Arrivals::Poisson => chance.exponential() / rate_per_s,
    }
}
