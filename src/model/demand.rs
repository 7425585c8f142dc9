//! What one request of the mix costs on average.

use super::Sizes;
use crate::terms::Configuration;

/// The mean request. All seconds are at least 0; none includes queueing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// CPU under the interpreter's lock.
    pub cpu_s: f64,
    /// CPU outside it (native code, kernel work with the lock released).
    pub cpu_free_s: f64,
    /// Waits for anything that is neither CPU nor the lock.
    pub wait_s: f64,
    /// Lock time lost when the lock passes from one thread straight to another; nothing when
    /// nobody queues for it.
    pub handoff_s: f64,
    /// Squared coefficient of variation of the unloaded latency: 0 when every request takes the
    /// same time, 1 when they vary as an exponential.
    pub cv2: f64,
    /// How requests differ, where that is known beyond `cv2`.
    pub sizes: Option<Sizes>,
    /// How long a thread that finds the lock held waits for *that* hold to end, in units of a mean
    /// hold: 1 when holds are exponential, 0.5 when constant, more when long and short holds mix
    /// or threads bunch up behind each other.
    pub contention: f64,
    /// By how much waits grow with the requests in the server, all workers together: n of them wait
    /// `1 + crowding n (n - 1)` times as long as one alone. 0 when what they wait for does not mind
    /// how many come at once; a lock, or a database that thrashes, does.
    pub crowding: f64,
    /// A worker of several that has a request takes the next one when a request ends, and else
    /// not before this has passed, seconds. 0: at once.
    pub accept_gap_s: f64,
    /// How much more CPU a request takes where its worker has many threads that want the lock, as a
    /// logarithm: with T of them e^(switching (1 - 1/T)) times as much as with one.
    pub switching: f64,
    /// CPU of the load generator when it shares the server's cores; 0 when it doesn't.
    pub generator_s: f64,
}

impl Default for Demand {
    /// Costs nothing; varies as four exponential stages in a row do.
    fn default() -> Self {
        Self {
            cpu_s: 0.0,
            cpu_free_s: 0.0,
            wait_s: 0.0,
            handoff_s: 0.0,
            cv2: 0.25,
            sizes: None,
            contention: 1.0,
            crowding: 0.0,
            accept_gap_s: 0.0,
            switching: 0.0,
            generator_s: 0.0,
        }
    }
}

impl Demand {
    /// CPU of the server, seconds.
    pub fn server_cpu_s(&self) -> f64 {
        self.cpu_s + self.cpu_free_s
    }

    /// The request as it is in workers with so many threads, all of them at work.
    pub(super) fn on(&self, configuration: Configuration) -> Self {
        let others = 1.0 - 1.0 / f64::from(configuration.threads.get());
        let more = (self.switching * others).exp();
        let is_alone = configuration.workers.get() == 1;
        Self {
            cpu_s: self.cpu_s * more,
            cpu_free_s: self.cpu_free_s * more,
            accept_gap_s: if is_alone { 0.0 } else { self.accept_gap_s },
            ..*self
        }
    }

    /// The request as it is when `requests` are in the server at once, itself among them: the delay
    /// of Gunther's law of scalability by what each does to each other (coherency).
    pub(super) fn among(&self, requests: u32) -> Self {
        let n = f64::from(requests.max(1));
        Self { wait_s: self.wait_s * (1.0 + self.crowding * n * (n - 1.0)), ..*self }
    }

    /// Latency with nobody else around, seconds.
    pub fn unloaded_latency_s(&self) -> f64 {
        self.server_cpu_s() + self.wait_s
    }
}
