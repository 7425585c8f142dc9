pub use sweetspot_terms::{stats, terms};
pub mod report;
