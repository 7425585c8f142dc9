//! The user's wish to end, shared by whoever has to notice it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// How urgently the user wants to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// Nobody asked.
    None,
    /// Once: end this trial, store it, print the answer so far.
    Finish,
    /// Twice: end at once.
    Now,
}

/// Counts the user's Ctrl-C presses (or a termination signal). Cheap to clone and to look at; safe
/// to raise from a signal handler.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicU8>);

impl StopSignal {
    /// One more press; the third and later ones change nothing.
    pub fn raise(&self) {
        let raised = self.0.load(Ordering::Relaxed).saturating_add(1).min(2);
        self.0.store(raised, Ordering::Relaxed);
    }

    /// What has been asked for so far.
    pub fn requested(&self) -> StopRequest {
        match self.0.load(Ordering::Relaxed) {
            0 => StopRequest::None,
            1 => StopRequest::Finish,
            _ => StopRequest::Now,
        }
    }

    /// True from the first press on.
    pub fn is_raised(&self) -> bool {
        self.requested() != StopRequest::None
    }
}
