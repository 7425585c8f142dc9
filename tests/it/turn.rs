//! Tests that load the machine, or that need it to themselves, take turns.

use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Held as long as the machine is needed. A test that failed with it has said so itself.
pub fn take() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
