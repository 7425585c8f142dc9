//! Tests of load: the engine against servers that behave badly, and the command.

mod command;
mod engine;
mod requests;
mod server;
