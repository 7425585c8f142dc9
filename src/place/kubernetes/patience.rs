//! An API server that is away for a while.
//!
//! In: what is asked. Out: its answer, once there is one.

use std::thread;
use std::time::{Duration, Instant};

use super::api::ApiError;

/// For it to answer again, and between two tries.
pub const OUTAGE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(500);

/// Asks again while the API server does not answer, for a minute.
///
/// # Errors
/// It has answered with one, or not at all.
pub fn patiently<T>(mut ask: impl FnMut() -> Result<T, ApiError>) -> Result<T, ApiError> {
    let began = Instant::now();
    loop {
        match ask() {
            Err(error) if error.is_passing() && began.elapsed() < OUTAGE => thread::sleep(RETRY),
            done => return done,
        }
    }
}
