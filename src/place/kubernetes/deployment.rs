//! What a Deployment says of its pods. What it is to say of them for one start is `starting.rs`'s
//! to know, what it says again after the session `restored.rs`'s, and what is written on it
//! meanwhile `note.rs`'s.
//!
//! In: objects as JSON. Out: what is known of them. Only computes.

mod note;
mod restored;
mod starting;

use std::collections::BTreeMap;

use serde_json::Value;

pub use note::{before, before_of, first_change, further_change, put_back};
pub use restored::restored;
pub use starting::{RUN, Wanted, is_of_start, resources, spec};

use super::fields::{condition, elements, text};
use super::quantity;
use super::template::app_of;

/// Who puts a Deployment back to what a repository says, by how the names of labels and annotations
/// begin that such programs write on it, or read. (Argo CD may go by `app.kubernetes.io/instance`
/// alone, which Helm writes too: that says nothing.)
const KEPT_BY: [(&str, &str); 3] = [
    ("argocd.argoproj.io/", "Argo CD"),
    ("kustomize.toolkit.fluxcd.io/name", "Flux"),
    ("helm.toolkit.fluxcd.io/name", "Flux"),
];

/// The container that runs the app.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// Among the pod's.
    pub index: usize,
    pub name: String,
    pub image: String,
    /// What it may use at most; `None`: no limit.
    pub cores: Option<f64>,
    pub memory_bytes: Option<u64>,
    /// Those of its variables whose values stand in the object.
    pub variables: BTreeMap<String, String>,
    /// Those whose values are elsewhere: in a Secret, a ConfigMap or the pod itself.
    pub elsewhere: Vec<String>,
}

/// Finds the container with this name, or the only one.
///
/// # Errors
/// There are several, or none has this name; in words.
pub fn container(deployment: &Value, named: Option<&str>) -> Result<Container, String> {
    let all = elements(&deployment["spec"]["template"]["spec"]["containers"]);
    let name_of = |one: &Value| text(&one["name"]).to_string();
    let found = app_of(all, named).map_err(|error| error.to_string())?;
    let one = found.ok_or("its pods have no container")?;
    let index = all.iter().position(|it| it["name"] == one["name"]).unwrap_or_default();
    let (elsewhere, here): (Vec<&Value>, Vec<&Value>) =
        elements(&one["env"]).iter().partition(|of| of.get("valueFrom").is_some());
    let value = |of: &Value| text(&of["value"]).to_string();
    Ok(Container {
        index,
        name: name_of(one),
        image: text(&one["image"]).to_string(),
        cores: quantity::limit(one, "cpu"),
        memory_bytes: quantity::limit(one, "memory").map(|bytes| bytes as u64),
        variables: here.iter().map(|of| (name_of(of), value(of))).collect(),
        elsewhere: elsewhere.iter().map(|of| name_of(of)).collect(),
    })
}

/// Which of the cluster's programs puts it back to what a repository says, if one does.
pub fn kept_by(deployment: &Value) -> Option<&'static str> {
    let metadata = &deployment["metadata"];
    let all = ["labels", "annotations"].map(|kind| metadata[kind].as_object());
    let names: Vec<&String> = all.into_iter().flatten().flat_map(|it| it.keys()).collect();
    let is_on = |begin: &str| names.iter().any(|name| name.starts_with(begin));
    KEPT_BY.iter().find(|(begin, _)| is_on(begin)).map(|(_, program)| *program)
}

/// The labels by which it finds its pods, as a selector is written.
pub fn labels(deployment: &Value) -> BTreeMap<String, String> {
    texts(&deployment["spec"]["selector"]["matchLabels"])
}

/// The labels that its pods have.
pub fn labels_of_pods(deployment: &Value) -> BTreeMap<String, String> {
    texts(&deployment["spec"]["template"]["metadata"]["labels"])
}

fn texts(object: &Value) -> BTreeMap<String, String> {
    let all = object.as_object().into_iter().flatten();
    all.map(|(key, value)| (key.clone(), text(value).to_string())).collect()
}

/// Whether it can be tuned.
///
/// # Errors
/// It is paused, or finds its pods in a way that we don't; in words.
pub fn check(deployment: &Value) -> Result<(), String> {
    let desired = &deployment["spec"];
    let expressions = desired["selector"]["matchExpressions"].as_array();
    if expressions.is_some_and(|all| !all.is_empty()) || labels(deployment).is_empty() {
        return Err("it finds its pods by expressions, which this cannot follow".into());
    }
    if desired["paused"] == true {
        return Err(
            "it is paused, so that nothing rolls out; resume it ('kubectl rollout resume')".into(),
        );
    }
    // Changed in its midst, the number of pods and the strategy with it, a rollout never gets on.
    let count = |what: &str| deployment["status"][what].as_u64().unwrap_or(0);
    let (all, new) = (count("replicas"), count("updatedReplicas"));
    match all > new {
        true => Err(format!(
            "it is being rolled out: {} of its {all} pods are not of its newest revision; wait \
             until that is over ('kubectl rollout status'), or undo it ('kubectl rollout undo')",
            all - new
        )),
        false => Ok(()),
    }
}

/// As a selector is written in a query.
pub fn selector(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// Whether the cluster has done what the object says since it was changed to this generation: these
/// pods are there, all of them new, no other is, and they serve.
pub fn is_rolled_out(deployment: &Value, generation: i64, pods: u16) -> bool {
    let status = &deployment["status"];
    let count = |what: &str| status[what].as_i64().unwrap_or(0);
    let is_seen = count("observedGeneration") >= generation;
    let counts = ["replicas", "updatedReplicas", "availableReplicas"].map(count);
    is_seen && counts == [i64::from(pods); 3]
}

/// Why none of its pods is made (a quota, a policy), as the cluster says it.
pub fn why_no_pods(deployment: &Value) -> Option<String> {
    let failure = condition(deployment, "ReplicaFailure", "True")?;
    Some(failure["message"].as_str()?.to_string())
}

/// Which object this is: somebody else's change makes another generation of it.
pub fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub fn shop() -> Value {
        json!({
            "metadata": { "name": "shop", "generation": 3,
                "annotations": { "deployment.kubernetes.io/revision": "1" } },
            "spec": {
                "replicas": 3,
                "selector": { "matchLabels": { "app": "shop", "tier": "web" } },
                "strategy": { "type": "RollingUpdate" },
                "template": {
                    "metadata": { "labels": { "app": "shop" } },
                    "spec": { "containers": [{
                        "name": "puma", "image": "shop:1",
                        "env": [
                            { "name": "WEB_CONCURRENCY", "value": "2" },
                            { "name": "KEY", "valueFrom": { "secretKeyRef": {} } },
                            { "name": "POOL", "value": "$(WEB_CONCURRENCY)" },
                        ],
                        "resources": { "limits": { "cpu": "1500m", "memory": "512Mi" } },
                        "livenessProbe": { "httpGet": { "path": "/up", "port": 9292 } },
                        "readinessProbe": { "tcpSocket": { "port": 9292 }, "periodSeconds": 10 },
                    }]},
                },
            },
        })
    }

    #[test]
    fn the_apps_container_is_the_only_one_or_the_named_one() {
        let mut deployment = shop();
        let found = container(&deployment, None).unwrap();
        assert_eq!((found.cores, found.memory_bytes), (Some(1.5), Some(512 << 20)));
        assert_eq!(found.variables["WEB_CONCURRENCY"], "2");
        assert_eq!(found.elsewhere, ["KEY"]);
        let all = &mut deployment["spec"]["template"]["spec"]["containers"];
        all.as_array_mut().unwrap().push(json!({ "name": "proxy" }));
        let error = container(&deployment, None).unwrap_err();
        assert!(error.contains("(puma, proxy)") && error.contains("--container"), "{error}");
        assert_eq!(container(&deployment, Some("proxy")).unwrap().index, 1);
        assert!(container(&deployment, Some("none")).unwrap_err().contains("puma, proxy"));
    }

    #[test]
    fn a_rollout_is_over_once_all_pods_are_new_and_no_other_is_there() {
        let at = |seen: i64, counts: [i64; 3]| {
            let status = json!({ "observedGeneration": seen, "replicas": counts[0],
                "updatedReplicas": counts[1], "availableReplicas": counts[2] });
            [1, 2].map(|pods| is_rolled_out(&json!({ "status": status }), 4, pods))
        };
        assert_eq!(at(4, [1, 1, 1]), [true, false]);
        assert_eq!(at(4, [2, 2, 2]), [false, true]);
        assert_eq!(at(3, [1, 1, 1]), [false, false], "that was before the change");
        assert_eq!(at(4, [2, 1, 1]), [false, false]);
        assert_eq!(at(4, [1, 1, 0]), [false, false]);
        assert!(!is_rolled_out(&json!({}), 1, 1));
    }

    #[test]
    fn one_that_is_being_rolled_out_is_not_changed() {
        let mut deployment = shop();
        deployment["status"] = json!({ "replicas": 2, "updatedReplicas": 2 });
        check(&deployment).unwrap();
        deployment["status"]["replicas"] = 3.into();
        let said = check(&deployment).unwrap_err();
        assert!(said.contains("1 of its 3 pods are not of its newest"), "{said}");
    }

    #[test]
    fn why_its_pods_are_not_made_is_told() {
        let message = "pods \"shop-1\" is forbidden: exceeded quota: few";
        let of = |kind: &str, status: &str| {
            let condition = json!({ "type": kind, "status": status, "message": message });
            why_no_pods(&json!({ "status": { "conditions": [condition] } }))
        };
        assert_eq!(of("ReplicaFailure", "True").as_deref(), Some(message));
        assert_eq!(of("ReplicaFailure", "False"), None);
        assert_eq!(of("Progressing", "True"), None);
        assert_eq!(why_no_pods(&json!({})), None);
    }

    #[test]
    fn who_keeps_it_as_a_repository_says_is_named() {
        let mut deployment = shop();
        assert_eq!(kept_by(&deployment), None);
        deployment["metadata"]["labels"] = json!({ "kustomize.toolkit.fluxcd.io/name": "x" });
        assert_eq!(kept_by(&deployment), Some("Flux"));
        let of_helm = json!({ "app.kubernetes.io/instance": "shop" });
        let mut argo = shop();
        argo["metadata"]["labels"] = of_helm;
        assert_eq!(kept_by(&argo), None);
        for key in ["instance", "tracking-id", "sync-wave"] {
            let key = format!("argocd.argoproj.io/{key}");
            argo["metadata"]["annotations"] = json!({ key: "1" });
            assert_eq!(kept_by(&argo), Some("Argo CD"));
        }
        assert_eq!(selector(&labels(&deployment)), "app=shop,tier=web");
    }
}
