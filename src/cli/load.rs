//! `sweetspot load`: arguments.

use super::Exit;

/// Runs one load and prints one result.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let _ = arguments;
    anyhow::bail!("not built yet")
}
