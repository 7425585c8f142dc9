//! `sweetspot __ecs`: not for people; by it `tune --ecs` changes a service, looks at it and puts it
//! back. What comes of it, an error too, goes to standard output; what its session is to say to
//! people meanwhile, to standard error.

use std::path::PathBuf;

use clap::Subcommand;

use super::{Exit, UsageError, print, say};
use crate::session::ecs::{self, EcsError, PutBack, ServiceName};

#[derive(Subcommand)]
pub enum What {
    /// Has a service run with the variables that our own environment names.
    Apply(Service),
    /// Fails where it no longer runs what was applied last.
    Check(Service),
    /// Puts it back to what the record says.
    Restore {
        #[arg(long)]
        record: PathBuf,
    },
}

#[derive(clap::Args)]
pub struct Service {
    /// CLUSTER/SERVICE.
    service: String,
    #[arg(long)]
    record: PathBuf,
}

impl Service {
    fn name(&self) -> Result<ServiceName, UsageError> {
        self.service.parse().map_err(|_| UsageError::of(&self.service))
    }
}

pub fn run(what: &What) -> anyhow::Result<Exit> {
    match what {
        What::Apply(of) => in_session(ecs::apply(&of.name()?, &of.record)),
        What::Check(of) => in_session(ecs::check(&of.name()?, &of.record)),
        What::Restore { record } => match ecs::restore(record) {
            Ok(PutBack { said, left }) => {
                print(format!("{said}\n"))?;
                left.iter().for_each(say);
                Ok(Exit::Done)
            }
            Err(error) => failed(&error, Exit::CouldNotMeasure),
        },
    }
}

/// What a setting came to, or a look at one, for the session that goes on or does not.
fn in_session(done: Result<(), EcsError>) -> anyhow::Result<Exit> {
    match done {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.is_of_setting() => failed(&error, Exit::CouldNotMeasure),
        Err(error) => failed(&error, Exit::EndsSession),
    }
}

fn failed(error: &EcsError, exit: Exit) -> anyhow::Result<Exit> {
    print(format!("{error}\n"))?;
    Ok(exit)
}
