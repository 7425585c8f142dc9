//! What the rules look at, and what they say.
//!
//! In: figures of a trial. Out: shares and confidences.

use crate::summary::used::{Neighbour, Used};
use crate::terms::{
    Configuration, CpuBusy, Evidence, Limit, LimitAdvice, LimitKind, LoadSummary, Slots, Stated,
};

/// The figures that the rules look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures<'a> {
    pub configuration: Configuration,
    /// Cores the server may use.
    pub cores: f64,
    pub used: &'a Used,
    /// Of the measured part.
    pub load: &'a LoadSummary,
    /// Mean number of requests in flight or waiting, as sampled by a timer.
    pub in_flight_mean: f64,
    /// Mean latency of one client alone, seconds; `None` when it was not measured.
    pub unloaded_s: Option<f64>,
    /// A proxy stands in front of the server.
    pub has_proxy: bool,
    /// The server has threads to choose; without, nothing is said of them.
    pub has_threads: bool,
}

/// Busy means this share of what there is: schedulers and sampling leave the rest.
pub const BUSY: f64 = 0.90;
/// Idle enough to say that something else than the CPU sets the limit.
pub const IDLE: f64 = 0.80;

impl Figures<'_> {
    /// Share of the allowed cores that was busy. The cores themselves show who else ran there, such
    /// as the generator where it shares them; a quota is less than the cores it is spent on.
    pub fn cores_busy(&self) -> f64 {
        let server = self.used.server_cores();
        let by_use = match self.used.host_busy {
            Some(_) => server,
            None => server + self.used.cores_of("generator"),
        };
        (by_use / self.cores).max(self.used.host_busy.unwrap_or(0.0)).min(1.0)
    }

    /// What all these processes used of the server's cores: no more than is left of what was busy
    /// there, as they may also have run elsewhere.
    pub fn taken_by(&self, neighbours: &[&Neighbour]) -> f64 {
        let all: f64 = neighbours.iter().map(|one| one.cores).sum();
        let busy = self.used.host_busy.unwrap_or(1.0) * self.used.cores_seen;
        // The generator may have run there as well.
        let ours = self.used.server_cores() + self.used.cores_of("generator");
        all.min((busy - ours).max(0.0))
    }

    pub fn busiest_worker(&self) -> f64 {
        self.used.busiest_worker()
    }

    /// Cores and workers have time left, and there are workers to know it of.
    pub fn has_idle_cpu(&self) -> bool {
        let is_seen = !self.used.workers.is_empty();
        is_seen && self.cores_busy() < IDLE && self.busiest_worker() < IDLE
    }

    /// Places for a request.
    pub fn slots(&self) -> f64 {
        f64::from(self.configuration.slots())
    }

    /// Every place for a request was taken, and the CPU had time: they wait for something else.
    pub fn waits_outside(&self) -> bool {
        self.in_flight_mean >= 0.95 * self.slots() && self.has_idle_cpu()
    }

    pub fn has_one_thread(&self) -> bool {
        self.configuration.threads.get() == 1
    }

    pub fn named_slots(&self) -> Slots {
        Slots { count: self.configuration.slots(), are_workers: self.has_one_thread() }
    }

    pub fn cpu_busy(&self) -> CpuBusy {
        CpuBusy { cores_ratio: self.cores_busy(), worker_ratio: self.busiest_worker() }
    }
}

/// From one value at a threshold to another when all of it is there, never above 0.95.
pub fn confidence(figure: f64, threshold: f64, whole: f64, at_threshold: f64) -> f64 {
    let way = ((figure - threshold) / (whole - threshold)).clamp(0.0, 1.0);
    at_threshold + way * (0.95 - at_threshold)
}

/// A limit that a rule found.
pub fn found(
    kind: LimitKind,
    confidence: f64,
    evidence: impl Into<Evidence>,
    advice: LimitAdvice,
) -> Limit {
    Limit { kind, confidence, evidence: Stated::Fact(evidence.into()), advice: Some(advice.into()) }
}
