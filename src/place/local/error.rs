//! What of this machine or the guardian keeps us from measuring.
//!
//! In: what was tried. Out: errors.

use std::io;

use super::orders::Reply;
use crate::place::PlaceError;
use crate::terms::Task;

pub fn environment(what: Task, source: io::Error) -> PlaceError {
    PlaceError::Environment { what, source }
}

pub fn guardian_gone() -> PlaceError {
    environment(Task::ReachGuardian, io::ErrorKind::BrokenPipe.into())
}

pub fn unexpected(what: Task, reply: &Reply) -> PlaceError {
    let message = match reply {
        Reply::Refused { message } | Reply::NotStarted { message, .. } => message.clone(),
        other => format!("the guardian answered {other:?}"),
    };
    environment(what, io::Error::other(message))
}
