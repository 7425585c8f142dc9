//! `sweetspot __node`: not for people; see `place/kubernetes/on_nodes.rs`.

use std::thread::sleep;
use std::time::Duration;

use super::{Exit, print};
use crate::session::doctor;

#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds to stay, once it is said.
    #[arg(default_value_t = 0)]
    stay: u16,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    print(serde_json::to_string(&doctor::this_node())? + "\n")?;
    sleep(Duration::from_secs(arguments.stay.into()));
    Ok(Exit::Done)
}
