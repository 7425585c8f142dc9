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
    /// Generators and their collector are kept away from nodes that run pods with these labels,
    /// where there are others.
    pub away_from: BTreeMap<String, String>,
}

/// For what ends at once.
pub const GRACE: Duration = Duration::from_secs(30);

/// Seconds that what is over stays where we are not there any more to remove it.
const KEPT_S: u32 = 60;

/// The most seconds that a time may have, 68 years: the cluster counts nanoseconds in 63 bits, and
/// would end at once what is to end in more.
const LONGEST_S: u64 = (1 << 31) - 1;

/// Every object of a run has these.
fn labels(run: &str, role: &str) -> Value {
    json!({
        "app.kubernetes.io/name": "sweetspot",
        "app.kubernetes.io/managed-by": "sweetspot",
        "sweetspot/run": run,
        "sweetspot/role": role,
    })
}

/// Labels and annotations of a run's pods. No mesh adds a sidecar to them: the load would go
/// through its proxy, and be measured with it. No autoscaler of nodes takes them away meanwhile.
fn metadata_of_pods(run: &str, role: &str) -> Value {
    let mut labels = labels(run, role);
    labels[ISTIO_INJECTS] = "false".into();
    json!({
        "labels": labels,
        "annotations": {
            // Older versions of Istio read the annotation in place of the label.
            (ISTIO_INJECTS): "false",
            "linkerd.io/inject": "disabled",
            "karpenter.sh/do-not-disrupt": "true",
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        },
    })
}

const ISTIO_INJECTS: &str = "sidecar.istio.io/inject";

/// Which pods of a run have this role.
pub fn selector(run: &str, role: &str) -> String {
    format!("sweetspot/run={run},sweetspot/role={role}")
}

/// The role of the pod that adds up what the others record, and the name of its container.
pub const COLLECTOR: &str = "collector";

/// The role of the pods that send the load.
pub const GENERATOR: &str = "generator";

/// Of the Job, its pods and its files.
pub fn name(run: &str, role: &str) -> String {
    format!("sweetspot-{run}-{role}")
}

/// Where the Job of a role is.
pub fn job_path(namespace: &str, run: &str, role: &str) -> String {
    format!("{}/{}", paths::jobs(namespace), name(run, role))
}

/// Waits for so many generators and says what they sent.
pub fn collector(
    run: &str,
    pod: &PodOf,
    (count, arguments, token): (u16, &[String], &str),
) -> Value {
    let (cores, memory_bytes) = collector_size(count);
    let size = quantity::size(cores, memory_bytes);
    let container = container(COLLECTOR, pod, arguments, token, &size);
    let placed = json!({ "affinity": away(&pod.away_from) });
    job(run, COLLECTOR, pod, (1, &placed), container, None)
}

/// Cores and bytes of memory for the collector of `n` generators:
///
/// cores = max(0.5, 1.5 x 0.00092 n); bytes = max(256 MiB, 1.5 x (17 MB + 0.42 MB x n))
///
/// 10, 100 and 1,000 generators, each of which told a second of 50,000 requests every second, took
/// 0.013, 0.094 and 0.916 cores and 17, 56 and 433 MB (docs/evidence/kubernetes.md, "A thousand
/// generators"); half as much again is for slower cores.
fn collector_size(n: u16) -> (f64, u64) {
    const MARGIN: f64 = 1.5;
    let n = f64::from(n);
    let cores = MARGIN * 0.92e-3 * n;
    let memory_bytes = MARGIN * (17e6 + 0.42e6 * n);
    (cores.max(0.5), (memory_bytes as u64).max(256 << 20))
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
                "matchLabels": { "sweetspot/run": run, "sweetspot/role": GENERATOR },
            },
        }],
        "affinity": away(&pod.away_from),
    });
    job(run, GENERATOR, pod, (count, &spread), container, Some(owner))
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
        "terminationGracePeriodSeconds": pod.grace.as_secs().min(LONGEST_S),
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
            "activeDeadlineSeconds": pod.deadline.as_secs().clamp(1, LONGEST_S),
            "ttlSecondsAfterFinished": KEPT_S,
            "template": { "metadata": metadata_of_pods(run, role), "spec": spec },
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
        let endless = PodOf { deadline: Duration::MAX, ..pod() };
        let endless = collector("7", &endless, (1, &[], "t"));
        assert_eq!(endless["spec"]["activeDeadlineSeconds"], LONGEST_S);
        assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], "u-1");
        let pod = &spec["template"]["spec"];
        let container = &pod["containers"][0];
        assert_eq!(container["resources"]["limits"], container["resources"]["requests"]);
        assert_eq!(container["resources"]["limits"]["cpu"], "1500m");
        assert!(container.get("imagePullPolicy").is_none());
        let affinity = &pod["affinity"]["podAntiAffinity"];
        let term = &affinity["preferredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(term["podAffinityTerm"]["labelSelector"]["matchLabels"]["app"], "shop");
        assert_eq!(endless["spec"]["template"]["spec"]["affinity"], pod["affinity"]);
    }

    #[test]
    fn pods_may_run_where_only_restricted_ones_may() {
        let of = |job: &Value| job["spec"]["template"]["spec"].clone();
        let collecting = collector("7", &pod(), (1, &["load".into()], "t"));
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

    #[test]
    fn pods_of_ours_have_no_sidecar_and_stay_where_they_are() {
        let template = generators("7", &pod(), (1, &[], "t"), &owner())["spec"]["template"].clone();
        let (labels, annotations) =
            (&template["metadata"]["labels"], &template["metadata"]["annotations"]);
        assert_eq!(labels["sweetspot/run"], "7");
        assert_eq!(labels[ISTIO_INJECTS], "false");
        assert_eq!(annotations[ISTIO_INJECTS], "false");
        assert_eq!(annotations["linkerd.io/inject"], "disabled");
        assert_eq!(annotations["karpenter.sh/do-not-disrupt"], "true");
        assert_eq!(annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"], "false");
    }

    #[test]
    fn the_collector_gets_what_so_many_generators_were_measured_to_take_of_it() {
        let size = |count: u16| {
            let job = collector("7", &pod(), (count, &[], "t"));
            let container = &job["spec"]["template"]["spec"]["containers"][0];
            assert_eq!(container["resources"]["limits"], container["resources"]["requests"]);
            let limit = |what: &str| quantity::limit(container, what).unwrap();
            (limit("cpu"), limit("memory"))
        };
        for few in [1, 8, 100] {
            assert_eq!(size(few), (0.5, f64::from(256 << 20)));
        }
        let (cores, bytes) = size(1000);
        assert!(cores >= 0.916 && bytes >= 433e6, "{cores} {bytes}");
        let (cores, bytes) = size(4096);
        assert!((3.0..8.0).contains(&cores) && (1.7e9..4e9).contains(&bytes), "{cores} {bytes}");
    }
}
