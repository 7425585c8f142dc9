//! What the benches share: options, rows that a cut run goes on with, spreads, tables, bars, and
//! what they start.

pub mod bars;
pub mod bonds;
pub mod capacity;
pub mod command;
pub mod interrupt;
pub mod machine;
pub mod options;
pub mod played;
pub mod process;
pub mod rows;
pub mod seeds;
pub mod site;
pub mod spread;
pub mod table;
pub mod trial;
pub mod tuned;
pub mod workload;

use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The command as users run it; it is also the guardian.
pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_sweetspot"))
}

/// A path of the checkout.
pub fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
