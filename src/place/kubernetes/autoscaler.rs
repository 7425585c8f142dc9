//! Autoscalers of a Deployment, held still while it is tuned.
//!
//! In: a namespace and the Deployment's name. Out: what was held, as what is written on each.

use serde_json::Value;

use super::api::{Api, ApiError, items};
use super::deployment;
use super::paths;

fn collection(namespace: &str) -> String {
    paths::of_group("autoscaling/v2", namespace, "horizontalpodautoscalers")
}

/// Those that scale this Deployment.
///
/// # Errors
/// They may not be listed, or the API server does not answer.
pub fn of(api: &dyn Api, namespace: &str, deployment: &str) -> Result<Vec<Value>, ApiError> {
    let all = items(api.get(&collection(namespace))?);
    let scales = |one: &Value| {
        let target = &one["spec"]["scaleTargetRef"];
        target["kind"] == "Deployment" && target["name"] == *deployment
    };
    Ok(all.into_iter().filter(scales).collect())
}

/// Who keeps it as it is and would undo what we change: KEDA's objects own theirs.
pub fn owner(autoscaler: &Value) -> Option<String> {
    let owners = autoscaler["metadata"]["ownerReferences"].as_array()?;
    let name = |one: &Value| format!("{} {}", text(&one["kind"]), text(&one["name"]));
    owners.first().map(name)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Keeps it from making more pods than one, after it was written down what it said before. One that
/// is held already stays so: an answer may have been lost.
///
/// # Errors
/// It may not be changed, somebody else has changed it, or the API server does not answer.
pub fn hold(api: &dyn Api, autoscaler: &Value, run: &str) -> Result<(), ApiError> {
    let path = path(autoscaler);
    let Some(now) = api.get(&path)? else { return Ok(()) };
    if deployment::before(&now).is_some() {
        return Ok(());
    }
    let mut spec = now["spec"].clone();
    LIMITS.iter().for_each(|key| spec[*key] = 1.into());
    api.patch(&path, &deployment::first_change(&now, run, &spec)).map(drop)
}

/// Lets it scale as before. Returns whether it was held.
///
/// # Errors
/// It may not be changed, somebody else has changed it, or the API server does not answer.
pub fn let_go(api: &dyn Api, autoscaler: &Value) -> Result<bool, ApiError> {
    let path = path(autoscaler);
    let Some(now) = api.get(&path)? else { return Ok(false) };
    let Some(before) = deployment::before(&now) else { return Ok(false) };
    let spec = released(&now["spec"], &before.spec);
    api.patch(&path, &deployment::put_back(&now, &spec)).map(|_| true)
}

/// With its own limits again, unless somebody has set others meanwhile.
fn released(today: &Value, before: &Value) -> Value {
    let mut spec = today.clone();
    if LIMITS.iter().all(|key| today[*key] == 1) {
        LIMITS.iter().for_each(|key| spec[*key] = before[*key].clone());
    }
    spec
}

const LIMITS: [&str; 2] = ["minReplicas", "maxReplicas"];

fn path(autoscaler: &Value) -> String {
    let metadata = &autoscaler["metadata"];
    format!("{}/{}", collection(text(&metadata["namespace"])), text(&metadata["name"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_that_was_held_gets_its_limits_again_and_keeps_what_others_have_set() {
        let before = json!({ "minReplicas": 2, "maxReplicas": 9, "metrics": [] });
        let held = json!({ "minReplicas": 1, "maxReplicas": 1, "metrics": [7] });
        let expected = json!({ "minReplicas": 2, "maxReplicas": 9, "metrics": [7] });
        assert_eq!(released(&held, &before), expected);
        let anew = json!({ "minReplicas": 3, "maxReplicas": 4, "metrics": [] });
        assert_eq!(released(&anew, &before), anew);
    }

    #[test]
    fn who_owns_it_is_named() {
        let owned = json!({ "metadata": { "ownerReferences": [
            { "kind": "ScaledObject", "name": "shop" }] } });
        assert_eq!(owner(&owned).as_deref(), Some("ScaledObject shop"));
        assert_eq!(owner(&json!({})), None);
    }
}
