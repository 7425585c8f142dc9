//! What of this machine or the guardian keeps us from measuring.
//!
//! In: what was tried. Out: errors.

use std::io;

use super::orders::Reply;
use crate::place::PlaceError;

pub fn environment(what: impl Into<String>, source: io::Error) -> PlaceError {
    PlaceError::Environment { what: what.into(), source }
}

pub fn guardian_gone() -> PlaceError {
    let gone = io::Error::from(io::ErrorKind::BrokenPipe);
    environment("reach the guardian, which somebody has killed: run the command again", gone)
}

pub fn unexpected(what: &str, reply: &Reply) -> PlaceError {
    let message = match reply {
        Reply::Refused { message } | Reply::NotStarted { message, .. } => message.clone(),
        other => format!("the guardian answered {other:?}"),
    };
    environment(what, io::Error::other(message))
}
