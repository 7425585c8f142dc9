//! Bad input and bad luck, end to end: the real command with real Puma, and nothing left of it.

mod app;
mod disk;
pub mod killed;
mod killed_both;
pub mod nothing_left;
mod output;
mod root;
mod secrets;
pub mod site;
mod stopped;
mod two_at_once;
pub mod unprivileged;

pub use disk::limit_file_size;
pub use killed::random;
use site::{Site, configuration};
