//! A service of AWS ECS, changed and put back by AWS's own command.
//!
//! In: a service's name and the variables that are tried. Out: it runs with them; or what it was,
//! and runs again. Before the first change it is written down what it was. Knows no load and no
//! trial: this is what a command of the user's would else do (`place/remote`).

mod around;
mod aws;
mod definition;
mod error;
mod name;
mod record;
mod service;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use self::around::SHORT_DRAIN;
pub use self::aws::{AwsError, ask};
pub use self::definition::Task;
pub use self::error::EcsError;
pub use self::name::{NoServiceName, ServiceName};
use self::record::Before;
use self::service::{Rollout, Service};

/// For a setting to be what the service runs, where nobody says how long; and so much sooner than
/// whoever has this run gives it up.
const TO_APPLY: Duration = Duration::from_secs(9 * 60 + 30);
const SOONER: Duration = Duration::from_secs(30);
/// To put it back.
const TO_RESTORE: Duration = Duration::from_secs(14 * 60 + 30);

/// Between two looks at a deployment.
const LOOK: Duration = Duration::from_secs(2);

/// A task that is loaded to its limit answers health checks late, and is not to be replaced for it.
const GRACE_S: u32 = 24 * 60 * 60;

/// One task is tuned, so that what is measured is what one has.
const TASKS: u32 = 1;

/// How a service was put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// It runs what it ran.
    AsBefore,
    /// Somebody else deployed it meanwhile, which stays; all else is as it was.
    Others,
}

impl Restored {
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::AsBefore => "is as it was before the session",
            Self::Others => "was deployed by somebody else meanwhile, and is left like that",
        }
    }
}

/// What the app of a service may use, and what it runs with. Changes nothing.
///
/// # Errors
/// There is no such service, it cannot be tuned as it stands, or AWS says no.
pub fn task(name: &ServiceName) -> Result<Task, EcsError> {
    let definition = untouched(name, &describe(name)?)?;
    definition::task(&definition, name.container.as_deref())
}

/// Has the service run one task with these variables, and waits until it does. `at`: where it is
/// written down what it was before; `within`: the time after which it is given up by whoever has
/// this run, where they say so.
///
/// # Errors
/// It does not come up, somebody else deploys it, or AWS says no.
pub fn apply(
    name: &ServiceName,
    variables: &[(String, String)],
    at: &Path,
    within: Option<Duration>,
) -> Result<(), EcsError> {
    let service = describe(name)?;
    let before = match Before::read(at)? {
        Some(before) => before,
        None => {
            let before = look(name, &service)?;
            before.write(at)?;
            before
        }
    };
    refuse_elsewhere(&before, &service)?;
    if !before.knows(&service.task_definition) {
        return Err(EcsError::Others { definition: service.task_definition });
    }
    if before.suspended.is_some() {
        around::suspend(name, &around::all_of_it(true))?;
    }
    for (group, _) in &before.drains {
        around::set_drain(group, around::SHORT_DRAIN)?;
    }
    let (definition, tags) = definition_of(&before.definition)?;
    let container = definition::task(&definition, name.container.as_deref())?.container;
    let made = definition::with_variables(&definition, (&container, &tags), variables);
    let made = ask(("ecs", "register-task-definition"), &[], Some(&made))?;
    let made = made["taskDefinition"]["taskDefinitionArn"].as_str().unwrap_or_default();
    let grace = before.grace_s.map(|_| GRACE_S);
    update(name, (made, TASKS), grace, true)?;
    wait(name, (made, &before), (to_apply(within), "; --boot-timeout gives it longer"))
}

/// A little less than whoever has this run leaves to it, so that it is told why.
fn to_apply(within: Option<Duration>) -> Duration {
    within.map_or(TO_APPLY, |within| within.saturating_sub(SOONER))
}

/// Puts a service back to what it was before the first setting, and removes what was made for them.
/// `None`: nothing had been changed.
///
/// # Errors
/// It does not become stable, or AWS says no; done again, it goes on.
pub fn restore(at: &Path) -> Result<Option<(ServiceName, Restored)>, EcsError> {
    let Some(before) = Before::read(at)? else { return Ok(None) };
    let name = before.service_name(at)?;
    let now = describe(&name)?;
    refuse_elsewhere(&before, &now)?;
    let is_others = !before.knows(&now.task_definition);
    let definition = if is_others { &now.task_definition } else { &before.definition };
    // What somebody else has set since stays.
    let is_ours = now.desired_count == TASKS;
    let tasks = if is_ours { before.desired_count } else { now.desired_count };
    let is_ours = now.health_check_grace_period_seconds == Some(GRACE_S);
    update(&name, (definition, tasks), before.grace_s.filter(|_| is_ours), false)?;
    wait(&name, (definition, &before), (TO_RESTORE, ""))?;
    for (group, seconds) in &before.drains {
        if around::drain(group)?.as_deref() == Some(around::SHORT_DRAIN) {
            around::set_drain(group, seconds)?;
        }
    }
    if let Some(suspended) = &before.suspended
        && around::suspended(&name)? == Some(around::all_of_it(true))
    {
        around::suspend(&name, suspended)?;
    }
    deregister(&before.own_family)?;
    Before::remove(at)?;
    let restored = if is_others { Restored::Others } else { Restored::AsBefore };
    Ok(Some((name, restored)))
}

/// One of the same name in another account or region is not what was changed.
fn refuse_elsewhere(before: &Before, now: &Service) -> Result<(), EcsError> {
    match before.is_elsewhere(&now.task_definition) {
        true => Err(EcsError::Elsewhere {
            then: before.definition.clone(),
            now: now.task_definition.clone(),
        }),
        false => Ok(()),
    }
}

/// The task definition of a service that can be tuned and is not, by any session.
fn untouched(name: &ServiceName, service: &Service) -> Result<Value, EcsError> {
    service.check(name)?;
    let (definition, _) = definition_of(&service.task_definition)?;
    match definition::is_own(&definition) {
        true => Err(EcsError::LeftChanged { service: name.service.clone() }),
        false => Ok(definition),
    }
}

/// What it is, before anything is changed.
fn look(name: &ServiceName, service: &Service) -> Result<Before, EcsError> {
    let definition = untouched(name, service)?;
    let mut drains = Vec::new();
    for group in service.target_groups() {
        let drain = around::drain(group)?;
        drains.extend(drain.map(|seconds| (group.to_string(), seconds)));
    }
    // Without a load balancer there is none to be given.
    let is_balanced = service.target_groups().next().is_some();
    let grace_s = is_balanced.then(|| service.health_check_grace_period_seconds.unwrap_or(0));
    Ok(Before {
        name: name.to_string(),
        own_family: definition::own_family(&definition),
        desired_count: service.desired_count,
        grace_s,
        suspended: around::suspended(name)?,
        definition: service.task_definition.clone(),
        drains,
    })
}

fn describe(name: &ServiceName) -> Result<Service, EcsError> {
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
fn definition_of(arn: &str) -> Result<(Value, Value), EcsError> {
    let asked = ["--task-definition", arn, "--include", "TAGS"];
    let found = ask(("ecs", "describe-task-definition"), &asked, None)?;
    Ok((found["taskDefinition"].clone(), found["tags"].clone()))
}

fn update(
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

/// Waits until all tasks are of this revision. `longer`: what gives it more time than this.
fn wait(
    name: &ServiceName,
    (definition, before): (&str, &Before),
    (patience, longer): (Duration, &'static str),
) -> Result<(), EcsError> {
    let began = Instant::now();
    loop {
        let service = describe(name)?;
        match service.rollout(definition) {
            Rollout::Done => return Ok(()),
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
fn deregister(family: &str) -> Result<(), EcsError> {
    let listed = ask(("ecs", "list-task-definitions"), &["--family-prefix", family], None)?;
    let all = listed["taskDefinitionArns"].as_array().into_iter().flatten();
    for arn in all.filter_map(Value::as_str) {
        ask(("ecs", "deregister-task-definition"), &["--task-definition", arn], None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_given_up_a_little_before_its_session_gives_it_up() {
        assert_eq!(to_apply(None), Duration::from_secs(570));
        assert_eq!(to_apply(Some(Duration::from_secs(600))), Duration::from_secs(570));
        assert_eq!(to_apply(Some(Duration::from_secs(1800))), Duration::from_secs(1770));
        assert_eq!(to_apply(Some(Duration::from_secs(20))), Duration::ZERO);
    }
}
