pub use sweetspot_terms::{stats, terms};
#[cfg(test)]
use sweetspot_report::report;
pub mod lab;
pub mod load;
pub mod model;
pub mod monitor;
pub mod place;
pub mod plan;
pub mod search;
pub mod server;
pub mod store;
pub mod summary;
pub mod trial;
