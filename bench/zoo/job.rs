//! What a simulation of the zoo keeps of requests and workers, and what it tells of them.

use super::machine::Places;

/// What happens at a time. The number of an arrival is its load's, of the others the job's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    Arrival(u32),
    /// One that waits for its reply before it asks again.
    Client(u32),
    SliceEnded(u32),
    WaitEnded(u32),
    Generated(u32),
    Unthrottled(u32),
}

/// Where a request is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Sending,
    Queued,
    Served,
    Receiving,
    Gone,
}

/// A request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Job {
    pub due_s: f64,
    pub sent_s: f64,
    pub stage: Stage,
    pub worker: u16,
    /// Of its steps, the next.
    pub step: u16,
    /// In all its steps.
    pub cpu_s: f64,
    pub wait_s: f64,
    /// CPU that its step needs yet.
    pub left_s: f64,
    /// For how long it has had the interpreter.
    pub held_s: f64,
    /// Of the slice that it is in.
    pub slice_s: f64,
    /// When it began to wait for a core.
    pub since_s: f64,
    pub is_failing: bool,
    /// Nobody waits for its reply any more.
    pub is_abandoned: bool,
}

/// A worker, with what it has used since its start.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Threads that have a request.
    pub busy: u32,
    pub interpreter: Places,
    /// Requests; infinite for one that is warm.
    pub served: f64,
    /// Requests until the next collection.
    pub collects_in: f64,
    /// Pauses that the next to compute has to sit through.
    pub owed_pause_s: f64,
    pub cpu_s: f64,
    pub run_delay_s: f64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            busy: 0,
            interpreter: Places::new(1),
            served: 0.0,
            collects_in: f64::INFINITY,
            owed_pause_s: 0.0,
            cpu_s: 0.0,
            run_delay_s: 0.0,
            voluntary_switches: 0,
            involuntary_switches: 0,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Reply,
    /// A reply that says that it failed.
    Failed,
    Timeout,
    Refused,
}

/// A request that has ended; times are the simulation's, seconds.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    pub due_s: f64,
    pub sent_s: f64,
    pub ended_s: f64,
    pub ending: Ending,
}

impl Outcome {
    pub fn latency_s(&self) -> f64 {
        (self.ended_s - self.due_s).max(0.0)
    }
}

/// Counters at a time.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    pub workers: Vec<Worker>,
    pub in_flight: u64,
    /// Its integral over time.
    pub in_flight_area_s: f64,
    /// Requests that no thread has taken.
    pub backlog: u32,
    pub periods: u64,
    pub throttled_periods: u64,
    pub throttled_s: f64,
}
