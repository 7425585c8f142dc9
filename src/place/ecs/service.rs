//! A service as ECS describes it, and how far a deployment of it has come.
//!
//! In: what `describe-services` answers. Out: figures and a judgement. Only computes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::EcsError;
use super::name::ServiceName;

/// What of a service matters here.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    pub status: String,
    /// The revision that it runs, as an ARN; empty where task sets have theirs.
    #[serde(default)]
    pub task_definition: String,
    pub desired_count: u32,
    #[serde(default)]
    pub deployments: Vec<Deployment>,
    #[serde(default)]
    pub load_balancers: Vec<LoadBalancer>,
    /// How long a young task may be called unhealthy by its load balancer.
    pub health_check_grace_period_seconds: Option<u32>,
    pub deployment_controller: Option<Controller>,
    pub deployment_configuration: Option<DeploymentConfiguration>,
    pub scheduling_strategy: Option<String>,
    /// The newest first.
    #[serde(default)]
    pub events: Vec<ServiceEvent>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// AWS's name for it.
    pub id: Option<String>,
    pub status: String,
    pub task_definition: String,
    pub desired_count: u32,
    pub running_count: u32,
    #[serde(default)]
    pub pending_count: u32,
    #[serde(default)]
    pub failed_tasks: u32,
    pub rollout_state: Option<String>,
    pub rollout_state_reason: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancer {
    pub target_group_arn: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Controller {
    #[serde(rename = "type")]
    pub kind: String,
}

/// How it is deployed; written as AWS takes it to change that.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentConfiguration {
    #[serde(skip_serializing)]
    pub strategy: Option<String>,
    /// Of the tasks that it is to have, how many stay healthy meanwhile, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_healthy_percent: Option<u32>,
    /// How many may be there meanwhile, rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_percent: Option<u32>,
    /// These go along as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_circuit_breaker: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarms: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ServiceEvent {
    pub message: String,
}

/// How far a deployment has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollout {
    /// All tasks are of it, and none of another.
    Done,
    GoesOn,
    Failed {
        why: String,
    },
    /// Somebody else's is what the service runs now.
    Others {
        definition: String,
    },
}

/// Tasks of one deployment that did not start, from which on it is given up: one may be bad luck.
const TOO_MANY_FAILED: u32 = 2;

/// A service that was not deleted.
const ACTIVE: &str = "ACTIVE";

/// The deployment that is to be run.
const PRIMARY: &str = "PRIMARY";
const FAILED: &str = "FAILED";
const IN_PROGRESS: &str = "IN_PROGRESS";

impl Service {
    /// Can it be tuned as it stands?
    ///
    /// # Errors
    /// It runs nothing, is not ECS's own to deploy, or is being deployed.
    pub fn check(&self, name: &ServiceName) -> Result<(), EcsError> {
        let service = name.service.clone();
        if !self.is_active() {
            return Err(EcsError::NotActive { service, status: self.status.clone() });
        }
        if let Some(how) = self.otherwise() {
            return Err(EcsError::OtherDeployment { service, how: how.to_string() });
        }
        if self.desired_count == 0 {
            return Err(EcsError::NoTask { service });
        }
        let is_new = |it: &Deployment| it.rollout_state.as_deref() == Some(IN_PROGRESS);
        if self.deployments.len() > 1 || self.deployments.iter().any(is_new) {
            return Err(EcsError::BeingDeployed { service });
        }
        Ok(())
    }

    /// One that was deleted is told of for a while: as draining, and then as inactive.
    pub fn is_active(&self) -> bool {
        self.status == ACTIVE
    }

    /// How it is deployed, where that is not by ECS task after task.
    fn otherwise(&self) -> Option<&str> {
        let controller = self.deployment_controller.as_ref().map(|it| it.kind.as_str());
        let configuration = self.deployment_configuration.as_ref();
        let strategy = configuration.and_then(|it| it.strategy.as_deref());
        let scheduled = self.scheduling_strategy.as_deref();
        [(controller, "ECS"), (strategy, "ROLLING"), (scheduled, "REPLICA")]
            .into_iter()
            .find_map(|(said, usual)| said.filter(|it| *it != usual))
    }

    /// `None`: AWS does not say.
    pub fn minimum_healthy_percent(&self) -> Option<u32> {
        self.deployment_configuration.as_ref()?.minimum_healthy_percent
    }

    /// Whether this many tasks can be replaced where this share of them has to stay healthy: one
    /// may end before another is there, or another be there before it ends.
    pub fn can_replace(&self, tasks: u32, minimum_healthy_percent: u32) -> bool {
        let limits = self.deployment_configuration.as_ref();
        let maximum_percent = limits.and_then(|it| it.maximum_percent).unwrap_or(200);
        let least = (tasks * minimum_healthy_percent).div_ceil(100);
        let most = tasks * maximum_percent / 100;
        least < most
    }

    /// How far it has come to run this revision, an ARN.
    pub fn rollout(&self, wanted: &str) -> Rollout {
        let is_of_it = |it: &&Deployment| it.task_definition == wanted;
        // Of several of one revision the last that was begun counts.
        let own = self.primary().filter(is_of_it);
        if let Some(own) = own.or_else(|| self.deployments.iter().find(is_of_it)) {
            let reason = own.rollout_state_reason.clone().filter(|it| !it.is_empty());
            if own.rollout_state.as_deref() == Some(FAILED) {
                return Rollout::Failed { why: reason.unwrap_or_else(|| "no reason given".into()) };
            }
            if own.failed_tasks >= TOO_MANY_FAILED {
                let why = format!("{} of its tasks did not start", own.failed_tasks);
                return Rollout::Failed { why };
            }
        }
        let Some(primary) = self.primary() else { return Rollout::GoesOn };
        if primary.task_definition != wanted {
            return Rollout::Others { definition: primary.task_definition.clone() };
        }
        let is_over = primary.rollout_state.as_deref() != Some(IN_PROGRESS);
        let wanted = [primary.desired_count, self.desired_count];
        let is_whole =
            wanted.iter().all(|it| *it == primary.running_count) && primary.pending_count == 0;
        match self.deployments.len() == 1 && is_over && is_whole {
            true => Rollout::Done,
            false => Rollout::GoesOn,
        }
    }

    /// The deployment that is to be run.
    pub fn primary(&self) -> Option<&Deployment> {
        self.deployments.iter().find(|it| it.status == PRIMARY)
    }

    /// What ECS said of it last, on a line of its own; empty: nothing.
    pub fn last_event(&self) -> String {
        self.events.first().map(|event| format!("\n{}", event.message)).unwrap_or_default()
    }

    /// Whom it hands tasks over to.
    pub fn target_groups(&self) -> impl Iterator<Item = &str> {
        self.load_balancers.iter().filter_map(|it| it.target_group_arn.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(deployments: Value) -> Service {
        let all = json!({
            "serviceName": "shop", "status": "ACTIVE", "taskDefinition": "arn:1",
            "desiredCount": 1, "runningCount": 1, "deployments": deployments,
            "loadBalancers": [{"targetGroupArn": "arn:group", "containerPort": 3000}],
        });
        serde_json::from_value(all).unwrap()
    }

    fn deployment(status: &str, definition: &str, running: u32) -> Value {
        json!({
            "status": status, "taskDefinition": definition, "desiredCount": 1,
            "runningCount": running, "pendingCount": 0, "failedTasks": 0,
            "rolloutState": if running == 1 { "COMPLETED" } else { "IN_PROGRESS" },
        })
    }

    #[test]
    fn a_deployment_is_done_once_no_task_of_another_is_left() {
        let (ours, old) = (deployment("PRIMARY", "arn:2", 1), deployment("ACTIVE", "arn:1", 1));
        assert_eq!(service(json!([ours])).rollout("arn:2"), Rollout::Done);
        assert_eq!(service(json!([ours, old])).rollout("arn:2"), Rollout::GoesOn);
        let young = deployment("PRIMARY", "arn:2", 0);
        assert_eq!(service(json!([young])).rollout("arn:2"), Rollout::GoesOn);
        let others = Rollout::Others { definition: "arn:2".into() };
        assert_eq!(service(json!([ours])).rollout("arn:3"), others);
    }

    #[test]
    fn a_deployment_of_fewer_tasks_than_the_service_is_to_have_is_not_done() {
        let mut two = service(json!([deployment("PRIMARY", "arn:2", 1)]));
        two.desired_count = 2;
        assert_eq!(two.rollout("arn:2"), Rollout::GoesOn);
    }

    #[test]
    fn limits_leave_no_room_where_as_many_have_to_be_there_as_may_be() {
        for (tasks, least, most, has_room) in [
            (1, 100, Some(200), true),
            (1, 100, None, true),
            (1, 0, Some(100), true),
            (1, 50, Some(200), true),
            (1, 100, Some(100), false),
            (1, 50, Some(100), false),
            (1, 100, Some(150), false),
            (2, 50, Some(100), true),
            (2, 100, Some(150), true),
            (2, 100, Some(100), false),
        ] {
            let mut of = service(json!([]));
            let breaker = json!({"enable": true, "rollback": true});
            of.deployment_configuration = Some(DeploymentConfiguration {
                strategy: Some("ROLLING".into()),
                minimum_healthy_percent: Some(least),
                maximum_percent: most,
                deployment_circuit_breaker: Some(breaker.clone()),
                alarms: None,
            });
            assert_eq!(of.can_replace(tasks, least), has_room, "{tasks}: {least} to {most:?}");
            assert_eq!(of.minimum_healthy_percent(), Some(least));
            let written = serde_json::to_value(of.deployment_configuration).unwrap();
            assert_eq!(written["deploymentCircuitBreaker"], breaker);
            assert_eq!(written["minimumHealthyPercent"], json!(least));
            assert!(written.get("alarms").is_none() && written.get("strategy").is_none());
        }
        let unsaid = service(json!([]));
        assert_eq!((unsaid.minimum_healthy_percent(), unsaid.can_replace(1, 100)), (None, true));
    }

    #[test]
    fn one_that_fails_is_told_by_its_tasks_and_by_the_circuit_breaker() {
        let mut young = deployment("PRIMARY", "arn:2", 0);
        young["failedTasks"] = json!(1);
        assert_eq!(service(json!([young])).rollout("arn:2"), Rollout::GoesOn);
        young["failedTasks"] = json!(2);
        let rollout = service(json!([young])).rollout("arn:2");
        assert!(matches!(rollout, Rollout::Failed { ref why } if why.starts_with("2 of")));
        let mut broken = deployment("ACTIVE", "arn:2", 0);
        broken["rolloutState"] = json!("FAILED");
        broken["rolloutStateReason"] = json!("circuit breaker");
        let back = deployment("PRIMARY", "arn:1", 1);
        let rollout = service(json!([back, broken])).rollout("arn:2");
        assert_eq!(rollout, Rollout::Failed { why: "circuit breaker".into() });
        let again = deployment("PRIMARY", "arn:2", 0);
        assert_eq!(service(json!([broken, again])).rollout("arn:2"), Rollout::GoesOn);
    }

    #[test]
    fn what_cannot_be_tuned_as_it_stands_is_refused() {
        let name: ServiceName = "prod/shop".parse().unwrap();
        let (one, two) = (deployment("PRIMARY", "a", 1), deployment("ACTIVE", "b", 1));
        service(json!([one])).check(&name).unwrap();
        assert!(service(json!([one, two])).check(&name).is_err());
        assert!(service(json!([deployment("PRIMARY", "a", 0)])).check(&name).is_err());
        let with = |change: fn(&mut Service)| {
            let mut changed = service(json!([one]));
            change(&mut changed);
            changed.check(&name).unwrap_err().to_string()
        };
        assert!(with(|it| it.desired_count = 0).contains("no task"));
        assert!(with(|it| it.status = "DRAINING".into()).contains("DRAINING"));
        let other = with(|it| {
            it.deployment_controller = Some(Controller { kind: "CODE_DEPLOY".into() });
        });
        assert!(other.contains("CODE_DEPLOY") && other.contains("--apply"));
        assert!(with(|it| it.scheduling_strategy = Some("DAEMON".into())).contains("DAEMON"));
    }
}
