//! What an app's container used, read from inside it: CPU, memory, and how long its quota held it
//! back.
//!
//! In: lines that a shell prints in the container ([`SCRIPT`]). Out: what a monitor on the node
//! would have recorded, as far as it is seen from there. Only computes: whoever runs the shell
//! hands its lines to [`Looks`], two looks in a row to [`second()`], and the last to [`memory()`].

mod look;
mod memory;
mod read;
mod roles;
mod script;
mod second;

pub use look::{Look, Process};
pub use memory::memory;
pub use read::Looks;
pub use script::{SCRIPT, script};
pub use second::{blind_spots, second};

#[cfg(test)]
mod tests;
