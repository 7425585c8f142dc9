//! A service is put back to what it was before the first setting. What somebody else has set since
//! stays, and is told; of one that was deleted, what is around it is put back.
//!
//! In: what was written down, here or in AWS. Out: what stays. Each part is put back whatever has
//! become of the others; until all of it is, what was written down is kept, and it can be done
//! again.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::around::{self, SHORT_DRAIN};
use super::aws::AwsError;
use super::definition;
use super::deploying::{
    GRACE_S, MINIMUM_HEALTHY_PERCENT, TASKS, definition_of, deregister, describe, revisions,
    set_minimum_healthy, update, wait,
};
use super::error::EcsError;
use super::name::ServiceName;
use super::record::Before;
use super::service::{Rollout, Service};

/// To run again what it ran.
const PATIENCE: Duration = Duration::from_secs(14 * 60 + 30);

/// What AWS says where a cluster is not there, and where what is not there would be scaled.
const NO_CLUSTER: &str = "ClusterNotFoundException";
const NOT_SCALED: &str = "ValidationException";

/// How a service was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub name: ServiceName,
    /// Empty: it is as it was.
    pub left: Vec<Left>,
}

/// What stays as somebody else has set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// It was deleted.
    Service,
    /// The revision that it runs.
    Definition {
        now: String,
    },
    Tasks {
        before: u32,
        now: u32,
    },
    /// How long a young task may be called unhealthy.
    Grace {
        before_s: u32,
        now_s: u32,
    },
    MinimumHealthy {
        before_percent: u32,
        now_percent: u32,
    },
    /// How long a target group lets a task that ends finish.
    Drain {
        group: String,
        before_s: String,
        now_s: String,
    },
    /// What of its scaling is suspended.
    Scaling,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => {
                f.write_str("somebody else deleted it meanwhile, and its tasks with it")
            }
            Self::Definition { now } => {
                write!(f, "{now}, which somebody else deployed meanwhile, is left running")
            }
            Self::Tasks { before, now } => write!(
                f,
                "the number of tasks is left at {now}, as somebody else set it meanwhile (it was \
                 {before})"
            ),
            Self::Grace { before_s, now_s } => write!(
                f,
                "the grace period for health checks is left at {now_s} s, as somebody else set it \
                 meanwhile (it was {before_s} s)"
            ),
            Self::MinimumHealthy { before_percent, now_percent } => write!(
                f,
                "minimumHealthyPercent is left at {now_percent}, as somebody else set it meanwhile \
                 (it was {before_percent})"
            ),
            Self::Drain { group, before_s, now_s } => write!(
                f,
                "the time in which target group {group} lets a task finish is left at {now_s} s, \
                 as somebody else set it meanwhile (it was {before_s} s)"
            ),
            Self::Scaling => {
                f.write_str("what of its scaling is suspended is left as somebody else set it")
            }
        }
    }
}

/// Puts a service back to what it was before the first setting, and removes what was made for them.
/// `None`: nothing had been changed.
///
/// # Errors
/// It does not become stable, or AWS says no; done again, it goes on.
pub fn restore(at: &Path) -> Result<Option<Restored>, EcsError> {
    let Some(before) = Before::read(at)? else { return Ok(None) };
    let name = before.service_name(at)?;
    let now = unless_deleted(describe(&name))?;
    match &now {
        Some(now) => before.refuse_elsewhere(&now.task_definition)?,
        None => refuse_unknown(&name, &before, at)?,
    }
    let mut left = Vec::new();
    let deployed = match &now {
        Some(now) => {
            let goal = goal(&before, now, &mut left);
            put_tasks_back(&name, (&before, now), goal, &mut left)
        }
        None => {
            left.push(Left::Service);
            Ok(())
        }
    };
    // Not before that: what ran with our settings would be given all its time to end. And whatever
    // came of it: what does not come up is not to be left without its scaling.
    let drained = put_drains_back(&before, &mut left);
    let scaled = match put_scaling_back(&name, &before, &mut left) {
        Err(EcsError::Aws(error)) if now.is_none() && error.is_of_kind(NOT_SCALED) => Ok(()),
        scaled => scaled,
    };
    deployed.and(drained).and(scaled)?;
    deregister(&before.own_family)?;
    Before::remove(at)?;
    Ok(Some(Restored { name, left }))
}

/// The same, where what was written down here is gone: by the note in our revisions, which is
/// written down here anew, so that it can be done again. `None`: there is none.
///
/// # Errors
/// As [`restore`]; also where there is no such service.
pub fn restore_by_note(name: &ServiceName, at: &Path) -> Result<Option<Restored>, EcsError> {
    if Before::read(at)?.is_none() {
        let Some(before) = noted(name)? else { return Ok(None) };
        before.write(at)?;
    }
    restore(at)
}

/// What the newest of our revisions that says something of a service says.
fn noted(name: &ServiceName) -> Result<Option<Before>, EcsError> {
    // Ours stand beside whatever somebody else has deployed of its family since.
    let (now, _) = definition_of(&describe(name)?.task_definition)?;
    for arn in revisions(&definition::own_family(&now))?.iter().rev() {
        let (ours, _) = definition_of(arn)?;
        let before = definition::note(&ours).and_then(|note| Before::noted(note, name));
        if before.is_some() {
            return Ok(before);
        }
    }
    Ok(None)
}

/// A service that can run tasks; `None`: it was deleted, or is about to be gone.
fn unless_deleted(described: Result<Service, EcsError>) -> Result<Option<Service>, EcsError> {
    match described {
        Ok(service) => Ok(Some(service).filter(Service::is_active)),
        Err(EcsError::NoService { .. }) => Ok(None),
        Err(EcsError::Aws(error)) if error.is_of_kind(NO_CLUSTER) => Ok(None),
        Err(error) => Err(error),
    }
}

/// In another account or region a service of this name is missing too, and what it ran as well.
fn refuse_unknown(name: &ServiceName, before: &Before, at: &Path) -> Result<(), EcsError> {
    match definition_of(&before.definition) {
        Ok((found, _)) => {
            before.refuse_elsewhere(found["taskDefinitionArn"].as_str().unwrap_or_default())
        }
        Err(EcsError::Aws(AwsError::Failed { said, .. })) => Err(EcsError::Unknown {
            service: name.service.clone(),
            cluster: name.cluster.clone(),
            definition: before.definition.clone(),
            record: at.to_path_buf(),
            said,
        }),
        Err(error) => Err(error),
    }
}

/// What a service is to run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Goal<'a> {
    definition: &'a str,
    tasks: u32,
    /// `None`: it stays.
    grace_s: Option<u32>,
}

/// What it ran, but for what somebody else has set.
fn goal<'a>(before: &'a Before, now: &'a Service, left: &mut Vec<Left>) -> Goal<'a> {
    let definition = match before.knows(&now.task_definition) {
        true => &before.definition,
        false => {
            left.push(Left::Definition { now: now.task_definition.clone() });
            &now.task_definition
        }
    };
    // As a session sets it, or put back already.
    let is_ours = [TASKS, before.desired_count].contains(&now.desired_count);
    if !is_ours {
        left.push(Left::Tasks { before: before.desired_count, now: now.desired_count });
    }
    let tasks = if is_ours { before.desired_count } else { now.desired_count };
    let now_s = now.health_check_grace_period_seconds.unwrap_or(0);
    let grace_s = before.grace_s.filter(|it| [GRACE_S, *it].contains(&now_s));
    if let (Some(before_s), None) = (before.grace_s, grace_s) {
        left.push(Left::Grace { before_s, now_s });
    }
    Goal { definition, tasks, grace_s }
}

/// Has a service run what it is to run again, and gives it its minimum healthy percent back. First,
/// where ECS can replace its tasks with it: our task ends only once another is healthy, and should
/// none become so, the percentage is back all the same. Else last, since with it nothing could be
/// deployed.
fn put_tasks_back(
    name: &ServiceName,
    (before, now): (&Before, &Service),
    goal: Goal<'_>,
    left: &mut Vec<Left>,
) -> Result<(), EcsError> {
    match before.minimum_healthy_percent {
        None => deploy(name, (before, now), goal),
        Some(percent) if now.can_replace(goal.tasks, percent) => {
            let limited = put_minimum_healthy_back(name, now, percent, left);
            limited.and(deploy(name, (before, now), goal))
        }
        Some(percent) => {
            deploy(name, (before, now), goal)?;
            put_minimum_healthy_back(name, &describe(name)?, percent, left)
        }
    }
}

/// Has it run that, and waits until it does. Also where it is said to run it: AWS may tell for a
/// moment more what it was before a setting of ours.
fn deploy(
    name: &ServiceName,
    (before, now): (&Before, &Service),
    goal: Goal<'_>,
) -> Result<(), EcsError> {
    // Tasks that did not start count against a deployment until there is another; somebody else's
    // is theirs to begin again.
    let rollout = now.rollout(goal.definition);
    let has_failed = matches!(rollout, Rollout::Failed { .. });
    let is_begun_again = has_failed && goal.definition == before.definition;
    let asked = update(name, (goal.definition, goal.tasks), goal.grace_s, is_begun_again);
    let asked = asked.map(drop);
    let now_s = now.health_check_grace_period_seconds.unwrap_or(0);
    let is_there = rollout == Rollout::Done
        && now.desired_count == goal.tasks
        && goal.grace_s.is_none_or(|it| it == now_s);
    if is_there && is_refused(&asked) {
        return Ok(());
    }
    asked?;
    wait(name, (goal.definition, before), (PATIENCE, "")).map(drop)
}

/// A right is missing: without it no setting of ours was deployed either. Where all is said to be
/// as it was, that is no trouble.
fn is_refused(asked: &Result<(), EcsError>) -> bool {
    matches!(asked, Err(EcsError::Aws(AwsError::NotAllowed { .. })))
}

/// `service`: as it is now; `before_percent`: what is put back.
fn put_minimum_healthy_back(
    name: &ServiceName,
    service: &Service,
    before_percent: u32,
    left: &mut Vec<Left>,
) -> Result<(), EcsError> {
    match service.minimum_healthy_percent() {
        // Told as it was, it may be from before a setting of ours.
        Some(now) if [MINIMUM_HEALTHY_PERCENT, before_percent].contains(&now) => {
            let asked = set_minimum_healthy(name, service, before_percent);
            if !(now == before_percent && is_refused(&asked)) {
                asked?;
            }
        }
        Some(now_percent) => left.push(Left::MinimumHealthy { before_percent, now_percent }),
        // It says none any more.
        None => {}
    }
    Ok(())
}

fn put_drains_back(before: &Before, left: &mut Vec<Left>) -> Result<(), EcsError> {
    let mut done = Ok(());
    for (group, before_s) in &before.drains {
        done = done.and(put_drain_back((group, before_s), left));
    }
    done
}

fn put_drain_back((group, before_s): (&str, &str), left: &mut Vec<Left>) -> Result<(), EcsError> {
    match around::drain(group)? {
        // It says none any more; or it is put back already.
        None => {}
        Some(now) if now == before_s => {}
        Some(now) if now == SHORT_DRAIN => around::set_drain(group, before_s)?,
        Some(now) => left.push(Left::Drain {
            group: group.to_string(),
            before_s: before_s.to_string(),
            now_s: now,
        }),
    }
    Ok(())
}

fn put_scaling_back(
    name: &ServiceName,
    before: &Before,
    left: &mut Vec<Left>,
) -> Result<(), EcsError> {
    let Some(then) = &before.suspended else { return Ok(()) };
    match around::suspended(name)? {
        // Nothing scales it any more; or it is put back already.
        None => {}
        Some(now) if now == *then => {}
        Some(now) if now == around::all_of_it(true) => around::suspend(name, then)?,
        Some(_) => left.push(Left::Scaling),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn before() -> Before {
        Before {
            name: "prod/shop".into(),
            definition: "arn:aws:ecs:eu-west-1:1:task-definition/shop:7".into(),
            own_family: "shop-sweetspot".into(),
            desired_count: 2,
            grace_s: Some(30),
            minimum_healthy_percent: None,
            suspended: None,
            drains: Vec::new(),
            deployment: None,
            clock_ahead_s: None,
        }
    }

    /// What is put back of a service that is like this now, and what of it is left.
    fn of(
        revision: &str,
        tasks: u32,
        grace_s: Option<u32>,
    ) -> (String, u32, Option<u32>, Vec<Left>) {
        let now = json!({
            "status": "ACTIVE", "desiredCount": tasks,
            "taskDefinition": format!("arn:aws:ecs:eu-west-1:1:task-definition/{revision}"),
            "healthCheckGracePeriodSeconds": grace_s,
        });
        let (before, now) = (before(), serde_json::from_value(now).unwrap());
        let mut left = Vec::new();
        let Goal { definition, tasks, grace_s } = goal(&before, &now, &mut left);
        let (_, revision) = definition.rsplit_once('/').unwrap();
        (revision.to_string(), tasks, grace_s, left)
    }

    #[test]
    fn what_a_session_has_set_is_put_back_also_where_a_part_of_it_is_already() {
        let all = ("shop:7".to_string(), 2, Some(30), Vec::new());
        assert_eq!(of("shop-sweetspot:3", 1, Some(GRACE_S)), all);
        assert_eq!(of("shop:7", 2, Some(30)), all);
        assert_eq!(of("shop:7", 1, Some(GRACE_S)), all);
    }

    #[test]
    fn a_service_that_was_deleted_has_no_tasks_to_be_put_back() {
        let told = |status: &str| {
            let service = json!({"status": status, "desiredCount": 0});
            Ok(serde_json::from_value::<Service>(service).unwrap())
        };
        let failed = |said: &str| {
            let (operation, said) = ("ecs describe-services".to_string(), said.to_string());
            Err(EcsError::Aws(AwsError::Failed { operation, said }))
        };
        let missing = || EcsError::NoService { cluster: "prod".into(), service: "shop".into() };
        assert!(unless_deleted(told("ACTIVE")).unwrap().is_some());
        for deleted in [
            told("DRAINING"),
            told("INACTIVE"),
            Err(missing()),
            failed("An error occurred (ClusterNotFoundException) when calling it: not found"),
        ] {
            assert!(unless_deleted(deleted).unwrap().is_none());
        }
        unless_deleted(failed("Could not connect to the endpoint URL")).unwrap_err();
    }

    #[test]
    fn what_somebody_else_has_set_stays_and_is_told() {
        let arn = "arn:aws:ecs:eu-west-1:1:task-definition/shop:8".to_string();
        let deployed = Left::Definition { now: arn };
        let expected = ("shop:8".to_string(), 2, Some(30), vec![deployed.clone()]);
        assert_eq!(of("shop:8", 1, Some(GRACE_S)), expected);
        let others = [Left::Tasks { before: 2, now: 3 }, Left::Grace { before_s: 30, now_s: 0 }];
        let expected = ("shop:7".to_string(), 3, None, others.to_vec());
        assert_eq!(of("shop-sweetspot:3", 3, None), expected);
        let drain =
            Left::Drain { group: "arn:group".into(), before_s: "300".into(), now_s: "60".into() };
        for (left, figures) in [
            (deployed, &["shop:8"][..]),
            (others[0].clone(), &["3", "was 2"]),
            (others[1].clone(), &["0 s", "was 30 s"]),
            (drain, &["arn:group", "60 s", "was 300 s"]),
            (
                Left::MinimumHealthy { before_percent: 100, now_percent: 50 },
                &["minimumHealthyPercent is left at 50,", "was 100)"],
            ),
            (Left::Scaling, &["scaling"]),
            (Left::Service, &["deleted it"]),
        ] {
            let said = left.to_string();
            let is_said = |figure: &&str| said.contains(*figure);
            assert!(figures.iter().all(is_said) && said.contains("somebody else"), "{said}");
        }
    }
}
