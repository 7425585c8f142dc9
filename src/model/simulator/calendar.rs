//! Events in the order of their time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens at a time known beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A request's wait ends.
    WaitOver { request: u32 },
    /// The lock has been handed to this request, which now runs.
    HandedOver { request: u32 },
    /// A worker's lock timer.
    Tick { worker: u32 },
    /// A client of this load sends its next request.
    ClientReady { load: u32, client: u32 },
    /// A thread has waited long enough for more on a connection.
    HoldOver { connection: u32, hold: u32 },
    /// A connection that found the listen queue full is tried again.
    Retry { request: u32, attempt: u32 },
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    time: f64,
    /// Events of one instant happen in the order they were made: the run must not depend on the
    /// heap.
    sequence: u64,
    due: Due,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Reversed: the heap's largest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.sequence.cmp(&self.sequence))
    }
}

/// The events to come.
#[derive(Debug, Clone, Default)]
pub(super) struct Calendar {
    heap: BinaryHeap<Entry>,
    made: u64,
}

impl Calendar {
    pub(super) fn add(&mut self, time: f64, due: Due) {
        self.made += 1;
        self.heap.push(Entry { time, sequence: self.made, due });
    }

    /// Time of the next event; infinity when there is none.
    pub(super) fn next_time(&self) -> f64 {
        self.heap.peek().map_or(f64::INFINITY, |entry| entry.time)
    }

    pub(super) fn pop(&mut self) -> Option<Due> {
        self.heap.pop().map(|entry| entry.due)
    }

    /// Keeps the events of which `keep` holds.
    pub(super) fn retain(&mut self, keep: impl Fn(Due) -> bool) {
        self.heap.retain(|entry| keep(entry.due));
    }
}
