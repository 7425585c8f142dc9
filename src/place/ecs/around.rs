//! What else would change a service while it is tuned, or hold it up: what scales it, and how long
//! its load balancers let a task finish that ends.
//!
//! In: a service's name and target groups. Out: what they were; and the same, put for the time or
//! put back.

use serde_json::{Value, json};

use super::aws::{AwsError, ask};
use super::name::ServiceName;

const SCALING: &str = "application-autoscaling";
const BALANCING: &str = "elbv2";

/// What AWS says where a target group is not there.
const NO_GROUP: &str = "TargetGroupNotFound";

/// Of a target group: how long a task may finish what it has.
const DRAIN: &str = "deregistration_delay.timeout_seconds";

/// For the time. No user's request is on its way there, and each setting would wait for it.
pub const SHORT_DRAIN: &str = "5";

/// What of a service's scaling is suspended. `None`: nothing scales it.
///
/// # Errors
/// As AWS says it.
pub fn suspended(name: &ServiceName) -> Result<Option<Value>, AwsError> {
    let resource = resource(name);
    let asked = [
        "--service-namespace",
        "ecs",
        "--resource-ids",
        &resource,
        "--scalable-dimension",
        "ecs:service:DesiredCount",
    ];
    let found = ask((SCALING, "describe-scalable-targets"), &asked, None)?;
    let scaled = found["ScalableTargets"].as_array().and_then(|all| all.first());
    Ok(scaled.map(|it| match &it["SuspendedState"] {
        Value::Null => all_of_it(false),
        state => state.clone(),
    }))
}

/// Of scaling in, out and by the clock.
pub fn all_of_it(is_suspended: bool) -> Value {
    json!({
        "DynamicScalingInSuspended": is_suspended,
        "DynamicScalingOutSuspended": is_suspended,
        "ScheduledScalingSuspended": is_suspended,
    })
}

/// Suspends a service's scaling, or lets it scale again, as the state says.
///
/// # Errors
/// As AWS says it.
pub fn suspend(name: &ServiceName, state: &Value) -> Result<(), AwsError> {
    let request = json!({
        "ServiceNamespace": "ecs",
        "ScalableDimension": "ecs:service:DesiredCount",
        "ResourceId": resource(name),
        "SuspendedState": state,
    });
    ask((SCALING, "register-scalable-target"), &[], Some(&request)).map(drop)
}

fn resource(name: &ServiceName) -> String {
    format!("service/{}/{}", name.cluster, name.service)
}

/// How long a target group lets a task finish; `None`: it does not say, or was deleted.
///
/// # Errors
/// As AWS says it.
pub fn drain(group: &str) -> Result<Option<String>, AwsError> {
    let asked = ["--target-group-arn", group];
    let found = match ask((BALANCING, "describe-target-group-attributes"), &asked, None) {
        Err(error) if error.is_of_kind(NO_GROUP) => return Ok(None),
        found => found?,
    };
    let all = found["Attributes"].as_array();
    let one = all.and_then(|all| all.iter().find(|it| it["Key"] == DRAIN));
    Ok(one.and_then(|it| it["Value"].as_str()).map(str::to_string))
}

/// # Errors
/// As AWS says it.
pub fn set_drain(group: &str, seconds: &str) -> Result<(), AwsError> {
    let request = json!({
        "TargetGroupArn": group,
        "Attributes": [{ "Key": DRAIN, "Value": seconds }],
    });
    ask((BALANCING, "modify-target-group-attributes"), &[], Some(&request)).map(drop)
}
