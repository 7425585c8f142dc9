//! A Kubernetes cluster: pods that send a load together, and a Deployment whose pods are tuned.
//!
//! Nothing is installed in the cluster, and no controller of ours runs there. Generators are Jobs,
//! which the first of them owns, each with a deadline, so that the cluster itself removes what an
//! interrupted run leaves. A Deployment that is tuned carries what it was before.
//!
//! In: a load's arguments and what pods are to be like, or a Deployment's name. Out: what the
//! collector's pod says, or a place for trials. Everything goes through [`Api`], behind which is a
//! cluster or, in tests, a list of objects.

mod alike;
mod api;
mod autoscaler;
mod changing;
#[cfg(feature = "kubernetes")]
mod client;
mod collector;
mod deployment;
mod error;
mod fields;
mod fitness;
mod fleet;
mod found;
mod lease;
mod loads;
mod lost;
mod made;
#[cfg(any(test, feature = "kubernetes"))]
mod no_proxy;
mod node;
mod objects;
mod on_nodes;
mod own_app;
mod paths;
mod patience;
mod pods;
mod quantity;
#[cfg(any(test, feature = "kubernetes"))]
mod refusal;
mod replica_sets;
mod reserved;
mod resize;
mod rights;
mod running;
mod service;
mod shared_node;
mod template;
mod trials;
mod user;
mod version;

pub use alike::Alike;
pub use api::{Api, ApiError, Lines};
pub use changing::{ChangeError, Restored, remove_generators, restore};
#[cfg(feature = "kubernetes")]
pub use client::Client;
pub use collector::Said;
pub use fitness::{Fitness, look};
pub use fleet::{Fleet, FleetError, Order};
pub use found::machine_of;
pub use lease::{Lease, LeaseError};
pub use objects::{GRACE, PodOf};
pub use on_nodes::look as look_from_nodes;
pub use own_app::OwnApp;
pub use template::{Template, TemplateError};
pub use trials::{Pods, PodsSettings};
pub use version::{OLDEST, too_old};
