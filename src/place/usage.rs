//! What an app's container or machine used, read from inside it: CPU, memory, and how long its
//! quota held it back.
//!
//! In: lines that a shell prints in it ([`script()`]). Out: what a monitor on the node
//! would have recorded, as far as it is seen from there. Only computes: whoever runs the shell
//! hands its lines to [`Looks`], two looks in a row to [`second()`], the last to [`memory()`], and
//! the records of several pods to [`together()`].

mod look;
mod machine;
mod memory;
mod read;
mod roles;
mod script;
mod second;
mod together;

pub use look::Look;
pub use machine::of_app;
pub use memory::memory;
pub use read::Looks;
pub use script::script;
pub use second::{blind_spots, second};
pub use together::together;

#[cfg(test)]
mod tests;
