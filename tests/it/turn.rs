//! Tests that load the machine, or that need it to themselves, take turns. So more of them than the
//! machine has cores may run at once: most wait, for a turn or for their servers.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Two for each of three tests that load servers, one more than the smallest machine has cores: who
/// loads a server waits for half of the time, for a start or an end.
const WHOLE: usize = 6;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();
static COMPUTING: Mutex<()> = Mutex::new(());

/// A part of the machine, held as long as it is needed.
pub struct Turn(usize);

/// All of it. Who wants less goes first, so that this is most often at the end.
pub fn take() -> Turn {
    Turn::wait(WHOLE)
}

/// Two thirds, for what is upset by more than one other test.
pub fn most() -> Turn {
    Turn::wait(4)
}

/// A third of it, for what spends its time loading real servers and asks nothing of their speed.
pub fn share() -> Turn {
    Turn::wait(2)
}

/// A sixth, for what has a server that does little but wait.
pub fn little() -> Turn {
    Turn::wait(1)
}

/// For what computes for seconds and measures nothing, such as a session on the simulated place:
/// one at a time, so that those who measure have a core.
pub fn compute() -> MutexGuard<'static, ()> {
    COMPUTING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turn {
    fn wait(parts: usize) -> Self {
        // A test that failed with it has said so itself.
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = |taken: &mut usize| *taken + parts > WHOLE;
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
