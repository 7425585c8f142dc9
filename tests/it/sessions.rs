//! Tests of the store, of what is reported from it, and of the verbs `sessions` and `report`.

mod damaged;
mod push;
mod readers;
mod reports;
pub mod sample;
mod store;
pub use store::{filled, mount_small_disk};
mod verbs;
pub use verbs::sweetspot;
