pub mod stats;
pub mod terms;
