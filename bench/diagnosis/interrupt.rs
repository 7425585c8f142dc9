//! Ctrl-C, or a signal to end, becomes a [`StopSignal`]: the trial that runs ends, and everything
//! that was started with it. Pressed again it ends the program at once, and the guardian ends the
//! server.

use std::sync::OnceLock;

use sweetspot::terms::StopSignal;

use crate::Result;

static STOP: OnceLock<StopSignal> = OnceLock::new();

extern "C" fn raise(_: libc::c_int) {
    // Only an atomic is touched, which is allowed in a signal handler.
    if let Some(stop) = STOP.get() {
        stop.raise();
    }
}

/// From now on the first SIGINT, SIGTERM or SIGHUP raises the returned signal.
pub fn install() -> StopSignal {
    let stop = STOP.get_or_init(StopSignal::default).clone();
    for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler is async-signal-safe and the structure is fully initialised.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = raise as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            libc::sigaction(number, &raw const action, std::ptr::null_mut());
        }
    }
    stop
}

/// # Errors
/// The bench was interrupted.
pub fn check(stop: &StopSignal) -> Result<()> {
    match stop.is_raised() {
        true => Err("interrupted; the same command goes on where it stopped".into()),
        false => Ok(()),
    }
}
