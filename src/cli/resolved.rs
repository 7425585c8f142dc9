//! The plan of a tune or a verification, and where its app runs.
//!
//! In: what was typed. Out: a plan of what there is, here or elsewhere.

use std::path::Path;

use super::UsageError;
use super::exit::{of_connection, of_load};
use super::turn::TurnArgument;
use crate::plan::{self, Cluster, Key, Plan, Platform, Remote, Surroundings, Typed};
use crate::session::cluster::{self, Found};
use crate::session::ecs::{self, ServiceName};
use crate::session::remote::{self, Destination};
use crate::session::turn::{Turn, TurnError};
use crate::terms::StopSignal;

/// Where the plan's app runs.
pub enum Reached {
    /// It is started on this machine.
    Here,
    Cluster(Found, Cluster),
    /// It runs anywhere, and a command of the user's changes it.
    Remote(Destination, Remote),
}

impl Reached {
    /// The machine, for as long as what is returned is kept. In a cluster nothing runs here that
    /// others could disturb, and next to nothing where another host sends the load, which takes a
    /// turn there: it may be this one.
    pub fn turn(
        &self,
        turn: TurnArgument,
        store: &Path,
        stop: &StopSignal,
    ) -> Result<Option<Turn>, TurnError> {
        match self {
            Self::Cluster(..) => Ok(None),
            Self::Remote(_, remote) if remote.from.is_some() => turn.take_shared(stop).map(Some),
            Self::Here | Self::Remote(..) => turn.take_with_store(store, stop).map(Some),
        }
    }
}

/// The plan, and where its app runs.
pub fn resolve(typed: &Typed, surroundings: &Surroundings) -> anyhow::Result<(Plan, Reached)> {
    let plan = plan::resolve(typed, surroundings).map_err(UsageError::of)?;
    if let Some(remote) = plan.remote.clone() {
        let to = remote::destination(&remote).map_err(of_load)?;
        return match remote.by.clone() {
            Platform::Ecs(name) => of_ecs(typed, surroundings, (to, remote), &name),
            platform @ (Platform::Any | Platform::Kamal { .. }) => {
                // A destination's own configuration may have another command.
                if platform == (Platform::Kamal { destination: None }) {
                    let command = plan::command_of_kamal(&plan.app.folder);
                    refuse_fixed(&plan, &command, "config/deploy.yml")?;
                }
                let remote = Remote { release: remote::release(&remote)?, ..remote };
                let plan = Plan { remote: Some(remote.clone()), ..plan };
                Ok((plan, Reached::Remote(to, remote)))
            }
        };
    }
    let Some(asked) = plan.cluster.clone() else { return Ok((plan, Reached::Here)) };
    let (context, namespace) = (asked.context.as_deref(), asked.namespace.as_deref());
    let found = cluster::connect(context, namespace, plan.assume_yes).map_err(of_connection)?;
    // What a container may use is not what this machine has.
    let typed = typed.clone().with(Key::Namespace, found.namespace.as_str());
    let there = cluster::surroundings(&found, &asked, surroundings)?;
    let plan = match there {
        Some((container, there)) => plan::resolve(&typed.with(Key::Container, container), &there),
        None => plan::resolve(&typed, surroundings),
    };
    let plan = plan.map_err(UsageError::of)?;
    let cluster = plan.cluster.clone().unwrap_or(asked);
    Ok((plan, Reached::Cluster(found, cluster)))
}

/// What is tried by variables has to be left to them by the command that starts the app.
fn refuse_fixed(plan: &Plan, command: &str, file: &str) -> Result<(), UsageError> {
    let Some(flags) = plan::fixed_flags(command, plan) else { return Ok(()) };
    Err(UsageError::of(format!(
        "{file} starts the app with {flags}, which comes before the variables that are tried: \
         whatever the setting, it would run with that; leave it out of the command there, or say \
         with --workers, --threads and --today that nothing else is tried"
    )))
}

/// What a service's task may use and runs with is known of AWS alone.
fn of_ecs(
    typed: &Typed,
    surroundings: &Surroundings,
    (to, remote): (Destination, Remote),
    name: &ServiceName,
) -> anyhow::Result<(Plan, Reached)> {
    let task = ecs::task(name, &remote.url.host)?;
    let typed = match (remote.today, task.today) {
        (None, Some(today)) => typed.clone().with(Key::Today, today.to_string()),
        _ => typed.clone(),
    };
    let there = Surroundings { elsewhere: task.size, ..surroundings.clone() };
    let plan = plan::resolve(&typed, &there).map_err(UsageError::of)?;
    refuse_fixed(&plan, &task.command, "the task definition")?;
    if task.size.is_none() && (plan.cores.is_none() || plan.memory.is_none()) {
        return Err(UsageError::of(format!(
            "the task of {name} says no size; say what the app may use there, such as --cpus 1 \
             --memory 2GiB"
        ))
        .into());
    }
    let remote = plan.remote.clone().unwrap_or(remote);
    let (release, reserved) = (Some(task.revision), Some(task.reserved));
    let remote = Remote { release, reserved, ..remote };
    let plan = Plan { remote: Some(remote.clone()), ..plan };
    Ok((plan, Reached::Remote(to, remote)))
}
