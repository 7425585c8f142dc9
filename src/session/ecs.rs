//! A service of AWS ECS: what its task may use, and what this program does when it is run to change
//! it or to put it back.

use std::env;
use std::path::Path;

use serde::Serialize;

use crate::place::ecs::{self, Restored};
use crate::place::remote;

pub use crate::place::ecs::{EcsError, ServiceName, check, task};
pub use crate::place::remote::ENDS_SESSION;

/// Has a service run with the variables that this program was given for it. `record`: where it is
/// written down what it was before.
///
/// # Errors
/// It does not come up, or AWS says no.
pub fn apply(name: &ServiceName, record: &Path) -> Result<(), EcsError> {
    let value = |name: &str| env::var(name).ok();
    ecs::apply(name, &remote::given(value), record, remote::given_time(value))
}

/// What came of putting a service back, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PutBack {
    pub said: String,
    /// What stays as somebody else has set it: a line each that can stand alone.
    pub left: Vec<String>,
}

/// Puts a service back to what that file says.
///
/// # Errors
/// It does not become stable, or AWS says no; done again, it goes on.
pub fn restore(record: &Path) -> Result<PutBack, EcsError> {
    ecs::restore(record).map(in_words)
}

/// The same, where that file is gone, by what our revisions of the service say. `store`: where
/// results are kept, with a file of ours beside.
///
/// # Errors
/// As [`restore`]; also where there is no such service.
pub fn restore_by_note(name: &ServiceName, store: &Path) -> Result<PutBack, EcsError> {
    let record = name.record(store.parent().unwrap_or(store));
    ecs::restore_by_note(name, &record).map(in_words)
}

fn in_words(restored: Option<Restored>) -> PutBack {
    let Some(Restored { name, left }) = restored else {
        return PutBack { said: "nothing has been changed".to_string(), left: Vec::new() };
    };
    let said = match left.is_empty() {
        true => format!("service {name} is as it was before the session"),
        false => format!("service {name} is put back, but for what somebody else set meanwhile"),
    };
    let left = left.iter().map(|one| format!("service {name}: {one}")).collect();
    PutBack { said, left }
}
