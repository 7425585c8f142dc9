//! Ctrl-C, or a signal to end, is noticed between two steps of a bench, so that everything started
//! is ended and the report says what there is. Pressed again it ends the bench at once; whatever
//! watches over what it started ends that.

use std::sync::OnceLock;

use sweetspot::terms::StopSignal;

use super::Result;

static STOP: OnceLock<StopSignal> = OnceLock::new();

extern "C" fn raise(_: libc::c_int) {
    // Only an atomic is touched, which is allowed in a signal handler.
    if let Some(stop) = STOP.get() {
        stop.raise();
    }
}

/// From now on the first SIGINT, SIGTERM or SIGHUP raises the returned signal, which [`check`]
/// notices.
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
pub fn check() -> Result<()> {
    match STOP.get().is_some_and(StopSignal::is_raised) {
        true => Err("interrupted; the same command goes on where it stopped".into()),
        false => Ok(()),
    }
}
