//! What is to come, in the order of its time.

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
struct Entry<T> {
    time: f64,
    /// What has the same time comes in the order in which it was added: the run must not depend on
    /// the heap.
    sequence: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// Reversed: the heap's largest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.sequence.cmp(&self.sequence))
    }
}

/// What is to come.
#[derive(Debug, Clone)]
pub(super) struct Calendar<T> {
    heap: BinaryHeap<Entry<T>>,
    made: u64,
}

impl<T> Calendar<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), made: 0 }
    }

    pub(super) fn add(&mut self, time: f64, what: T) {
        self.made += 1;
        self.heap.push(Entry { time, sequence: self.made, what });
    }

    /// Time of what is next; infinity when there is none.
    pub(super) fn next_time(&self) -> f64 {
        self.heap.peek().map_or(f64::INFINITY, |entry| entry.time)
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.heap.pop().map(|entry| entry.what)
    }

    /// Keeps that of which `keep` holds.
    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.heap.retain(|entry| keep(&entry.what));
    }

    /// All with its time, in no order.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (f64, &T)> {
        self.heap.iter().map(|entry| (entry.time, &entry.what))
    }
}
