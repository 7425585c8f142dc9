//! What is simulated: an app, its server and its machine, with the truth about its capacity.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::model::simulator::{Admission, Backend, Lock, Pauses, RequestKind, Server, Simulator};
use crate::model::{self, Demand, Host};
use crate::terms::{Configuration, Variant};

/// An app under its server on its machine. Seconds are those of one request without queueing.
#[derive(Debug, Clone)]
pub struct SimulatedApp {
    /// CPU under the lock.
    pub cpu_s: f64,
    /// CPU outside it.
    pub cpu_free_s: f64,
    /// Waits, all together.
    pub wait_s: f64,
    /// How many waits.
    pub waits: u16,
    /// Requests to other targets of the mix, each kind by its weight; those above have weight 1.
    pub others: Vec<RequestKind>,
    /// Squared coefficient of variation of every burst of CPU and of every wait.
    pub cv2: f64,
    /// Lock time lost when threads queue for the lock.
    pub handoff_s: f64,
    pub cores: f64,
    pub lock: Lock,
    /// Garbage collection beyond what is in the requests' CPU.
    pub pauses: Option<Pauses>,
    /// What its waits wait for; `None`: nothing that they share.
    pub backend: Option<Backend>,
    /// Configurations for which everything takes longer or shorter than the rest says.
    pub bumps: Vec<Bump>,
    /// Every configuration serves as this one does; but for bumps and memory they are all the same.
    pub serves_as: Option<Configuration>,
    pub admission: Admission,
    /// Connections the listen queue holds.
    pub backlog: usize,
    /// After this long clients give up.
    pub timeout: Duration,
    /// Its workers take in as many requests as come.
    pub is_event_loop: bool,
    /// Into how many pods it is cut, which share all that it has; but for a lost one that makes no
    /// difference.
    pub pods: u16,
    /// As the app runs today.
    pub current: Configuration,
    pub memory: SimulatedMemory,
    /// From launch to ready.
    pub boot: Duration,
    pub drift: Drift,
    /// Configurations that never become ready.
    pub boot_failure: Option<fn(Configuration) -> bool>,
    /// The server that runs at this time of the place's clock dies, once.
    pub dies_at: Option<Duration>,
    /// CPU of the load generator a request; it has cores of its own.
    pub generator_s: f64,
    /// What each change does, in the order of the session's list.
    pub changes: Vec<ChangeEffect>,
}

/// What one change does to a simulated app: factors on what it needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeEffect {
    pub cpu: f64,
    pub wait: f64,
    pub memory: f64,
    /// False: the server never becomes ready with it.
    pub boots: bool,
    /// Into how many pods the app is cut with it; `None`: into as many as without it.
    pub pods: Option<u16>,
}

impl ChangeEffect {
    /// A change that does nothing.
    pub const NONE: Self = Self { cpu: 1.0, wait: 1.0, memory: 1.0, boots: true, pods: None };
}

/// Memory, as in [`model::MemoryModel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedMemory {
    pub shared_bytes: u64,
    pub worker_bytes: u64,
    pub thread_bytes: u64,
    /// By how much a worker grows, bytes a second of its life.
    pub leak_bytes_s: u64,
    /// What the machine has: beyond it the server is killed while it boots.
    pub limit_bytes: u64,
}

impl SimulatedMemory {
    fn times(self, factor: f64) -> Self {
        let scaled = |bytes: u64| (bytes as f64 * factor) as u64;
        Self {
            shared_bytes: scaled(self.shared_bytes),
            worker_bytes: scaled(self.worker_bytes),
            thread_bytes: scaled(self.thread_bytes),
            ..self
        }
    }

    /// What a configuration needs, bytes.
    pub fn of(&self, configuration: Configuration) -> u64 {
        self.shared_bytes
            + u64::from(configuration.workers.get()) * self.worker_bytes
            + u64::from(configuration.slots()) * self.thread_bytes
    }
}

/// What no model foresees: these configurations take this many times as long for everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Bump {
    pub workers: RangeInclusive<u16>,
    pub threads: RangeInclusive<u16>,
    pub factor: f64,
}

impl Bump {
    fn of(&self, configuration: Configuration) -> f64 {
        let is_meant = self.workers.contains(&configuration.workers.get())
            && self.threads.contains(&configuration.threads.get());
        if is_meant { self.factor } else { 1.0 }
    }
}

/// How the machine and the app change with time. A value of 0.02 is about 2 %; all 0: not at all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Drift {
    /// Relative standard deviation of the speed from one start to the next.
    pub start: f64,
    /// Relative standard deviation of the speed from one offer to the next.
    pub window: f64,
    /// How much slower a server is just after its start.
    pub cold: f64,
    /// Time in which that decays to 1/e, seconds; 0: at once.
    pub cold_s: f64,
    /// How much slower it gets every minute.
    pub slowing_per_minute: f64,
    /// How far the machine's speed wanders either way, as a wave over the session.
    pub wander: f64,
    /// How long one wave takes, seconds; 0: it does not wander.
    pub wander_s: f64,
    /// Share of offers during which something else takes part of the machine.
    pub outliers: f64,
    /// How much slower it is then.
    pub outlier: f64,
}

impl Drift {
    /// Factor on all durations of a server that has been running for `age_s`.
    pub(super) fn at_age(&self, age_s: f64) -> f64 {
        let cold = if self.cold_s > 0.0 { self.cold * (-age_s / self.cold_s).exp() } else { 0.0 };
        1.0 + cold + self.slowing_per_minute * age_s / 60.0
    }

    /// The machine's own, at this time of the place's clock.
    /// `phase`: where in a wave it began, 0..1.
    pub(super) fn at_time(&self, at_s: f64, phase: f64) -> f64 {
        let waves = if self.wander_s > 0.0 { phase + at_s / self.wander_s } else { 0.0 };
        (self.wander * (std::f64::consts::TAU * waves).sin()).exp()
    }
}

impl Default for SimulatedApp {
    /// 4 ms of CPU and 12 ms in three waits, varying a little, on two cores; runs one worker with
    /// five threads today; a machine without drift.
    fn default() -> Self {
        Self {
            cpu_s: 0.004,
            cpu_free_s: 0.0,
            wait_s: 0.012,
            waits: 3,
            others: Vec::new(),
            cv2: 0.5,
            handoff_s: 0.0,
            cores: 2.0,
            lock: Lock::Ruby26 { quantum_s: 0.1 },
            pauses: None,
            backend: None,
            bumps: Vec::new(),
            serves_as: None,
            admission: Admission::Random,
            backlog: 1024,
            timeout: Duration::from_secs(10),
            is_event_loop: false,
            pods: 1,
            current: Configuration::new(1, 5).expect("one and five are not zero"),
            memory: SimulatedMemory {
                shared_bytes: 40 << 20,
                worker_bytes: 60 << 20,
                thread_bytes: 1 << 20,
                leak_bytes_s: 0,
                limit_bytes: 4 << 30,
            },
            boot: Duration::from_millis(800),
            drift: Drift::default(),
            boot_failure: None,
            dies_at: None,
            generator_s: 1e-5,
            changes: Vec::new(),
        }
    }
}

/// More requests than this are never in one event loop here.
const LOOP_PLACES: u16 = 4096;

/// Requests in one simulation of [`SimulatedApp::true_capacity`].
const PROBE_REQUESTS: f64 = 100_000.0;

impl SimulatedApp {
    /// The app with changes; the effects of several multiply.
    pub fn variant(&self, variant: Variant) -> Self {
        let mut app = self.clone();
        for effect in variant.of_list(&self.changes) {
            app.cpu_s *= effect.cpu;
            app.cpu_free_s *= effect.cpu;
            app.wait_s *= effect.wait;
            app.memory = app.memory.times(effect.memory);
            app.pods = effect.pods.unwrap_or(app.pods);
            for other in &mut app.others {
                other.cpu_s *= effect.cpu;
                other.cpu_free_s *= effect.cpu;
                other.wait_s *= effect.wait;
            }
        }
        app
    }

    /// What a request costs.
    pub fn request(&self) -> RequestKind {
        RequestKind {
            weight: 1.0,
            cpu_s: self.cpu_s,
            cpu_free_s: self.cpu_free_s,
            wait_s: self.wait_s,
            waits: self.waits,
            cv2: self.cv2,
            handoff_s: self.handoff_s,
            sizes: None,
        }
    }

    /// Every kind of request, in the order of the mix.
    pub fn requests(&self) -> Vec<RequestKind> {
        std::iter::once(self.request()).chain(self.others.iter().copied()).collect()
    }

    /// What they cost with this configuration.
    fn requests_of(&self, configuration: Configuration) -> Vec<RequestKind> {
        let factor: f64 = self.bumps.iter().map(|bump| bump.of(configuration)).product();
        let longer = |request: RequestKind| RequestKind {
            cpu_s: request.cpu_s * factor,
            cpu_free_s: request.cpu_free_s * factor,
            wait_s: request.wait_s * factor,
            handoff_s: request.handoff_s * factor,
            ..request
        };
        self.requests().into_iter().map(longer).collect()
    }

    /// A request as the formulas know it.
    pub fn demand(&self) -> Demand {
        self.request().demand()
    }

    /// The server in virtual time, just booted.
    pub(super) fn simulator(&self, configuration: Configuration, seed: u64) -> Simulator {
        Simulator::new(self.server(configuration), self.requests_of(configuration), seed)
    }

    fn server(&self, configuration: Configuration) -> Server {
        let configuration = self.serves_as.unwrap_or(configuration);
        let (workers, threads) = (configuration.workers.get(), configuration.threads.get());
        let threads = if self.is_event_loop { LOOP_PLACES } else { threads };
        Server {
            lock: self.lock,
            pauses: self.pauses,
            backend: self.backend,
            admission: self.admission,
            backlog: self.backlog,
            timeout_s: self.timeout.as_secs_f64(),
            ..Server::new(workers, threads, self.cores)
        }
    }

    /// The known answer: the highest Poisson arrival rate (requests/s) of a configuration, without
    /// drift, at which at most 1 - `quantile` of the requests take `limit` or longer (or get no
    /// reply); 0 when no rate does. To about 1 %, by bisection over simulations of 100,000 requests
    /// with the same seed.
    pub fn true_capacity(
        &self,
        configuration: Configuration,
        limit: Duration,
        quantile: f64,
    ) -> f64 {
        let (demand, limit_s) = (self.demand(), limit.as_secs_f64());
        let guess = model::capacity(&demand, configuration, self.cores, quantile, limit_s);
        // The formulas may say 0 by a hair.
        let guess = guess.max(0.1 / demand.unloaded_latency_s());
        self.host(configuration).capacity(guess, quantile, limit_s, PROBE_REQUESTS)
    }

    /// The machine with one configuration, without drift.
    pub fn host(&self, configuration: Configuration) -> Host {
        Host { server: self.server(configuration), requests: self.requests_of(configuration) }
    }
}
