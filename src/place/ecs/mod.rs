//! A service of AWS ECS, changed and put back by AWS's own command.
//!
//! In: a service's name and the variables that are tried. Out: it runs with them, and whether it
//! still does; or what it was, and runs again. Before the first change it is written down what it
//! was, here and in AWS. Knows no load and no trial: this is what a command of the user's would
//! else do (`place/remote`).

mod around;
mod aws;
mod clock;
pub mod cloudwatch;
mod definition;
mod deploying;
mod error;
mod name;
mod record;
mod restore;
mod service;
mod used;

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

pub use self::around::SHORT_DRAIN;
pub use self::aws::{AwsError, ask};
pub use self::definition::{Reserved, Task};
use self::deploying::{
    GRACE_S, LOOK, MINIMUM_HEALTHY_PERCENT, TASKS, definition_of, describe, runs_at,
    set_minimum_healthy, update, wait,
};
pub use self::error::EcsError;
pub use self::name::{NoServiceName, ServiceName};
use self::record::Before;
pub use self::restore::{Left, Restored, restore, restore_by_note};
use self::service::Service;
pub use self::used::minutes;
use crate::monitor::host::wall_clock_s;

/// For a setting to be what the service runs, where nobody says how long; and so much sooner than
/// whoever has this run gives it up.
const TO_APPLY: Duration = Duration::from_secs(9 * 60 + 30);
const SOONER: Duration = Duration::from_secs(30);

/// What the app of a service may use, and what it runs with. `host`: where it answers. Changes
/// nothing.
///
/// # Errors
/// There is no such service, it cannot be tuned as it stands or asked there, or AWS says no.
pub fn task(name: &ServiceName, host: &str) -> Result<Task, EcsError> {
    let definition = untouched(name, &describe(name)?)?;
    let task = definition::task(&definition, name.container.as_deref())?;
    match host.parse::<IpAddr>() {
        Ok(address) if runs_at(name, &task.revision, address) => {
            Err(EcsError::TasksOwnAddress { address, service: name.service.clone() })
        }
        _ => Ok(task),
    }
}

/// Has the service run one task with these variables, and waits until it does. `at`: where it is
/// written down what it was before; `within`: the time after which it is given up by whoever has
/// this run, where they say so.
///
/// # Errors
/// It does not come up, somebody else changes it, or AWS says no.
pub fn apply(
    name: &ServiceName,
    variables: &[(String, String)],
    at: &Path,
    within: Option<Duration>,
) -> Result<(), EcsError> {
    let began = Instant::now();
    let service = describe(name)?;
    let before = match Before::read(at)? {
        Some(before) if is_unchanged(&before, &service) => before,
        Some(before) => {
            refuse_others(&before, &service)?;
            before
        }
        None => {
            let before = look(name, &service)?;
            before.write(at)?;
            before
        }
    };
    let (definition, tags) = definition_of(&before.definition)?;
    let container = definition::task(&definition, name.container.as_deref())?.container;
    let in_container = (&*container, &tags);
    let made = definition::with_variables(&definition, in_container, variables, &before.note());
    let made = ask(("ecs", "register-task-definition"), &[], Some(&made))?;
    let made = made["taskDefinition"]["taskDefinitionArn"].as_str().unwrap_or_default();
    // Not before that, which changes nothing: from now on it says what the service was.
    if before.deployment.is_none() {
        hold_still(name, (&before, &service))?;
    }
    let grace = before.grace_s.map(|_| GRACE_S);
    let asked_s = wall_clock_s();
    let answer = update(name, (made, TASKS), grace, true)?;
    let clock_ahead_s = clock::ahead_s(&answer, made, (asked_s, wall_clock_s()));
    let patience = (to_apply(within, began.elapsed()), "; --boot-timeout gives it longer");
    let deployment = wait(name, (made, &before), patience)?;
    Before { deployment, clock_ahead_s, ..before }.write(at)
}

/// Whether the service still runs what was applied last, and nothing else.
///
/// # Errors
/// Somebody else has changed it, or AWS says no.
pub fn check(name: &ServiceName, at: &Path) -> Result<(), EcsError> {
    let missing =
        || EcsError::Record { path: at.to_path_buf(), source: io::ErrorKind::NotFound.into() };
    let before = Before::read(at)?.ok_or_else(missing)?;
    if refuse_new(&before, &describe(name)?).is_ok() {
        return Ok(());
    }
    // What it was before that is told for a moment more, now and then.
    thread::sleep(LOOK);
    refuse_new(&before, &describe(name)?)
}

/// What is left for it to come up, a little less than whoever has this run leaves to it, so that
/// they hear why it does not. `taken`: by what came before, which throttling may draw out.
fn to_apply(within: Option<Duration>, taken: Duration) -> Duration {
    within.map_or(TO_APPLY, |within| within.saturating_sub(SOONER)).saturating_sub(taken)
}

/// Whether it runs what was written down, as where who wrote it was killed before it changed that.
fn is_unchanged(before: &Before, service: &Service) -> bool {
    before.deployment.is_none()
        && service.task_definition == before.definition
        && service.desired_count == before.desired_count
}

/// Nobody else has changed what a session has set.
fn refuse_others(before: &Before, service: &Service) -> Result<(), EcsError> {
    before.refuse_elsewhere(&service.task_definition)?;
    if !before.knows(&service.task_definition) {
        return Err(EcsError::Others { definition: service.task_definition.clone() });
    }
    match service.desired_count {
        TASKS => Ok(()),
        tasks => Err(EcsError::OthersTasks { tasks }),
    }
}

/// As [`refuse_others`]; and what runs is of the deployment that was waited for.
fn refuse_new(before: &Before, service: &Service) -> Result<(), EcsError> {
    refuse_others(before, service)?;
    let now = service.primary().and_then(|it| it.id.as_ref());
    match before.deployment.as_ref().zip(now) {
        Some((then, now)) if then != now => {
            Err(EcsError::OthersDeployment { definition: service.task_definition.clone() })
        }
        _ => Ok(()),
    }
}

/// The task definition of a service that can be tuned and is not, by any session.
fn untouched(name: &ServiceName, service: &Service) -> Result<Value, EcsError> {
    service.check(name)?;
    let (definition, _) = definition_of(&service.task_definition)?;
    match definition::is_own(&definition) {
        true => Err(EcsError::LeftChanged { name: name.clone() }),
        false => Ok(definition),
    }
}

/// Keeps from it what else would change it or hold it up. Done until a setting has come up, since
/// who did it first may have been killed in the middle; what is no longer as it was written down is
/// done already, or somebody else's, and stays.
fn hold_still(name: &ServiceName, (before, now): (&Before, &Service)) -> Result<(), EcsError> {
    if before.suspended.is_some() && around::suspended(name)? == before.suspended {
        around::suspend(name, &around::all_of_it(true))?;
    }
    for (group, seconds) in &before.drains {
        if around::drain(group)?.as_ref() == Some(seconds) {
            around::set_drain(group, SHORT_DRAIN)?;
        }
    }
    let minimum = before.minimum_healthy_percent;
    if minimum.is_some() && now.minimum_healthy_percent() == minimum {
        set_minimum_healthy(name, now, MINIMUM_HEALTHY_PERCENT)?;
    }
    Ok(())
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
    let minimum = service.minimum_healthy_percent();
    Ok(Before {
        name: name.to_string(),
        own_family: definition::own_family(&definition),
        desired_count: service.desired_count,
        grace_s,
        minimum_healthy_percent: minimum.filter(|it| !service.can_replace(TASKS, *it)),
        suspended: around::suspended(name)?,
        definition: service.task_definition.clone(),
        drains,
        deployment: None,
        clock_ahead_s: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_is_given_up_a_little_before_its_session_gives_it_up() {
        let seconds = Duration::from_secs;
        for (within_s, taken_s, expected_s) in [
            (None, 0, 570),
            (Some(600), 0, 570),
            (Some(1800), 0, 1770),
            (Some(20), 0, 0),
            (None, 31, 539),
            (Some(600), 31, 539),
            (Some(60), 31, 0),
        ] {
            let left = to_apply(within_s.map(seconds), seconds(taken_s));
            assert_eq!(left, seconds(expected_s), "{within_s:?}, {taken_s} s taken");
        }
    }

    fn arn(revision: &str) -> String {
        format!("arn:aws:ecs:eu-west-1:1:task-definition/{revision}")
    }

    fn before(deployment: Option<&str>) -> Before {
        Before {
            name: "prod/shop".into(),
            definition: arn("shop:7"),
            own_family: "shop-sweetspot".into(),
            desired_count: 2,
            grace_s: None,
            minimum_healthy_percent: None,
            suspended: None,
            drains: Vec::new(),
            deployment: deployment.map(str::to_string),
            clock_ahead_s: None,
        }
    }

    fn service(definition: &str, tasks: u32, deployment: &str) -> Service {
        let service = json!({
            "status": "ACTIVE", "taskDefinition": definition, "desiredCount": tasks,
            "deployments": [{
                "id": deployment, "status": "PRIMARY", "taskDefinition": definition,
                "desiredCount": tasks, "runningCount": tasks,
            }],
        });
        serde_json::from_value(service).unwrap()
    }

    #[test]
    fn what_was_written_down_and_not_changed_yet_is_no_work_of_somebody_elses() {
        let of = |revision: &str, tasks: u32, deployment: Option<&str>| {
            is_unchanged(&before(deployment), &service(&arn(revision), tasks, "ecs-svc/0"))
        };
        assert!(of("shop:7", 2, None));
        assert!(!of("shop:7", 2, Some("ecs-svc/2")), "a setting of ours has run since");
        assert!(!of("shop:7", 3, None));
        assert!(!of("shop:8", 2, None));
        assert!(!of("shop-sweetspot:1", 2, None));
    }

    #[test]
    fn what_somebody_else_changes_of_a_setting_is_seen() {
        let before = before(Some("ecs-svc/2"));
        let of = |definition: &str, tasks: u32, deployment: &str| {
            refuse_new(&before, &service(definition, tasks, deployment))
        };
        let ours = arn("shop-sweetspot:1");
        of(&ours, 1, "ecs-svc/2").unwrap();
        assert!(matches!(of(&ours, 1, "ecs-svc/3"), Err(EcsError::OthersDeployment { .. })));
        assert!(matches!(of(&ours, 3, "ecs-svc/2"), Err(EcsError::OthersTasks { tasks: 3 })));
        assert!(matches!(of(&arn("shop:8"), 1, "ecs-svc/3"), Err(EcsError::Others { .. })));
        let elsewhere = ours.replace(":1:task", ":2:task");
        let elsewhere = of(&elsewhere, 1, "ecs-svc/2");
        assert!(matches!(elsewhere, Err(EcsError::Elsewhere { .. })));
        assert!(elsewhere.is_err_and(|error| !error.is_of_setting()));
    }
}
