//! Tests of load: the engine against servers that behave badly, and the command.

mod between;
mod capacity;
mod command;
mod engine;
mod server;
