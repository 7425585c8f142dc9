//! One engine for every load shape: connections, sending, reading, recording.
//!
//! In: a [`LoadSpec`]. Out: a [`LoadRecord`](crate::terms::LoadRecord), one entry a second. It
//! concludes nothing (that is `summary`'s work) and knows nothing of app servers.
//!
//! Files are compiled apart (`incremental`, see `Cargo.toml`): what one calls of another for each
//! request says `#[inline]`, or costs a call each time (a quarter of all instructions, in all).

mod batching;
mod clock;
mod context;
mod cookies;
mod coordinator;
mod dialer;
mod durations;
mod error;
mod event_loop;
mod exchange;
mod held;
mod http2;
mod lifecycle;
mod poller;
mod recorder;
mod reply;
mod request;
mod rows;
mod scheduler;
mod setup;
// When requests are due is computed, in whatever time there is.
#[cfg_attr(not(test), warn(clippy::disallowed_methods))]
pub mod shape;
mod sink;
mod slab;
mod socket;
mod source;
mod spec;
mod thread;
mod tls;
mod transport;

pub use clock::monotonic_ns;
pub use coordinator::{Callbacks, check, run, stream};
pub use error::LoadError;
#[cfg(fuzzing)]
pub use http2::{FuzzedConnection, fuzzed};
#[cfg(fuzzing)]
pub use reply::{HeadCache, Malformed, Progress, Reply};
pub use request::Variables;
pub use spec::{Address, Closing, Length, LoadSpec, Placement, Protocol};
pub use thread::{come_before_the_server, confine, priority_permitted, raise_descriptor_limit};
pub use tls::{TlsOptions, TlsSettings};
