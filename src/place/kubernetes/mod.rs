//! Pods of a Kubernetes cluster: generators that send a load together.
//!
//! Nothing is installed in the cluster, and no controller of ours runs there: what is made is Jobs,
//! which the first of them owns, each with a deadline, so that the cluster itself removes what an
//! interrupted run leaves.
//!
//! In: a load's arguments, and what pods are to be like. Out: what the collector's pod says, line
//! by line. Everything goes through [`Api`], behind which is a cluster or, in tests, a list of
//! objects.

mod api;
#[cfg(feature = "kubernetes")]
mod client;
mod fleet;
mod objects;
mod pods;

pub use api::{Api, ApiError, Lines};
#[cfg(feature = "kubernetes")]
pub use client::Client;
pub use fleet::{Fleet, FleetError, Order};
pub use objects::PodOf;
