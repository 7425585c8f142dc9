//! `sweetspot sessions`: arguments.

use super::Exit;

/// Lists, shows and removes stored sessions.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let _ = arguments;
    anyhow::bail!("not built yet")
}
