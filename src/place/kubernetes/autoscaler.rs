//! Autoscalers of a Deployment, held still while it is tuned; vertical ones are only seen.
//!
//! In: a namespace and the Deployment's name. Out: what was held, as what is written on each.

use serde_json::{Value, json};

use super::api::{Api, ApiError, items};
use super::fields::{elements, name, text};
use super::{deployment, paths};

fn collection(namespace: &str) -> String {
    paths::of_group("autoscaling/v2", namespace, "horizontalpodautoscalers")
}

/// KEDA's, each of which makes an autoscaler of Kubernetes' own and keeps that as it is.
fn of_keda(namespace: &str) -> String {
    paths::of_group("keda.sh/v1alpha1", namespace, "scaledobjects")
}

/// Vertical ones.
fn verticals(namespace: &str) -> String {
    paths::of_group("autoscaling.k8s.io/v1", namespace, "verticalpodautoscalers")
}

/// Has KEDA keep this many pods, without an autoscaler, for as long as it is there.
const PAUSED: &str = "/metadata/annotations/autoscaling.keda.sh~1paused-replicas";

/// The pods of a Deployment that is tuned.
const ONE: &str = "1";

/// Those that scale this Deployment. What KEDA makes is left to what it is made of, unless that may
/// not be seen.
///
/// # Errors
/// They may not be listed, or the API server does not answer.
pub fn of(api: &dyn Api, namespace: &str, deployment: &str) -> Result<Vec<Value>, ApiError> {
    let of_keda = seen(api, &of_keda(namespace))?;
    Ok(among(items(api.get(&collection(namespace))?), of_keda, deployment))
}

/// The names of the vertical ones that change what this Deployment's pods request, unless they may
/// not be seen.
///
/// # Errors
/// The API server does not answer.
pub fn vertical(api: &dyn Api, namespace: &str, deployment: &str) -> Result<Vec<String>, ApiError> {
    Ok(resizing(&seen(api, &verticals(namespace))?, deployment))
}

/// What is there of a kind that a cluster need not have, and that a role need not name.
fn seen(api: &dyn Api, collection: &str) -> Result<Vec<Value>, ApiError> {
    match api.get(collection) {
        Err(ApiError::Forbidden { .. }) => Ok(Vec::new()),
        found => Ok(items(found?)),
    }
}

/// One that says no mode has the one that replaces pods; one that is off only recommends.
fn resizing(verticals: &[Value], deployment: &str) -> Vec<String> {
    let resizes = |one: &&Value| {
        let (target, policy) = (&one["spec"]["targetRef"], &one["spec"]["updatePolicy"]);
        let is_target = target["kind"] == "Deployment" && target["name"] == *deployment;
        is_target && policy["updateMode"] != "Off"
    };
    verticals.iter().filter(resizes).map(name).collect()
}

fn among(of_kubernetes: Vec<Value>, of_keda: Vec<Value>, deployment: &str) -> Vec<Value> {
    let scales = |one: &Value| {
        let target = &one["spec"]["scaleTargetRef"];
        let is_deployment = target["kind"] == "Deployment" || target["kind"].is_null();
        is_deployment && target["name"] == *deployment
    };
    let of_keda: Vec<Value> = of_keda.into_iter().filter(scales).collect();
    let is_made_of = |one: &Value, owner: &Value| {
        let is_it =
            |it: &Value| it["kind"] == "ScaledObject" && it["name"] == owner["metadata"]["name"];
        elements(&one["metadata"]["ownerReferences"]).iter().any(is_it)
    };
    let is_own = |one: &Value| scales(one) && !of_keda.iter().any(|owner| is_made_of(one, owner));
    let own: Vec<Value> = of_kubernetes.into_iter().filter(is_own).collect();
    [own, of_keda].concat()
}

/// Lists say nothing of the kind of what is in them; only KEDA's have triggers.
fn is_of_keda(autoscaler: &Value) -> bool {
    autoscaler["spec"]["triggers"].is_array()
}

/// How many pods KEDA keeps where it is paused.
fn paused_at(of_keda: &Value) -> Option<&str> {
    of_keda.pointer(PAUSED).map(text)
}

/// A number of pods that somebody has paused it at, and which is not the one that is tuned.
pub fn paused_elsewhere(autoscaler: &Value) -> Option<&str> {
    paused_at(autoscaler).filter(|pods| is_of_keda(autoscaler) && *pods != ONE)
}

/// Who keeps it as it is and would undo what we change: KEDA's objects own theirs.
pub fn owner(autoscaler: &Value) -> Option<String> {
    let first = elements(&autoscaler["metadata"]["ownerReferences"]).first()?;
    Some(format!("{} {}", text(&first["kind"]), text(&first["name"])))
}

/// Keeps it from making more pods than one, after it was written down what it said before. One that
/// is held already stays so: an answer may have been lost.
///
/// # Errors
/// It may not be changed, somebody else has changed it, or the API server does not answer.
pub fn hold(api: &dyn Api, autoscaler: &Value, run: &str) -> Result<(), ApiError> {
    let path = path(autoscaler);
    let Some(now) = api.get(&path)? else { return Ok(()) };
    if deployment::before(&now).is_some() || is_of_keda(&now) && paused_at(&now).is_some() {
        return Ok(());
    }
    let mut spec = now["spec"].clone();
    if is_of_keda(&now) {
        let pause = json!({ "op": "add", "path": PAUSED, "value": ONE });
        let change = deployment::first_change(&now, run, &spec);
        return api.patch(&path, &and(change, pause)).map(drop);
    }
    LIMITS.iter().for_each(|key| spec[*key] = 1.into());
    api.patch(&path, &deployment::first_change(&now, run, &spec)).map(drop)
}

/// Lets it scale as before. `of`: only where this run held it. Returns whether it was held.
///
/// # Errors
/// It may not be changed, somebody else has changed it, or the API server does not answer.
pub fn let_go(api: &dyn Api, autoscaler: &Value, of: Option<&str>) -> Result<bool, ApiError> {
    let path = path(autoscaler);
    let Some(now) = api.get(&path)? else { return Ok(false) };
    let Some(before) = deployment::before_of(&now, of) else { return Ok(false) };
    if is_of_keda(&now) {
        let change = deployment::put_back(&now, &now["spec"]);
        let go_on = json!({ "op": "remove", "path": PAUSED });
        // Another number is somebody else's.
        let change = if paused_at(&now) == Some(ONE) { and(change, go_on) } else { change };
        return api.patch(&path, &change).map(|_| true);
    }
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

/// One operation more.
fn and(operations: Value, more: Value) -> Value {
    let all = operations.as_array().cloned().unwrap_or_default();
    all.into_iter().chain([more]).collect()
}

fn path(autoscaler: &Value) -> String {
    let namespace = text(&autoscaler["metadata"]["namespace"]);
    let of_kind = if is_of_keda(autoscaler) { of_keda(namespace) } else { collection(namespace) };
    format!("{of_kind}/{}", name(autoscaler))
}

#[cfg(test)]
mod tests {
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
    fn one_of_kedas_stands_for_the_autoscaler_that_it_makes() {
        let owners = json!([{ "kind": "ScaledObject", "name": "by-queue" }]);
        let made = json!({
            "metadata": { "name": "keda", "namespace": "web", "ownerReferences": owners },
            "spec": { "scaleTargetRef": { "kind": "Deployment", "name": "shop" } },
        });
        let of_keda = |deployment: &str| {
            json!({
                "metadata": { "name": "by-queue", "namespace": "web" },
                "spec": { "scaleTargetRef": { "name": deployment }, "triggers": [] },
            })
        };
        let found = among(vec![made.clone()], vec![of_keda("shop")], "shop");
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(path(one), "/apis/keda.sh/v1alpha1/namespaces/web/scaledobjects/by-queue");
        assert_eq!(owner(one), None);
        assert_eq!(among(Vec::new(), vec![of_keda("other")], "shop"), Vec::<Value>::new());
        // Where KEDA's may not be seen.
        let found = among(vec![made], Vec::new(), "shop");
        assert_eq!(owner(&found[0]).as_deref(), Some("ScaledObject by-queue"));
    }

    #[test]
    fn a_vertical_one_of_the_deployment_is_named_unless_it_only_recommends() {
        let one = |name: &str, (kind, of): (&str, &str), policy: Value| {
            json!({
                "apiVersion": "autoscaling.k8s.io/v1",
                "kind": "VerticalPodAutoscaler",
                "metadata": { "name": name, "namespace": "web" },
                "spec": {
                    "targetRef": { "apiVersion": "apps/v1", "kind": kind, "name": of },
                    "updatePolicy": policy,
                },
            })
        };
        let shop = ("Deployment", "shop");
        let all = [
            one("auto", shop, json!({ "updateMode": "Auto", "minReplicas": 1 })),
            one("initial", shop, json!({ "updateMode": "Initial" })),
            one("off", shop, json!({ "updateMode": "Off" })),
            one("unsaid", shop, Value::Null),
            one("anothers", ("Deployment", "blog"), Value::Null),
            one("of-a-set", ("StatefulSet", "shop"), Value::Null),
        ];
        assert_eq!(resizing(&all, "shop"), ["auto", "initial", "unsaid"]);
        let path = "/apis/autoscaling.k8s.io/v1/namespaces/web/verticalpodautoscalers";
        assert_eq!(verticals("web"), path);
    }

    #[test]
    fn who_owns_it_is_named() {
        let owned = json!({ "metadata": { "ownerReferences": [
            { "kind": "ScaledObject", "name": "shop" }] } });
        assert_eq!(owner(&owned).as_deref(), Some("ScaledObject shop"));
        assert_eq!(owner(&json!({})), None);
    }
}
