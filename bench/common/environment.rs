//! Environment variables that change how a bench runs.

use std::str::FromStr;

use crate::Result;

/// # Errors
/// The variable is set to something else than such a number.
pub fn number<T: FromStr>(name: &str, default: T) -> Result<T> {
    match std::env::var(name) {
        Ok(text) => text.parse().map_err(|_| format!("{name}: '{text}' is no such number").into()),
        Err(_) => Ok(default),
    }
}
