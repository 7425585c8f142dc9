//! Tests of the store, of what is reported from it, and of the verbs `sessions` and `report`.

mod bad_input;
mod damaged;
pub mod long;
mod older;
pub mod push;
mod readers;
mod reports;
pub mod sample;
mod store;
pub use store::{change, filled, head, mount_small_disk};
mod verbs;
