//! `sweetspot watch`: arguments.

use super::Exit;

/// Shows what a running server's processes use.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let _ = arguments;
    anyhow::bail!("not built yet")
}
