//! x
use std::time::Duration;
pub fn run(_: u64, _: u64, _: Duration) -> crate::Result<()> {
    Ok(())
}
