//! `sweetspot report`: arguments.

use super::Exit;

/// Writes a report of a stored session.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let _ = arguments;
    anyhow::bail!("not built yet")
}
