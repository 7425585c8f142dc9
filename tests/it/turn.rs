//! Tests that load the machine, or that need it to themselves, take turns.

use std::sync::{Condvar, Mutex, PoisonError};

/// As many as can wait at a time without keeping the smallest machine's two cores busy.
const PARTS: usize = 4;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// Parts of the machine, held as long as they are needed.
pub struct Turn(usize);

/// All of it, for what measures how much a server that computes can do.
pub fn take() -> Turn {
    Turn::wait(PARTS)
}

/// Half of it, for what spends its time loading real servers and asks nothing of their speed.
pub fn share() -> Turn {
    Turn::wait(PARTS / 2)
}

/// A quarter of it, for servers whose requests wait instead of computing, so that what they hold
/// doesn't depend on what runs beside them.
pub fn idle() -> Turn {
    Turn::wait(1)
}

impl Turn {
    fn wait(parts: usize) -> Self {
        // A test that failed with it has said so itself.
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = |taken: &mut usize| *taken + parts > PARTS;
        let mut taken = FREED.wait_while(taken, is_taken).unwrap_or_else(PoisonError::into_inner);
        *taken += parts;
        Self(parts)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        FREED.notify_all();
    }
}
