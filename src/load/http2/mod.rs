//! HTTP/2 (RFC 9113) as a client that sends the same few requests again and again needs it.
//!
//! In: targets, bytes from servers. Out: bytes to servers, what became of requests. Nothing in here
//! knows a socket, a clock or a record; `exchange/http2.rs` does.

mod connection;
mod frame;
#[cfg(any(test, fuzzing))]
mod fuzzed;
mod hpack;
mod outgoing;
mod request;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

pub use connection::Multiplexed;
#[cfg(fuzzing)]
pub use fuzzed::{FuzzedConnection, fuzzed};
pub use request::Http2Request;
pub use settings::is_greeting;
pub use stream::EndedStream;
