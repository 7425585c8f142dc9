//! Tests of load: the engine against servers that behave badly, and the command.

mod between;
mod bodies;
mod capacity;
mod command;
mod engine;
mod fleet;
mod http2;
mod misbehaving;
mod nginx;
mod outputs;
pub mod readers;
mod requests;
pub mod server;
mod tls;
pub mod tls_server;
