//! `sweetspot tune`: arguments.

use super::Exit;

/// Finds the configuration for the app in this folder.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let _ = arguments;
    anyhow::bail!("not built yet")
}
