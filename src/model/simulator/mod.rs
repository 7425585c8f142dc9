//! A discrete-event simulation of one app server: workers with threads under an interpreter lock,
//! on shared cores, behind one listen queue.
//!
//! In: a [`Server`], kinds of requests, an offered load, a seed. Out: an [`Outcome`] for every
//! request that was due, and counters of what the workers used ([`Usage`]). Deterministic by seed;
//! memory is bounded by what is in flight, not by the length of the run.
//!
//! What is modelled: processor sharing on the cores; a control group's quota and its periods; a
//! first-come-first-served lock in each process with the quantum rules of Ruby's versions; garbage
//! collections that stop a worker; pools, services and locks that requests wait for; a listen queue
//! of bounded length, overflow being retried after 1, 3, 7, ... seconds as TCP does; who takes a
//! connection, and what becomes of it after a reply; clients that give up leave their request
//! behind in the server. What is not: scheduling slices of the operating system, caches.

mod backend;
mod calendar;
mod connection;
mod cores;
mod engine;
mod lock;
mod quota;
mod request;
mod sample;
#[cfg(test)]
mod tests;
mod usage;

pub use backend::{Backend, Sharing};
pub use connection::KeepAlive;
pub use engine::Simulator;
pub use lock::Lock;
pub use quota::Quota;
pub use request::RequestKind;
pub use usage::{Usage, WorkerUsage};

/// Which worker takes the next connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Any worker with a free thread, at random: all idle acceptors wake and one wins.
    Random,
    /// The one with the fewest busy threads (Puma's `wait_for_less_busy_worker`).
    LeastBusy,
    /// A random worker at once, however busy: every worker has its own queue.
    Split,
    /// The workers in turn, however busy: a proxy before servers with a port each.
    InTurn,
}

impl Admission {
    /// Every worker has a queue of its own: a request waits for its worker even when another is
    /// idle.
    pub(super) fn has_own_queues(self) -> bool {
        matches!(self, Self::Split | Self::InTurn)
    }
}

/// Garbage collection that stops a worker: CPU under its lock, at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pauses {
    /// Requests of a worker from one to the next.
    pub every: u32,
    /// How long one takes, seconds.
    pub length_s: f64,
}

/// The simulated server and what it runs on.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    pub workers: u16,
    pub threads: u16,
    /// Cores its processes share; may be a fraction.
    pub cores: f64,
    /// A limit on the CPU time of all its processes; `None`: the cores are the limit.
    pub quota: Option<Quota>,
    pub lock: Lock,
    /// Garbage collection beyond what is in the requests' CPU.
    pub pauses: Option<Pauses>,
    /// What limits its waits; `None`: nothing does.
    pub backend: Option<Backend>,
    pub admission: Admission,
    pub keep_alive: KeepAlive,
    /// Connections the listen queue holds.
    pub backlog: usize,
    /// After this long from when it was due, a client gives up; seconds.
    pub timeout_s: f64,
}

impl Server {
    /// A server as Puma is on Ruby before 3.3: random admission, 100 ms quantum, listen queue of
    /// 1024, timeout 10 s; every request over a connection of its own; without quota or pauses.
    pub fn new(workers: u16, threads: u16, cores: f64) -> Self {
        Self {
            workers: workers.max(1),
            threads: threads.max(1),
            cores,
            quota: None,
            lock: Lock::Ruby26 { quantum_s: 0.1 },
            pauses: None,
            backend: None,
            admission: Admission::Random,
            keep_alive: KeepAlive::Closed,
            backlog: 1024,
            timeout_s: 10.0,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Reply,
    /// The client gave up.
    Timeout,
    /// The server died while the request was in it.
    Reset,
    /// No server was there.
    Refused,
}

/// One request that was due, and what became of it. Times are the simulator's, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    pub due_s: f64,
    pub ended_s: f64,
    /// Index of its [`RequestKind`].
    pub kind: u16,
    pub ending: Ending,
}
