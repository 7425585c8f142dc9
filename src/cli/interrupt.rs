//! Ctrl-C and SIGTERM become a [`StopSignal`] that the stages look at.

use std::sync::OnceLock;

use crate::terms::StopSignal;

static SIGNAL: OnceLock<StopSignal> = OnceLock::new();

/// What the first Ctrl-C is answered with, so that it is seen to have arrived.
static ANSWER: OnceLock<&str> = OnceLock::new();

extern "C" fn raise(number: libc::c_int) {
    // Only an atomic is touched and bytes are written: both are allowed in a signal handler.
    let Some(signal) = SIGNAL.get() else { return };
    if let Some(answer) = ANSWER.get().filter(|_| number == libc::SIGINT && !signal.is_raised()) {
        // SAFETY: the bytes live as long as the program. What cannot be written is not missed.
        unsafe { libc::write(libc::STDERR_FILENO, answer.as_ptr().cast(), answer.len()) };
    }
    signal.raise();
}

/// As [`install`]; the first Ctrl-C says that the answer so far is on its way.
pub fn install_with_answer() -> StopSignal {
    ANSWER.get_or_init(|| "\nstopping; press Ctrl-C again to stop at once\n");
    install()
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
