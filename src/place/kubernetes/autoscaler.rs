//! Autoscalers of a Deployment, held still while it is tuned.
//!
//! In: a namespace and the Deployment's name. Out: what was held, as what is written on each.

use serde_json::Value;

use super::api::{Api, ApiError};
use super::deployment::{self, Before};
use super::paths;

fn collection(namespace: &str) -> String {
    paths::of_group("autoscaling/v2", namespace, "horizontalpodautoscalers")
}

/// Those that scale this Deployment.
///
/// # Errors
/// They may not be listed, or the API server does not answer.
pub fn of(api: &dyn Api, namespace: &str, deployment: &str) -> Result<Vec<Value>, ApiError> {
    let list = api.get(&collection(namespace))?.unwrap_or_default();
    let all = list["items"].as_array().cloned().unwrap_or_default();
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

/// Keeps it from making more pods than one, after it was written down what it said before.
///
/// # Errors
/// It may not be changed, somebody else has changed it, or the API server does not answer.
pub fn hold(api: &dyn Api, autoscaler: &Value, run: &str) -> Result<(), ApiError> {
    let mut spec = autoscaler["spec"].clone();
    spec["minReplicas"] = 1.into();
    spec["maxReplicas"] = 1.into();
    let operations = deployment::first_change(autoscaler, run, &spec);
    api.patch(&path(autoscaler), &operations).map(drop)
}

/// Lets it scale as before. Returns whether it was held.
///
/// # Errors
/// It may not be changed, somebody else has changed it, or the API server does not answer.
pub fn let_go(api: &dyn Api, autoscaler: &Value) -> Result<bool, ApiError> {
    let Some(before) = deployment::before(autoscaler) else { return Ok(false) };
    let operations = match is_held(autoscaler, &before) {
        true => deployment::put_back(autoscaler, &before),
        // Somebody has set it anew.
        false => deployment::forget(),
    };
    api.patch(&path(autoscaler), &operations).map(|_| true)
}

/// It says what we had it say.
fn is_held(autoscaler: &Value, before: &Before) -> bool {
    let mut ours = before.spec.clone();
    ours["minReplicas"] = 1.into();
    ours["maxReplicas"] = 1.into();
    autoscaler["spec"] == ours
}

fn path(autoscaler: &Value) -> String {
    let metadata = &autoscaler["metadata"];
    format!("{}/{}", collection(text(&metadata["namespace"])), text(&metadata["name"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_that_was_held_is_told_from_one_that_was_set_anew() {
        let before = json!({ "minReplicas": 2, "maxReplicas": 9, "metrics": [] });
        let kept = json!({ "run": "r", "spec": before }).to_string();
        let annotations = json!({ (deployment::BEFORE): kept });
        let now = |spec: Value| json!({ "metadata": { "annotations": annotations }, "spec": spec });
        let held = now(json!({ "minReplicas": 1, "maxReplicas": 1, "metrics": [] }));
        let before = deployment::before(&held).unwrap();
        assert!(is_held(&held, &before));
        let anew = now(json!({ "minReplicas": 3, "maxReplicas": 4, "metrics": [] }));
        assert!(!is_held(&anew, &before));
    }

    #[test]
    fn who_owns_it_is_named() {
        let owned = json!({ "metadata": { "ownerReferences": [
            { "kind": "ScaledObject", "name": "shop" }] } });
        assert_eq!(owner(&owned).as_deref(), Some("ScaledObject shop"));
        assert_eq!(owner(&json!({})), None);
    }
}
