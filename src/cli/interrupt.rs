//! Ctrl-C and SIGTERM become a [`StopSignal`] that the stages look at.

use std::sync::OnceLock;

use crate::terms::StopSignal;

static SIGNAL: OnceLock<StopSignal> = OnceLock::new();

extern "C" fn raise(_: libc::c_int) {
    // Only an atomic is touched: that is allowed in a signal handler.
    if let Some(signal) = SIGNAL.get() {
        signal.raise();
    }
}

/// From now on SIGINT, SIGTERM and SIGHUP raise the returned signal instead of ending the process.
pub fn install() -> StopSignal {
    let signal = SIGNAL.get_or_init(StopSignal::default).clone();
    for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler is async-signal-safe and the structure is fully initialised.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = raise as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(number, &action, std::ptr::null_mut());
        }
    }
    signal
}
