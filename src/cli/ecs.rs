//! `sweetspot __ecs`: not for people; what `tune --ecs` changes a service and puts it back by.

use std::path::PathBuf;

use clap::Subcommand;

use super::{Exit, UsageError, print};
use crate::session::ecs;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Has a service run with the variables that our own environment names.
    Apply {
        /// CLUSTER/SERVICE.
        service: String,
        #[arg(long)]
        record: PathBuf,
    },
    /// Puts it back to what the record says.
    Restore {
        #[arg(long)]
        record: PathBuf,
    },
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    match &arguments.what {
        What::Apply { service, record } => {
            let name = service.parse().map_err(|_| UsageError { message: service.clone() })?;
            ecs::apply(&name, record)?;
        }
        What::Restore { record } => print(ecs::restore(record)? + "\n")?,
    }
    Ok(Exit::Done)
}
