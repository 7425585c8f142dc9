//! `sweetspot __guardian`: not for people; see `place/local/guardian.rs`.

use super::Exit;

pub fn run() -> anyhow::Result<Exit> {
    anyhow::bail!("not built yet")
}
