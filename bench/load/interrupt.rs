//! Ctrl-C ends the bench between two looks at a child, so that everything started is ended and the
//! report says what there is. Pressed again it ends the bench at once, and the kernel its children.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::Result;

static IS_RAISED: AtomicBool = AtomicBool::new(false);

extern "C" fn raise(_: libc::c_int) {
    // Only an atomic is touched, which is allowed in a signal handler.
    IS_RAISED.store(true, Ordering::Relaxed);
}

/// From now on the first SIGINT, SIGTERM or SIGHUP is noticed by [`check`].
pub fn install() {
    for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler is async-signal-safe and the structure is fully initialised.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = raise as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            libc::sigaction(number, &raw const action, std::ptr::null_mut());
        }
    }
}

/// # Errors
/// The bench was interrupted.
pub fn check() -> Result<()> {
    match IS_RAISED.load(Ordering::Relaxed) {
        true => Err("interrupted; the same command goes on where it stopped".into()),
        false => Ok(()),
    }
}
