//! The one integration binary: a module a subject.

mod bench_diagnosis;
mod bench_load;
mod bench_sensitivity;
pub mod bench_tune;
mod blocks;
mod bootstrap;
#[path = "../../bench/common/mod.rs"]
pub mod common;
mod compare;
mod doctor;
mod failures;
mod fuzz;
mod gem;
mod goals;
mod hold;
mod knobs;
mod kubernetes;
mod lab;
mod load;
mod mix;
mod monitor;
mod page;
mod place;
mod plan;
mod predict;
mod process;
mod published;
mod rails;
mod remote;
mod schema;
mod serve;
mod sessions;
mod soak;
mod tidy;
mod tune;
mod turn;
mod verify;
