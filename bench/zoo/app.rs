//! What an app of the zoo is: its requests, what stands behind it, its processes, its machine.
//! Nothing here is taken from the simulator that the program has itself.

use sweetspot::terms::{Configuration, Slo};

use super::chance::Spread;

/// Requests of one sort.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Endpoint {
    /// Of all requests, 0..=1; those of an app add up to one.
    pub share: f64,
    /// Mean CPU of a request, seconds.
    pub cpu_s: f64,
    /// Mean of what it waits for others, seconds.
    pub wait_s: f64,
}

/// Who shares a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockScope {
    Worker,
    Server,
}

/// Part of every request is done by one at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lock {
    pub scope: LockScope,
    /// Of a request's CPU, 0..=1.
    pub cpu_share: f64,
    /// Of a request's waits, 0..=1.
    pub wait_share: f64,
}

/// What requests wait for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Backend {
    /// As many calls as come, each as long as if it were alone.
    Independent,
    /// A call beside `n - 1` others takes 1 + (n / knee)^power times as long.
    Thrashing { knee: f64, power: f64 },
    /// Calls a second in the long run, and how many at once after a rest; those beyond wait their
    /// turn or are refused.
    Bucket { rate_per_s: f64, burst: f64, refuses: bool },
}

/// Connections that a worker's requests share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    pub connections: usize,
    /// A request keeps one until it ends; else for one call.
    pub is_kept: bool,
}

/// The whole worker stops after some requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collection {
    /// Requests between two pauses, in the mean.
    pub every: f64,
    pub pause_s: f64,
}

/// A young worker is slower: its requests need `1 + slower exp(-served / requests)` times the CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cold {
    pub requests: f64,
    pub slower: f64,
}

/// Which worker takes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    LeastBusy,
    Random,
}

/// Speed above what is paid for, until it is used up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Credits {
    /// What is earned, of all cores, 0..1; also the speed that is left without credits.
    pub baseline: f64,
    /// At the beginning of a session, and the most that is kept; seconds of a core.
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hardware {
    pub cores: usize,
    /// Cores' worth of time in each tenth of a second; `None`: all.
    pub quota: Option<f64>,
    pub credits: Option<Credits>,
    /// Speed over the minutes: standard deviation of its logarithm, and for how long it remembers.
    pub wander: f64,
    pub wander_s: f64,
    /// Likewise over the hours.
    pub drift: f64,
    pub drift_s: f64,
    /// Standard deviation of the logarithm of a start's speed.
    pub starts: f64,
    /// CPU that the generator takes of the same cores for a request; seconds.
    pub generator_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub limit_bytes: u64,
    pub shared_bytes: u64,
    pub worker_bytes: u64,
    pub thread_bytes: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct App {
    pub endpoints: Vec<Endpoint>,
    pub spread: Spread,
    /// Waits in a request, with computing before, between and after them.
    pub waits: usize,
    pub lock: Option<Lock>,
    pub backend: Backend,
    pub pool: Option<Pool>,
    /// Share of requests that fail by themselves.
    pub failing: f64,
    pub collection: Option<Collection>,
    pub cold: Option<Cold>,
    /// By how much each other busy thread of a worker makes its computing longer.
    pub switching: f64,
    /// For how long a thread keeps the interpreter from the others that want it; seconds.
    pub quantum_s: f64,
    pub admission: Admission,
    pub hardware: Hardware,
    pub memory: Memory,
    pub boot_s: f64,
}

/// An app with what a session is asked about it.
#[derive(Debug, Clone)]
pub struct Case {
    pub app: App,
    pub grid: Vec<Configuration>,
    pub current: Configuration,
    /// `None`: the session settles it.
    pub slo: Option<Slo>,
}

/// What a request does, one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// This share of its CPU.
    Compute(f64),
    /// This share of its waits, at the backend.
    Call(f64),
    /// This share of its waits, at nobody's expense.
    Wait(f64),
    Take(Gate),
    Give(Gate),
}

/// What only some may hold at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Pool,
    Lock,
}

impl App {
    /// Every request's steps. What is done under the lock comes after the first computing.
    pub fn steps(&self) -> Vec<Step> {
        let lock =
            self.lock.unwrap_or(Lock { scope: LockScope::Worker, cpu_share: 0.0, wait_share: 0.0 });
        let has_waits = self.endpoints.iter().any(|it| it.wait_s > 0.0);
        let waits = if has_waits { self.waits } else { 0 };
        let cpu = Step::Compute((1.0 - lock.cpu_share) / (waits + 1) as f64);
        let call = Step::Call((1.0 - lock.wait_share) / waits.max(1) as f64);
        let mut steps = vec![cpu];
        if self.lock.is_some() {
            steps.push(Step::Take(Gate::Lock));
            steps.extend((lock.cpu_share > 0.0).then_some(Step::Compute(lock.cpu_share)));
            steps.extend((lock.wait_share > 0.0).then_some(Step::Wait(lock.wait_share)));
            steps.push(Step::Give(Gate::Lock));
        }
        for _ in 0..waits {
            match self.pool {
                Some(pool) if !pool.is_kept => {
                    steps.extend([Step::Take(Gate::Pool), call, Step::Give(Gate::Pool)]);
                }
                _ => steps.push(call),
            }
            steps.push(cpu);
        }
        if self.pool.is_some_and(|pool| pool.is_kept) {
            steps.insert(0, Step::Take(Gate::Pool));
            steps.push(Step::Give(Gate::Pool));
        }
        steps
    }

    /// Means of CPU and of waits over all requests, seconds.
    pub fn means_s(&self) -> (f64, f64) {
        let sum =
            |of: fn(&Endpoint) -> f64| self.endpoints.iter().map(|it| it.share * of(it)).sum();
        (sum(|it| it.cpu_s), sum(|it| it.wait_s))
    }

    /// How much more CPU a request takes in a worker that has served so many.
    pub fn youth(&self, served: f64) -> f64 {
        self.cold.map_or(1.0, |cold| 1.0 + cold.slower * (-served / cold.requests).exp())
    }

    /// What the server may use of the machine's cores.
    pub fn cores(&self) -> f64 {
        self.hardware.quota.unwrap_or(self.hardware.cores as f64)
    }
}

impl Memory {
    pub fn of(&self, configuration: Configuration) -> u64 {
        let workers = u64::from(configuration.workers.get());
        let slots = u64::from(configuration.slots());
        self.shared_bytes + workers * self.worker_bytes + slots * self.thread_bytes
    }
}
