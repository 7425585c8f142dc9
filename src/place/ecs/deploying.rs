//! A deployment: asked for, waited for, and what is left of it removed.
//!
//! In: a service's name and a revision. Out: it runs that; or why it does not.

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::aws::{AwsError, ask};
use super::cloudwatch::seconds;
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

/// No more tasks are described at a time.
const TASKS_DESCRIBED: usize = 100;

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
/// What AWS answers.
///
/// # Errors
/// As AWS says it.
pub fn update(
    name: &ServiceName,
    (definition, tasks): (&str, u32),
    grace_s: Option<u32>,
    is_started_afresh: bool,
) -> Result<Value, EcsError> {
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
    Ok(ask(("ecs", "update-service"), &[], Some(&request))?)
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
                let why = format!("{why}{}", last_words(name, definition));
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
            let why = format!("{}{}", service.last_event(), last_words(name, definition));
            return Err(EcsError::TooLate { minutes, longer, why });
        }
        thread::sleep(LOOK);
    }
}

/// Why the last task of a revision ended; empty: none has, or it is not known.
fn last_words(name: &ServiceName, definition: &str) -> String {
    let ended = tasks(name, definition, "STOPPED");
    last_of(&ended, definition).map(words_of).unwrap_or_default()
}

/// The task of a revision that ended last: those of settings before it are told of for an hour, in
/// any order.
fn last_of<'a>(ended: &'a [Value], definition: &str) -> Option<&'a Value> {
    let of_it = ended.iter().filter(|it| it["taskDefinitionArn"] == definition);
    of_it.max_by_key(|it| seconds(&it["stoppedAt"]))
}

fn words_of(task: &Value) -> String {
    let containers = task["containers"].as_array().into_iter().flatten().filter_map(|it| {
        let (name, reason) = (it["name"].as_str()?, it["reason"].as_str().unwrap_or_default());
        let status = it["exitCode"].as_i64()?;
        Some(format!("\ncontainer {name}: exit status {status} {reason}").trim_end().to_string())
    });
    let stopped = task["stoppedReason"].as_str().unwrap_or_default();
    std::iter::once(format!("\n{stopped}")).chain(containers).collect()
}

/// Whether this is the address of a task that the service runs of this revision; false where it is
/// not known.
pub fn runs_at(name: &ServiceName, definition: &str, address: IpAddr) -> bool {
    tasks(name, definition, "RUNNING").iter().any(|task| is_at(task, address))
}

fn is_at(task: &Value, address: IpAddr) -> bool {
    let of = |it: &Value, key: &str| it[key].as_array().cloned().unwrap_or_default();
    let interfaces = of(task, "containers").into_iter().flat_map(|it| of(&it, "networkInterfaces"));
    let mut own =
        interfaces.flat_map(|it| [it["privateIpv4Address"].clone(), it["ipv6Address"].clone()]);
    own.any(|it| it.as_str().and_then(|text| text.parse().ok()) == Some(address))
}

/// Tasks of a revision's family that are to be like this by now; none where AWS does not say:
/// nothing hangs by them.
fn tasks(name: &ServiceName, definition: &str, status: &str) -> Vec<Value> {
    // arn:aws:ecs:REGION:ACCOUNT:task-definition/FAMILY:REVISION
    let family = definition.rsplit('/').next().and_then(|it| it.split(':').next());
    let family = ["--family", family.unwrap_or_default(), "--desired-status", status];
    let asked = [&["--cluster", name.cluster.as_str()][..], &family].concat();
    let listed = ask(("ecs", "list-tasks"), &asked, None).unwrap_or_default();
    let all = listed["taskArns"].as_array().into_iter().flatten();
    let arns: Vec<&Value> = all.take(TASKS_DESCRIBED).collect();
    if arns.is_empty() {
        return Vec::new();
    }
    let request = json!({ "cluster": name.cluster, "tasks": arns });
    let told = ask(("ecs", "describe-tasks"), &[], Some(&request)).unwrap_or_default();
    told["tasks"].as_array().cloned().unwrap_or_default()
}

/// Revisions of ours, the newest last.
///
/// # Errors
/// As AWS says it.
pub fn revisions(family: &str) -> Result<Vec<String>, EcsError> {
    let listed = ask(("ecs", "list-task-definitions"), &["--family-prefix", family], None)?;
    let all = listed["taskDefinitionArns"].as_array().into_iter().flatten();
    Ok(all.filter_map(Value::as_str).map(str::to_string).collect())
}

/// Removes revisions of ours, which nobody runs any more.
///
/// # Errors
/// As AWS says it.
pub fn deregister(family: &str) -> Result<(), EcsError> {
    for arn in revisions(family)? {
        ask(("ecs", "deregister-task-definition"), &["--task-definition", &arn], None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(definition: &str, stopped_at: Value, reason: &str) -> Value {
        json!({
            "taskDefinitionArn": definition, "stoppedAt": stopped_at, "stoppedReason": reason,
            "containers": [{"name": "web", "exitCode": 1, "reason": ""}, {"name": "logs"}],
        })
    }

    #[test]
    fn the_task_that_ended_last_of_a_revision_is_the_one_that_is_told_of() {
        let all = [
            ended("arn:1", json!("2026-11-16T00:09:00+00:00"), "of another setting"),
            ended("arn:2", json!("2026-11-16T01:01:00.250000+01:00"), "first"),
            // As older versions of the command have it.
            ended("arn:2", json!(1_794_787_320.5), "last"),
            ended("arn:2", Value::Null, "unknown"),
        ];
        let told = last_of(&all, "arn:2").map(words_of).unwrap();
        assert_eq!(told, "\nlast\ncontainer web: exit status 1");
        assert!(last_of(&all, "arn:3").is_none());
    }

    #[test]
    fn a_task_is_known_by_its_own_addresses() {
        let web = json!({"networkInterfaces": [
            {"privateIpv4Address": "10.0.1.7", "ipv6Address": "2001:db8::7"},
        ]});
        let task = json!({"containers": [{"name": "logs"}, web]});
        let is_its = |address: &str| is_at(&task, address.parse().unwrap());
        assert!(is_its("10.0.1.7") && is_its("2001:db8:0::7") && !is_its("10.0.1.8"));
        assert!(!is_at(&json!({}), "10.0.1.7".parse().unwrap()));
    }
}
