//! `sweetspot __order`: not for people; see `fleet/orders.rs`.

use std::net::SocketAddr;

use anyhow::Context;

use super::Exit;
use crate::session::load::hand_over;

#[derive(clap::Args)]
pub struct Arguments {
    /// Where a collector is told what to send.
    collector: SocketAddr,
    /// What it is told, as JSON.
    order: String,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    hand_over(arguments.collector, &arguments.order).context("the order was not taken")?;
    Ok(Exit::Done)
}
