//! The plan of a tune or a verification, and the cluster that it names.
//!
//! In: what was typed. Out: a plan of what there is, here or in the cluster.

use super::UsageError;
use super::exit::of_connection;
use crate::plan::{self, Key, Plan, PlanError, Surroundings, Typed};
use crate::session::cluster::{self, Found};

/// The plan, and the cluster that it names.
pub fn resolve(
    typed: &Typed,
    surroundings: &Surroundings,
) -> anyhow::Result<(Plan, Option<Found>)> {
    let usage = |error: PlanError| UsageError { message: error.to_string() };
    let plan = plan::resolve(typed, surroundings).map_err(usage)?;
    let Some(asked) = &plan.cluster else { return Ok((plan, None)) };
    let (context, namespace) = (asked.context.as_deref(), asked.namespace.as_deref());
    let found = cluster::connect(context, namespace, plan.assume_yes).map_err(of_connection)?;
    // What a container may use is not what this machine has.
    let typed = typed.clone().with(Key::Namespace, found.namespace.as_str());
    let Some((container, there)) = cluster::surroundings(&found, asked, surroundings)? else {
        return Ok((plan::resolve(&typed, surroundings).map_err(usage)?, Some(found)));
    };
    let typed = typed.with(Key::Container, container);
    Ok((plan::resolve(&typed, &there).map_err(usage)?, Some(found)))
}
