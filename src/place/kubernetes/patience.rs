//! An API server that is away for a while.
//!
//! In: what is asked. Out: its answer, once there is one.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::api::{Api, ApiError, items};

/// For it to answer again.
pub const OUTAGE: Duration = Duration::from_secs(60);

/// Between two looks at what is to come.
pub const LOOK: Duration = Duration::from_millis(500);

/// Asks again while the API server does not answer, for a minute.
///
/// # Errors
/// It has answered with one, or not at all.
pub fn patiently<T>(mut ask: impl FnMut() -> Result<T, ApiError>) -> Result<T, ApiError> {
    let began = Instant::now();
    loop {
        match ask() {
            Err(error) if error.is_passing() && began.elapsed() < OUTAGE => thread::sleep(LOOK),
            done => return done,
        }
    }
}

/// The objects of a list, asked for again as [`patiently`] does.
///
/// # Errors
/// The list may not be read, or the API server does not answer.
pub fn list(api: &dyn Api, path: &str) -> Result<Vec<Value>, ApiError> {
    Ok(items(patiently(|| api.get(path))?))
}
