//! `sweetspot doctor`: arguments.

use super::Exit;

/// Checks whether this machine is fit to measure on.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let _ = arguments;
    anyhow::bail!("not built yet")
}
