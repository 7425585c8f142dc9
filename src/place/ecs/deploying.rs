//! A deployment: asked for, waited for, and what is left of it removed.
//!
//! In: a service's name and a revision. Out: it runs that; or why it does not.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::aws::{AwsError, ask};
use super::error::EcsError;
use super::name::ServiceName;
use super::record::Before;
use super::service::{DeploymentConfiguration, Rollout, Service};

/// Between two looks at a deployment.
pub const LOOK: Duration = Duration::from_secs(2);

/// A task that is loaded to its limit answers health checks late, and is not to be replaced for it.
pub const GRACE_S: u32 = 24 * 60 * 60;

/// One task is tuned, so that what is measured is what one has.
pub const TASKS: u32 = 1;

/// The `minimumHealthyPercent` of a service that is tuned and whose own limits leave no room to
/// replace a task: it may end before the next one is there.
pub const MINIMUM_HEALTHY_PERCENT: u32 = 0;

/// A service as it is now.
///
/// # Errors
/// There is no such service, or AWS says no.
pub fn describe(name: &ServiceName) -> Result<Service, EcsError> {
    const OPERATION: &str = "describe-services";
    let asked = ["--cluster", &name.cluster, "--services", &name.service];
    let found = ask(("ecs", OPERATION), &asked, None)?;
    let one = found["services"].get(0).ok_or_else(|| EcsError::NoService {
        cluster: name.cluster.clone(),
        service: name.service.clone(),
    })?;
    let read = serde_json::from_value(one.clone());
    read.map_err(|why| AwsError::Odd { operation: OPERATION.into(), why: why.to_string() }.into())
}

/// A task definition and its tags.
///
/// # Errors
/// As AWS says it.
pub fn definition_of(arn: &str) -> Result<(Value, Value), EcsError> {
    let asked = ["--task-definition", arn, "--include", "TAGS"];
    let found = ask(("ecs", "describe-task-definition"), &asked, None)?;
    Ok((found["taskDefinition"].clone(), found["tags"].clone()))
}

/// Has the service run this many tasks of a revision. `is_started_afresh`: also where it runs it.
///
/// # Errors
/// As AWS says it.
pub fn update(
    name: &ServiceName,
    (definition, tasks): (&str, u32),
    grace_s: Option<u32>,
    is_started_afresh: bool,
) -> Result<(), EcsError> {
    let mut request = json!({
        "cluster": name.cluster,
        "service": name.service,
        "taskDefinition": definition,
        "desiredCount": tasks,
        "forceNewDeployment": is_started_afresh,
    });
    if let Some(grace_s) = grace_s {
        request["healthCheckGracePeriodSeconds"] = json!(grace_s);
    }
    Ok(ask(("ecs", "update-service"), &[], Some(&request)).map(drop)?)
}

/// Sets its `minimumHealthyPercent`; all else of how it is deployed stays. No deployment begins.
///
/// # Errors
/// As AWS says it.
pub fn set_minimum_healthy(
    name: &ServiceName,
    service: &Service,
    percent: u32,
) -> Result<(), EcsError> {
    let now = service.deployment_configuration.clone().unwrap_or_default();
    let then = DeploymentConfiguration { minimum_healthy_percent: Some(percent), ..now };
    let request = json!({
        "cluster": name.cluster,
        "service": name.service,
        "deploymentConfiguration": then,
    });
    Ok(ask(("ecs", "update-service"), &[], Some(&request)).map(drop)?)
}

/// Waits until all tasks are of this revision; of which deployment, as far as AWS says. `longer`:
/// what gives it more time than this.
///
/// # Errors
/// It does not come up in time, somebody else deploys another, or AWS says no.
pub fn wait(
    name: &ServiceName,
    (definition, before): (&str, &Before),
    (patience, longer): (Duration, &'static str),
) -> Result<Option<String>, EcsError> {
    let began = Instant::now();
    loop {
        let service = describe(name)?;
        match service.rollout(definition) {
            Rollout::Done => return Ok(service.primary().and_then(|it| it.id.clone())),
            Rollout::Failed { why } => {
                let why = format!("{why}{}", last_words(name, &before.own_family));
                return Err(EcsError::DoesNotComeUp { why });
            }
            Rollout::Others { definition } if !before.knows(&definition) => {
                return Err(EcsError::Others { definition });
            }
            // What it ran before is told for a moment more.
            Rollout::Others { .. } | Rollout::GoesOn => {}
        }
        if began.elapsed() >= patience {
            let minutes = patience.as_secs() / 60;
            let why = format!("{}{}", service.last_event(), last_words(name, &before.own_family));
            return Err(EcsError::TooLate { minutes, longer, why });
        }
        thread::sleep(LOOK);
    }
}

/// Why the last task of ours ended; empty: none has, or it is not known.
fn last_words(name: &ServiceName, family: &str) -> String {
    let cluster = ["--cluster", name.cluster.as_str()];
    let of_ours = ["--family", family, "--desired-status", "STOPPED"];
    let listed = ask(("ecs", "list-tasks"), &[&cluster[..], &of_ours].concat(), None);
    let task = |listed: &Value| Some(listed["taskArns"].as_array()?.first()?.as_str()?.to_string());
    let Some(task) = listed.ok().as_ref().and_then(task) else { return String::new() };
    let asked = [&cluster[..], &["--tasks", &task]].concat();
    let Ok(told) = ask(("ecs", "describe-tasks"), &asked, None) else { return String::new() };
    let task = &told["tasks"][0];
    let containers = task["containers"].as_array().into_iter().flatten().filter_map(|it| {
        let (name, reason) = (it["name"].as_str()?, it["reason"].as_str().unwrap_or_default());
        let status = it["exitCode"].as_i64()?;
        Some(format!("\ncontainer {name}: exit status {status} {reason}").trim_end().to_string())
    });
    let stopped = task["stoppedReason"].as_str().unwrap_or_default();
    std::iter::once(format!("\n{stopped}")).chain(containers).collect()
}

/// Revisions of ours, which nobody runs any more.
///
/// # Errors
/// As AWS says it.
pub fn deregister(family: &str) -> Result<(), EcsError> {
    let listed = ask(("ecs", "list-task-definitions"), &["--family-prefix", family], None)?;
    let all = listed["taskDefinitionArns"].as_array().into_iter().flatten();
    for arn in all.filter_map(Value::as_str) {
        ask(("ecs", "deregister-task-definition"), &["--task-definition", arn], None)?;
    }
    Ok(())
}
