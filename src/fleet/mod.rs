//! Several generators that send one load together, each from its own process, machine or pod.
//!
//! A *collector* waits for them, gives each its part, measures how far their clocks are from its
//! own, has all begin at one moment, and adds up what they record, second by second and without
//! loss. A *generator* joins, sends its part with `load`'s engine, and tells what became of it.
//!
//! In: a load that all were given alike. Out: one record, and what is known of each generator. It
//! concludes nothing: whether the load is valid `summary` says.

mod clocks;
mod collector;
mod error;
mod generator;
mod hosts;
mod identifier;
mod merge;
mod message;
mod orders;
mod relay;
mod wire;

pub use collector::{Collector, Gathered, OnLoss};
pub use error::FleetError;
pub use generator::{Membership, join};
pub use hosts::{FOLDER, ForHosts, Host, Hosts, gather_hosts};
pub use identifier::identifier;
pub use message::{Gate, Load, Offer};
pub use orders::{Order, Orders, hand_over};
pub use relay::Relay;

/// Whoever has another value of this variable may not join.
pub const TOKEN: &str = "SWEETSPOT_FLEET_TOKEN";
