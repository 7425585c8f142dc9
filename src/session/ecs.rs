//! A service of AWS ECS: what its task may use, and what this program does when it is run to change
//! it or to put it back.

use std::env;
use std::path::Path;

use crate::place::ecs::{self, EcsError, Task};
use crate::place::remote;

pub use crate::place::ecs::ServiceName;

/// What the app of a service may use, and what it runs with. Changes nothing.
///
/// # Errors
/// There is no such service, it cannot be tuned as it stands, or AWS says no.
pub fn task(name: &ServiceName) -> Result<Task, EcsError> {
    ecs::task(name)
}

/// Has a service run with the variables that this program was given for it. `record`: where it is
/// written down what it was before.
///
/// # Errors
/// It does not come up, or AWS says no.
pub fn apply(name: &ServiceName, record: &Path) -> Result<(), EcsError> {
    let value = |name: &str| env::var(name).ok();
    ecs::apply(name, &remote::given(value), record, remote::given_time(value))
}

/// Puts a service back to what that file says; what is to be said of it.
///
/// # Errors
/// It does not become stable, or AWS says no.
pub fn restore(record: &Path) -> Result<String, EcsError> {
    Ok(match ecs::restore(record)? {
        Some((name, restored)) => format!("service {name} {}", restored.in_words()),
        None => "nothing has been changed".to_string(),
    })
}
