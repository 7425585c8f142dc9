//! The objects that a load of several pods is made of, as the API server takes them.
//!
//! In: what the pods are to be like. Out: JSON. Only computes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{paths, quantity};

/// What all pods of a run have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct PodOf {
    /// With its digest, if that was asked for.
    pub image: String,
    /// `None`: as the cluster has it for this image.
    pub pull_policy: Option<String>,
    /// Cores and bytes of each generator; requested and the most that it gets.
    pub cpus: f64,
    pub memory_bytes: u64,
    /// For everything, from its beginning: then the cluster ends it.
    pub deadline: Duration,
    /// For replies that are awaited once it is asked to end.
    pub grace: Duration,
    /// Generators are kept away from nodes that run pods with these labels, where there are others.
    pub away_from: BTreeMap<String, String>,
}

/// For what ends at once.
pub const GRACE: Duration = Duration::from_secs(30);

/// Seconds that what is over stays where we are not there any more to remove it.
const KEPT_S: u32 = 60;

/// Every object of a run has these.
fn labels(run: &str, role: &str) -> Value {
    json!({
        "app.kubernetes.io/name": "sweetspot",
        "app.kubernetes.io/managed-by": "sweetspot",
        "sweetspot/run": run,
        "sweetspot/role": role,
    })
}

/// Which pods of a run have this role.
pub fn selector(run: &str, role: &str) -> String {
    format!("sweetspot/run={run},sweetspot/role={role}")
}

/// The role of the pod that adds up what the others record.
pub const COLLECTOR: &str = "collector";

/// Of the Job, its pods and its files.
pub fn name(run: &str, role: &str) -> String {
    format!("sweetspot-{run}-{role}")
}

/// Where the Job of a role is.
pub fn job_path(namespace: &str, run: &str, role: &str) -> String {
    format!("{}/{}", paths::jobs(namespace), name(run, role))
}

/// Waits for the generators and says what they sent.
pub fn collector(run: &str, pod: &PodOf, arguments: &[String], token: &str) -> Value {
    let size = json!({ "cpu": "500m", "memory": "256Mi" });
    let container = container(COLLECTOR, pod, arguments, token, &size);
    job(run, COLLECTOR, pod, (1, &json!({})), container, None)
}

/// `owner`: the collector's Job.
pub fn generators(
    run: &str,
    pod: &PodOf,
    (count, arguments, token): (u16, &[String], &str),
    owner: &Value,
) -> Value {
    let size = quantity::size(pod.cpus, pod.memory_bytes);
    let container = container("generators", pod, arguments, token, &size);
    let spread = json!({
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {
                "matchLabels": { "sweetspot/run": run, "sweetspot/role": "generator" },
            },
        }],
        "affinity": away(&pod.away_from),
    });
    job(run, "generator", pod, (count, &spread), container, Some(owner))
}

/// Pods that stand on as many nodes as there are of them, and send nothing.
pub fn lookers(run: &str, role: &str, pod: &PodOf, (count, arguments): (u16, &[String])) -> Value {
    let size = quantity::size(pod.cpus, pod.memory_bytes);
    let spread = json!({ "topologySpreadConstraints": [{
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": { "matchLabels": { "sweetspot/run": run } },
    }]});
    job(run, role, pod, (count, &spread), container(role, pod, arguments, "", &size), None)
}

/// Files that pods of a run read, in a folder of their own. A Secret, as headers and bodies are
/// among them; we make it and never read one.
pub fn files(run: &str, files: &BTreeMap<String, String>, owner: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name(run, "files"),
            "labels": labels(run, "files"),
            "ownerReferences": [owner_reference(owner)],
        },
        "stringData": files,
    })
}

fn away(labels: &BTreeMap<String, String>) -> Value {
    if labels.is_empty() {
        return json!({});
    }
    json!({ "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{
        "weight": 100,
        "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": { "matchLabels": labels },
        },
    }]}})
}

/// An operation (RFC 6902) by which an object that is there goes with this one.
pub fn belongs_to(owner: &Value) -> Value {
    json!({
        "op": "add",
        "path": "/metadata/ownerReferences",
        "value": [owner_reference(owner)],
    })
}

/// As it stands on what goes with this object.
fn owner_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    })
}

fn container(name: &str, pod: &PodOf, arguments: &[String], token: &str, size: &Value) -> Value {
    let mut container = json!({
        "name": name,
        "image": pod.image,
        "args": arguments,
        "env": [
            { "name": "SWEETSPOT_FLEET_TOKEN", "value": token },
            { "name": "SWEETSPOT_LOCK", "value": "" },
        ],
        "resources": { "requests": size, "limits": size },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "volumeMounts": [
            { "name": "tmp", "mountPath": "/tmp" },
            { "name": "files", "mountPath": "/files", "readOnly": true },
        ],
    });
    if let Some(policy) = &pod.pull_policy {
        container["imagePullPolicy"] = policy.clone().into();
    }
    container
}

fn job(
    run: &str,
    role: &str,
    pod: &PodOf,
    (count, placed): (u16, &Value),
    container: Value,
    owner: Option<&Value>,
) -> Value {
    let files = json!({
        "name": "files",
        "secret": { "secretName": name(run, "files"), "optional": true },
    });
    let mut spec = json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": pod.grace.as_secs(),
        "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
        "containers": [container],
        "volumes": [{ "name": "tmp", "emptyDir": {} }, files],
    });
    for (key, value) in placed.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let mut metadata = json!({ "name": name(run, role), "labels": labels(run, role) });
    if let Some(owner) = owner {
        metadata["ownerReferences"] = json!([owner_reference(owner)]);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completions": count,
            "parallelism": count,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "activeDeadlineSeconds": pod.deadline.as_secs().max(1),
            "ttlSecondsAfterFinished": KEPT_S,
            "template": { "metadata": { "labels": labels(run, role) }, "spec": spec },
        },
    })
}

/// The same Job, whose other pods stay where one has died: else the cluster ends all of them. One
/// that has died is not replaced (since Kubernetes 1.28; before, by one that comes too late).
pub fn going_on(mut job: Value) -> Value {
    if let Some(spec) = job["spec"].as_object_mut() {
        spec.remove("backoffLimit");
        spec.insert("backoffLimitPerIndex".into(), 0.into());
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> PodOf {
        PodOf {
            image: "registry.example/sweetspot@sha256:1".into(),
            pull_policy: None,
            cpus: 1.5,
            memory_bytes: 256 << 20,
            deadline: Duration::from_secs(600),
            grace: GRACE,
            away_from: BTreeMap::from([("app".to_string(), "shop".to_string())]),
        }
    }

    fn owner() -> Value {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "name": "sweetspot-7-collector", "uid": "u-1" },
        })
    }

    #[test]
    fn generators_are_as_many_pods_that_belong_to_the_collector_and_end_for_certain() {
        let job = generators("7", &pod(), (8, &["load".into()], "t"), &owner());
        let spec = &job["spec"];
        assert_eq!((&spec["completions"], &spec["parallelism"]), (&8.into(), &8.into()));
        assert_eq!(spec["backoffLimit"], 0, "one that died is not replaced by a late one");
        let goes_on = going_on(job.clone());
        assert_eq!(goes_on["spec"]["backoffLimitPerIndex"], 0);
        assert!(goes_on["spec"].get("backoffLimit").is_none());
        assert_eq!(spec["activeDeadlineSeconds"], 600);
        assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], "u-1");
        let pod = &spec["template"]["spec"];
        let container = &pod["containers"][0];
        assert_eq!(container["resources"]["limits"], container["resources"]["requests"]);
        assert_eq!(container["resources"]["limits"]["cpu"], "1500m");
        assert!(container.get("imagePullPolicy").is_none());
        let affinity = &pod["affinity"]["podAntiAffinity"];
        let term = &affinity["preferredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(term["podAffinityTerm"]["labelSelector"]["matchLabels"]["app"], "shop");
    }

    #[test]
    fn pods_may_run_where_only_restricted_ones_may() {
        let of = |job: &Value| job["spec"]["template"]["spec"].clone();
        let collecting = collector("7", &pod(), &["load".into()], "t");
        let sending = generators("7", &pod(), (1, &[], "t"), &owner());
        for spec in [of(&collecting), of(&sending)] {
            assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
            assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
            assert_eq!(spec["automountServiceAccountToken"], false);
            let context = &spec["containers"][0]["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false);
            assert_eq!(context["capabilities"]["drop"][0], "ALL");
        }
        assert!(collecting["metadata"].get("ownerReferences").is_none());
    }
}
