//! Tests that load the machine, or that need it to themselves, take turns. So more of them than the
//! machine has cores may run at once: most wait, for a turn or for their servers.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One more than the smallest machine has cores: who loads a server waits for half of the time,
/// for a start or an end.
const WHOLE: usize = 3;

/// Whoever waits is served in the order of asking: who wants all of the machine would wait for ever
/// behind those to whom a third is enough.
struct Queue {
    taken: usize,
    /// The number that the next to ask gets, and the one whose turn it is.
    next: u64,
    served: u64,
}

thread_local! {
    /// Who waits for a second turn while it has one may wait for ever.
    static HAS_ONE: Cell<bool> = const { Cell::new(false) };
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { taken: 0, next: 0, served: 0 });
static MOVED: Condvar = Condvar::new();
static COMPUTING: Mutex<()> = Mutex::new(());

/// A part of the machine, held as long as it is needed; one at a time by a test.
pub struct Turn(usize);

/// All of it.
pub fn take() -> Turn {
    Turn::wait(WHOLE)
}

/// A third of it, for what spends its time loading real servers and asks nothing of their speed.
pub fn share() -> Turn {
    Turn::wait(1)
}

/// Two of them, for what loads two servers at a time: both at once, as nobody who has one may wait
/// for another.
pub fn two_shares() -> [Turn; 2] {
    std::mem::forget(Turn::wait(2));
    [Turn(1), Turn(1)]
}

/// For what computes for seconds and measures nothing, such as a session on the simulated place:
/// one at a time, so that those who measure have a core.
pub fn compute() -> MutexGuard<'static, ()> {
    COMPUTING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turn {
    fn wait(parts: usize) -> Self {
        assert!(!HAS_ONE.replace(true), "this test has a turn already");
        let mut queue = queue();
        let number = queue.next;
        queue.next += 1;
        let waits = |queue: &mut Queue| queue.served != number || queue.taken + parts > WHOLE;
        let mut queue = MOVED.wait_while(queue, waits).unwrap_or_else(PoisonError::into_inner);
        queue.served += 1;
        queue.taken += parts;
        MOVED.notify_all();
        Self(parts)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        queue().taken -= self.0;
        MOVED.notify_all();
        HAS_ONE.set(false);
    }
}

/// A test that failed with it has said so itself.
fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}
