//! `sweetspot __guardian`: not for people; see `place/local/guardian.rs`.

use std::path::PathBuf;

use anyhow::Context;

use super::Exit;

#[derive(clap::Args)]
pub struct Arguments {
    /// Wait for the end of the guardian whose record this is, and end what it left.
    #[arg(long, requires = "parent")]
    after: Option<PathBuf>,
    /// Who does that itself as long as it lives.
    #[arg(long, requires = "after")]
    parent: Option<u32>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let after = arguments.after.as_deref().zip(arguments.parent);
    crate::session::guardian::run(after).context("the guardian cannot work here")?;
    Ok(Exit::Done)
}
