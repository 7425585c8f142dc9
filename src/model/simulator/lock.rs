//! A worker and its interpreter lock: who holds it, who waits, and when its timer ticks.
//!
//! Rules read from Ruby's `thread_pthread.c`. 2.6 to 3.2: waiters queue first come first served;
//! the first of them keeps one absolute deadline for the process, set a quantum ahead when the lock
//! was taken without contention or the last deadline passed, and *kept* over contended hand-overs;
//! at the deadline whoever holds the lock then goes to the tail. 3.3 and later: the quantum counts
//! from each hand-over, in ticks of 10 ms. CPython (`ceval_gil.c`): who waits asks for the lock
//! when it has not changed hands for an interval, and the operating system decides who gets it.

use std::collections::VecDeque;

use super::usage::WorkerUsage;

/// The interpreter's lock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lock {
    /// Ruby 2.6 to 3.2; the quantum is 0.1 s.
    Ruby26 { quantum_s: f64 },
    /// Ruby 3.3 and later; the quantum is 0.1 s unless set otherwise.
    Ruby33 { quantum_s: f64 },
    /// CPython: who waits asks for it after the interval (0.005 s) and any of those who wait may
    /// get it.
    CPython { interval_s: f64 },
    /// Threads run in parallel.
    None,
}

/// Length of a tick of Ruby 3.3's timer, seconds.
const TICK_S: f64 = 0.01;

#[derive(Debug, Clone, Default)]
pub(super) struct Worker {
    /// Threads that hold a request.
    pub(super) busy: u32,
    /// The request that holds the lock, or to which it is being handed.
    pub(super) owner: Option<u32>,
    /// The owner has not begun to run yet.
    pub(super) is_handing_over: bool,
    /// First come, first served.
    pub(super) waiting: VecDeque<u32>,
    /// Ruby26's deadline, kept over hand-overs.
    deadline: Option<f64>,
    /// When the timer should tick; `None` when nobody waits.
    timer: Option<f64>,
    /// An event for the timer is in the calendar: one at a time, at or before `timer`.
    is_tick_due: bool,
    /// Requests answered since its garbage was last collected.
    pub(super) since_pause: u32,
    /// Requests bound to this worker that found no thread free (a queue of its own, or a connection
    /// that it keeps).
    pub(super) queue: VecDeque<u32>,
    /// Counters; what its running jobs have used so far is not in them yet.
    pub(super) usage: WorkerUsage,
}

/// What a timer event means.
pub(super) enum Tick {
    /// Nobody waits any more.
    Idle,
    /// Too early: come back then.
    Later(f64),
    /// The owner has to give the lock up.
    Expired,
}

impl Worker {
    /// Takes the free lock.
    pub(super) fn take(&mut self, request: u32) {
        self.owner = Some(request);
        self.deadline = None;
        self.timer = None;
    }

    /// Sets the timer because someone waits; returns when an event has to be put in the calendar.
    pub(super) fn arm(&mut self, now: f64, lock: Lock) -> Option<f64> {
        let at = match lock {
            Lock::None => return None,
            Lock::Ruby26 { quantum_s } => (*self.deadline.get_or_insert(now + quantum_s)).max(now),
            Lock::Ruby33 { quantum_s } => now + (quantum_s / TICK_S).ceil() * TICK_S,
            Lock::CPython { interval_s } => now + interval_s,
        };
        self.timer = Some(at);
        (!std::mem::replace(&mut self.is_tick_due, true)).then_some(at)
    }

    /// The owner lets go; of those who wait the one that `choose` picks (given how many there are)
    /// becomes the owner and is returned.
    pub(super) fn release(&mut self, choose: impl FnOnce(usize) -> usize) -> Option<u32> {
        self.owner = match self.waiting.len() {
            0 => None,
            count => self.waiting.remove(choose(count)),
        };
        self.timer = None;
        self.owner
    }

    /// An event of the timer came up.
    pub(super) fn tick(&mut self, now: f64) -> Tick {
        self.is_tick_due = false;
        match self.timer {
            None => Tick::Idle,
            Some(at) if at > now => {
                self.is_tick_due = true;
                Tick::Later(at)
            }
            Some(_) => {
                self.deadline = None;
                Tick::Expired
            }
        }
    }

    /// Everything it held is gone.
    pub(super) fn clear(&mut self) {
        let usage = self.usage;
        *self = Self { usage, ..Self::default() };
    }
}
