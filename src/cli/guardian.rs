//! `sweetspot __guardian`: not for people; see `place/local/guardian.rs`.

use anyhow::Context;

use super::Exit;

pub fn run() -> anyhow::Result<Exit> {
    crate::session::guardian::run().context("the guardian cannot work here")?;
    Ok(Exit::Done)
}
