//! Verbs that are not for people: processes of ours are started with them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context as _;

use super::{Exit, ecs, print};
use crate::session::load::hand_over;
use crate::session::{doctor, guardian};

#[derive(clap::Subcommand)]
pub enum Hidden {
    // See `place/local/guardian.rs`.
    #[command(hide = true, name = "__guardian")]
    Guardian {
        /// Wait for the end of the guardian whose record this is, and end what it left.
        #[arg(long, requires = "parent")]
        after: Option<PathBuf>,
        /// Who does that itself as long as it lives.
        #[arg(long, requires = "after")]
        parent: Option<u32>,
    },
    #[command(hide = true, name = "__ecs", subcommand)]
    Ecs(ecs::What),
    // See `fleet/orders.rs`.
    #[command(hide = true, name = "__order")]
    Order {
        /// Where a collector is told what to send.
        collector: SocketAddr,
        /// What it is told, as JSON.
        order: String,
    },
    // See `place/kubernetes/on_nodes.rs`.
    #[command(hide = true, name = "__node")]
    Node {
        /// Seconds to stay, once it is said.
        #[arg(default_value_t = 0)]
        stay: u16,
    },
}

pub fn run(verb: Hidden) -> anyhow::Result<Exit> {
    match verb {
        Hidden::Guardian { after, parent } => {
            let after = after.as_deref().zip(parent);
            guardian::run(after).context("the guardian cannot work here")?;
        }
        Hidden::Ecs(what) => return ecs::run(&what),
        Hidden::Order { collector, order } => {
            hand_over(collector, &order).context("the order was not taken")?;
        }
        Hidden::Node { stay } => {
            print(serde_json::to_string(&doctor::this_node())? + "\n")?;
            sleep(Duration::from_secs(stay.into()));
        }
    }
    Ok(Exit::Done)
}
