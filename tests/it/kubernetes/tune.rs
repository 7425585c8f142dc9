//! `sweetspot tune --deployment`, and `sweetspot restore`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::cluster::{GENERATOR_IMAGE, Namespace};
use crate::failures::site::Running;
use crate::process::{codes, ended, program};
use crate::schema::assert_valid;

const PATIENCE: Duration = Duration::from_secs(60);

/// What a tune makes. Its Deployment's pods are others afterwards.
pub const MADE: &str = "jobs,secrets,configmaps,leases,replicasets";

/// An autoscaler whose metrics nobody measures here, and a budget that forbids evictions: rollouts
/// are none.
const AUTOSCALER: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  minReplicas: 2
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: shop}}}
";

/// The kind of KEDA's objects, as far as it is looked at, and one of them. Nobody of KEDA is there.
const OF_KEDA: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scaledobjects.keda.sh}
spec:
  group: keda.sh
  scope: Namespaced
  names: {kind: ScaledObject, plural: scaledobjects, singular: scaledobject}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
";
const SCALED: &str = "
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: shop}
spec:
  scaleTargetRef: {name: shop}
  triggers:
  - {type: prometheus, metadata: {serverAddress: 'http://p', query: up, threshold: '9'}}
";

/// A Deployment as people have it, whose pods an image's are to be like, and what it refers to; the
/// Secret that the registry asks for is not there, and is not needed.
const LIKE: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  template:
    metadata:
      labels: {app: shop}
      annotations: {sidecar.istio.io/inject: 'false'}
    spec:
      imagePullSecrets: [{name: registry}]
      securityContext: {runAsUser: 1234}
      volumes: [{name: scratch, emptyDir: {}}]
      initContainers:
      - name: prepare
        image: sweetspot.test/shop:0
        command: [/bin/sh, -c, 'echo 7 >/scratch/n']
        volumeMounts: [{name: scratch, mountPath: /scratch}]
      containers:
      - name: puma
        image: sweetspot.test/shop:0
        env: [{name: HOME, value: /tmp}, {name: PORT, value: '1'}]
        envFrom: [{secretRef: {name: of-shop}}]
        volumeMounts: [{name: scratch, mountPath: /scratch}]
      - {name: envoy, image: 'sweetspot.test/envoy:1'}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 9292}]}
";

impl Namespace {
    /// `sweetspot tune` of the Deployment with Puma. `folder`: where it is typed.
    pub fn tune(&self, folder: &Path, arguments: &[&str]) -> Command {
        self.tune_of(folder, ("shop", GENERATOR_IMAGE), arguments)
    }

    /// Of this Deployment, by generators of this image.
    fn tune_of(
        &self,
        folder: &Path,
        (deployment, image): (&str, &str),
        arguments: &[&str],
    ) -> Command {
        let mut command = self.sweetspot(folder, "tune");
        command.args(["--deployment", deployment, "--generator-image", image]);
        command.args(["--generator-image-pull-policy", "Never", "--generator-cpus", "0.5"]);
        command.args(arguments);
        command
    }

    /// `sweetspot tune` of the image with Puma, in pods of one core in all.
    pub fn tune_image(&self, folder: &Path, arguments: &[&str]) -> Command {
        self.tune_image_of(folder, ("sweetspot.test/shop:1", "Never", "1"), arguments)
    }

    /// Of this image, pulled by this policy, in pods of so many cores in all.
    pub fn tune_image_of(
        &self,
        folder: &Path,
        (image, pulled, cpus): (&str, &str, &str),
        arguments: &[&str],
    ) -> Command {
        let mut command = self.sweetspot(folder, "tune");
        command.args(["--image", image, "--image-pull-policy", pulled]);
        command.args(["--port", "9292", "--cpus", cpus, "--memory", "512MiB"]);
        command.args(["--generator-image", GENERATOR_IMAGE]);
        command.args(["--generator-image-pull-policy", "Never", "--generator-cpus", "0.5"]);
        command.args(["--slo", "p95<500ms", "--yes"]).args(arguments);
        command
    }

    fn sweetspot(&self, folder: &Path, verb: &str) -> Command {
        let mut command = program(folder);
        command.args([verb, "--namespace", &self.name]).env("KUBECONFIG", self.admin());
        command
    }

    /// How many pods a Deployment has, and how many of them of its newest revision.
    fn pods_of(&self, deployment: &str) -> (u64, u64) {
        let found = self.kubectl(&["get", "deployment", deployment, "-o", "json"]);
        let count = |what: &str| found["status"][what].as_u64().unwrap_or(0);
        (count("replicas"), count("updatedReplicas"))
    }

    fn await_pods(&self, deployment: &str, are_as_wanted: fn((u64, u64)) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !are_as_wanted(self.pods_of(deployment)) {
            assert!(Instant::now() < until, "{:?}", self.pods_of(deployment));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What a tune changes.
    pub fn changed_by_tunes(&self) -> Value {
        let list = self.kubectl(&["get", "deployments,hpa", "-o", "json"]);
        let of = |item: &Value| {
            let annotation = item["metadata"]["annotations"].get("sweetspot/before").cloned();
            (item["spec"].clone(), annotation)
        };
        serde_json::to_value(list["items"].as_array().unwrap().iter().map(of).collect::<Vec<_>>())
            .unwrap()
    }
}

/// Waits for something that is seen in the cluster before the session ends.
#[track_caller]
pub fn await_while_it_runs(running: &mut Running, what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE * 5;
    while !is_so() {
        assert!(Instant::now() < until, "no {what}: {}", running.stderr());
        if running.has_ended() {
            // What it said last has not been read yet.
            running.wait_for("no line says this", Duration::from_secs(1));
            panic!("it ended before there was {what}: {}", running.stderr());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Of a session that ends with an answer.
#[track_caller]
pub fn result_of(running: Running) -> Value {
    let done = running.end_within(PATIENCE * 6);
    assert_eq!(done.code, Some(0), "{done:?}");
    let result = done.json();
    assert_valid("tune.schema.json", &result);
    result
}

#[test]
fn a_deployment_is_tuned_with_the_least_rights_and_is_as_it_was() {
    let Some((namespace, _)) = Namespace::with_puma("tune-whole") else { return };
    namespace.apply(AUTOSCALER);
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-role.yaml", folder.path());
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let asked = ["--workers", "1", "--threads", "1,8", "--slo", "p95<500ms", "--budget", "2m"];
    let mut command = namespace.tune(folder.path(), &[&asked[..], &["--json", "--yes"]].concat());
    let ended = ended(command.env("KUBECONFIG", &account));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = ended.json();
    assert_valid("tune.schema.json", &result);
    let decision = &result["decision"];
    // Each request waits for 20 ms and computes for less: eight threads hold more than one.
    assert_eq!((&decision["workers"], &decision["threads"]), (&1.into(), &8.into()));
    let lines = decision["settings"]["config_snippet"].as_str().unwrap();
    let command = "kubectl set env deployment/shop WEB_CONCURRENCY=1 RAILS_MAX_THREADS=8";
    assert!(lines.starts_with(command) && lines.contains("- name: puma"), "{lines}");
    assert!(lines.contains("# a pod more where each serves "), "{lines}");
    let patched = namespace.patched("shop", lines, "shop");
    let containers = patched["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let env = containers[0]["env"].as_array().unwrap();
    let given = |name: &str| env.iter().find(|it| it["name"] == name).map(|it| it["value"].clone());
    assert_eq!(containers.len(), 1, "no second container: {patched:#}");
    assert_eq!(given("WEB_CONCURRENCY"), Some("1".into()));
    assert_eq!(given("RAILS_MAX_THREADS"), Some("8".into()));
    let capacity = decision["capacity_rps"].as_f64().unwrap();
    assert!((45.0..400.0).contains(&capacity), "8 threads of 20 ms and more: {capacity}");
    assert!(codes(&result).contains(&"one_pod_of_several"), "{result:#}");
    let used = result["trials"].as_array().unwrap().iter();
    let busiest = used.filter_map(|trial| trial["cpu_s"]["worker"].as_f64()).fold(0.0, f64::max);
    assert!(busiest > 0.02, "what its processes used is seen: {result:#}");
    assert_eq!(namespace.changed_by_tunes(), before);
    namespace.await_listed(MADE, &objects, PATIENCE);
}

#[test]
fn what_keda_scales_is_paused_while_it_is_tuned() {
    let Some((namespace, _)) = Namespace::with_puma("tune-keda") else { return };
    namespace.apply(OF_KEDA);
    let kind = "crd/scaledobjects.keda.sh";
    namespace.kubectl(&["wait", "--for=condition=established", kind, "--timeout=60s"]);
    namespace.apply(SCALED);
    let scaled = || namespace.kubectl(&["get", "scaledobject", "shop", "-o", "json"]);
    let paused =
        || scaled()["metadata"]["annotations"].get("autoscaling.keda.sh/paused-replicas").cloned();
    let before = scaled()["spec"].clone();
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-role.yaml", folder.path());
    let asked = ["--workers", "1", "--threads", "1,8", "--budget", "4m", "--yes"];
    let mut command = namespace.tune(folder.path(), &asked);
    let mut running = Running::begin({
        command.env("KUBECONFIG", &account);
        command
    });
    assert!(running.wait_for("trial 1", PATIENCE * 2), "{}", running.stderr());
    assert_eq!(paused(), Some("1".into()));
    running.signal(libc::SIGINT);
    running.end_within(PATIENCE);
    assert_eq!((paused(), scaled()["spec"].clone()), (None, before));
    let notes = scaled()["metadata"]["annotations"].clone();
    assert_eq!(notes.get("sweetspot/before"), None, "{notes}");
}

#[test]
fn an_image_is_tuned_in_pods_of_its_own_and_nothing_is_left_of_them() {
    let Some(namespace) = Namespace::new("tune-image") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-image-role.yaml", folder.path());
    let everything = "deployments,services,replicasets,jobs,secrets,leases";
    let objects = namespace.listed(everything);
    let tune = |more: &[&str]| {
        let asked = ["--workers", "1", "--threads", "1,8"];
        let mut command = namespace.tune_image(folder.path(), &[&asked[..], more].concat());
        command.env("KUBECONFIG", &account);
        command
    };
    let done = ended(&mut tune(&["--budget", "90s", "--json"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    let result = done.json();
    assert_valid("tune.schema.json", &result);
    let decision = &result["decision"];
    assert_eq!((&decision["workers"], &decision["threads"]), (&1.into(), &8.into()));
    assert_eq!(result["machine"]["memory_bytes"], 512 << 20);
    namespace.await_listed(everything, &objects, PATIENCE);
    // Killed, its objects go with the generators' Job, once that is removed.
    let mut running = Running::begin(tune(&["--budget", "4m", "--fresh-session"]));
    assert!(running.wait_for("trial 1", PATIENCE * 2), "{}", running.stderr());
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    namespace.kubectl(&["delete", "jobs", "-l", "sweetspot/role=collector"]);
    namespace.await_listed(everything, &objects, PATIENCE);
}

#[test]
fn an_images_pods_are_like_those_of_a_template_in_all_that_is_not_decided_here() {
    let Some(namespace) = Namespace::new("tune-like") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-image-role.yaml", folder.path());
    namespace.kubectl(&["create", "secret", "generic", "of-shop", "--from-literal=NUMBER=1871"]);
    std::fs::write(folder.path().join("shop.yaml"), LIKE).unwrap();
    let asked = ["--pod-template", "shop.yaml", "--container", "puma", "--env", "TOKEN=s3cret"];
    let small = ["--workers", "1", "--threads", "1,8", "--budget", "90s", "--json"];
    let mut command = namespace.tune_image(folder.path(), &[&asked[..], &small].concat());
    command.env("KUBECONFIG", &account);
    let mut running = Running::begin(command);
    let mut seen = Value::Null;
    await_while_it_runs(&mut running, "a pod that runs", || {
        let pods = namespace.kubectl(&["get", "pods", "-l", "sweetspot/app", "-o", "json"]);
        let pods = pods["items"].as_array().unwrap();
        let is_up = |pod: &&Value| pod["status"]["phase"] == "Running";
        let name = pods.iter().find(is_up).map(|pod| pod["metadata"]["name"].clone());
        let Some(name) = name.as_ref().and_then(Value::as_str) else { return false };
        // What its container has, and what is not to stand in its annotations.
        let script = r#"echo "[$NUMBER, $PORT, $(cat /scratch/n)]""#;
        let told = namespace.kubectl(&["exec", name, "-c", "puma", "--", "sh", "-c", script]);
        seen = namespace.kubectl(&["get", "pod", name, "-o", "json"]);
        assert_eq!(told, serde_json::json!([1871, 9292, 7]));
        true
    });
    let (metadata, spec) = (&seen["metadata"], &seen["spec"]);
    assert_eq!(metadata["annotations"]["sidecar.istio.io/inject"], "false");
    assert!(!metadata["annotations"].to_string().contains("s3cret"), "{metadata:#}");
    assert_eq!(metadata["labels"].get("app"), None, "a Service of theirs leads elsewhere");
    assert_eq!(spec["securityContext"]["runAsUser"], 1234);
    assert_eq!(spec["imagePullSecrets"][0]["name"], "registry");
    assert_eq!(spec["initContainers"][0]["image"], "sweetspot.test/shop:1");
    assert_eq!(spec["containers"].as_array().unwrap().len(), 1, "{spec:#}");
    assert_eq!(seen["status"]["qosClass"], "Guaranteed");
    let result = result_of(running);
    assert!(codes(&result).contains(&"containers_left_out"), "{result:#}");
    let lines = result["decision"]["settings"]["config_snippet"].as_str().unwrap();
    assert!(lines.contains(" -c puma\n") && lines.contains("- name: puma"), "{lines}");
    // Root, where nobody may run as root.
    let root = "securityContext: {runAsUser: 0, runAsNonRoot: true}\n";
    std::fs::write(folder.path().join("root.yaml"), root).unwrap();
    let asked = ["--pod-template", "root.yaml", "--budget", "1m"];
    let refused = ended(&mut namespace.tune_image(folder.path(), &asked));
    assert_ne!(refused.code, Some(0), "{refused:?}");
    refused.assert_says(&["its pod may not run as root", "--pod-template"]);
}

#[test]
fn an_image_is_tried_cut_into_one_pod_and_into_two_which_share_what_there_is() {
    let Some(namespace) = Namespace::new("tune-cut") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-image-role.yaml", folder.path());
    let everything = "deployments,services,replicasets,jobs,secrets,leases";
    let objects = namespace.listed(everything);
    let asked = ["--pods", "1,2", "--workers", "2", "--threads", "4", "--budget", "6m", "--json"];
    let mut command = namespace.tune_image(folder.path(), &asked);
    command.env("KUBECONFIG", &account);
    let mut running = Running::begin(command);
    let pods = || {
        let pods = namespace.kubectl(&["get", "pods", "-l", "sweetspot/app", "-o", "json"]);
        let of = |pod: &Value| {
            let container = &pod["spec"]["containers"][0];
            let env = container["env"].as_array().unwrap();
            let workers = env.iter().find(|it| it["name"] == "WEB_CONCURRENCY");
            let workers = workers.map(|it| it["value"].clone()).unwrap_or_default();
            (container["resources"]["limits"]["cpu"].clone(), workers)
        };
        pods["items"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let half: (Value, Value) = ("500m".into(), "1".into());
    let is_cut = || pods() == [half.clone(), half.clone()];
    await_while_it_runs(&mut running, "two pods of half the size", is_cut);
    let result = result_of(running);
    assert_eq!(result["machine"]["cores"], 1.0);
    let tried = &result["knobs"]["results"][0];
    assert_eq!(tried["change"], "pods=2");
    assert!(tried["blocks"].as_u64() > Some(0), "{tried:#}");
    assert!(tried["memory_ratio"].as_f64().is_some_and(|ratio| ratio > 1.0), "{tried:#}");
    assert_eq!(tried["at_one_rate"]["with_a_pod_less"]["pods_left"], 1, "{tried:#}");
    assert_eq!(result["knobs"]["at_one_rate"]["with_a_pod_less"], Value::Null);
    namespace.await_listed(everything, &objects, PATIENCE);
    // What is written down makes of a Deployment of the user's what was measured.
    let lines = result["decision"]["settings"]["config_snippet"].as_str().unwrap();
    namespace.kubectl(&["create", "deployment", "shop", "--image=x.test/shop", "--replicas=0"]);
    let spec = namespace.patched("shop", lines, "NAME")["spec"].clone();
    let is_cut = lines.contains("# 2 pods,");
    let (pods, cpu, memory) = if is_cut { (2, "500m", "256Mi") } else { (1, "1", "512Mi") };
    assert_eq!(spec["replicas"], pods, "{lines}");
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "x.test/shop", "the container is changed, and none added");
    let has = serde_json::json!({ "cpu": cpu, "memory": memory });
    let resources = serde_json::json!({ "limits": has, "requests": has });
    assert_eq!(container["resources"], resources);
    namespace.kubectl(&["delete", "deployment", "shop"]);
}

#[test]
fn a_warm_pod_of_an_image_goes_through_limits_of_cpu() {
    let Some(namespace) = Namespace::new("tune-cpus") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-image-role.yaml", folder.path());
    let asked = ["--knob", "cpus=0.2", "--workers", "1", "--threads", "4", "--budget", "4m"];
    let mut command = namespace.tune_image(folder.path(), &[&asked[..], &["--json"]].concat());
    command.env("KUBECONFIG", &account);
    let mut running = Running::begin(command);
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let goes_there_and_back = || {
        let pods = namespace.kubectl(&["get", "pods", "-l", "sweetspot/app", "-o", "json"]);
        for pod in pods["items"].as_array().unwrap() {
            let of_pod = seen.entry(pod["metadata"]["uid"].to_string()).or_default();
            let has = &pod["status"]["containerStatuses"][0]["resources"]["limits"]["cpu"];
            of_pod.extend(has.as_str().map(str::to_string));
        }
        seen.values().any(|of_pod| of_pod.len() == 2)
    };
    await_while_it_runs(&mut running, "one pod with two limits", goes_there_and_back);
    let result = result_of(running);
    let tried = &result["knobs"]["results"][0];
    assert_eq!((&tried["change"], &tried["cpus_ratio"]), (&"cpus=0.2".into(), &0.2.into()));
    let ratio = tried["capacity_ratio"].as_f64().unwrap();
    assert!((0.2..0.7).contains(&ratio), "{tried:#}");
    assert_eq!(result["knobs"]["recommended"], serde_json::json!([]));
    let lines = result["decision"]["settings"]["config_snippet"].as_str().unwrap();
    assert!(lines.contains("cpu=1000m") && !lines.contains("cpus="), "{lines}");
}

#[test]
fn two_settings_of_an_image_are_measured_at_the_same_time_each_on_a_node_of_its_own() {
    let Some(namespace) = Namespace::new("tune-parallel") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-image-role.yaml", folder.path());
    let everything = "deployments,services,replicasets,jobs,secrets,leases";
    let objects = namespace.listed(everything);
    let asked = ["--parallel", "2", "--workers", "1", "--threads", "1,4,8", "--budget", "3m"];
    let mut command = namespace.tune_image(folder.path(), &[&asked[..], &["--json"]].concat());
    command.env("KUBECONFIG", &account);
    let mut running = Running::begin(command);
    let nodes = || {
        let pods = namespace.kubectl(&["get", "pods", "-l", "sweetspot/app", "-o", "json"]);
        let of = |pod: &Value| pod["spec"]["nodeName"].as_str().map(str::to_string);
        pods["items"].as_array().unwrap().iter().filter_map(of).collect::<BTreeSet<_>>()
    };
    await_while_it_runs(&mut running, "pods on two nodes", || nodes().len() >= 2);
    let result = result_of(running);
    assert_eq!(result["decision"]["threads"], 8, "{result:#}");
    let began = |trial: &Value| {
        let ended_s = trial["ended_s"].as_f64().unwrap();
        (ended_s - trial["load_s"].as_f64().unwrap(), ended_s)
    };
    let trials: Vec<(f64, f64)> = result["trials"].as_array().unwrap().iter().map(began).collect();
    let are_at_once = trials.windows(2).filter(|pair| pair[1].0 < pair[0].1).count();
    assert!(are_at_once >= 2, "{trials:?}");
    namespace.await_listed(everything, &objects, PATIENCE);
}

#[test]
fn a_session_that_was_killed_is_undone_by_restore_and_nobody_tunes_meanwhile() {
    let Some((namespace, _)) = Namespace::with_puma("tune-killed") else { return };
    namespace.apply(AUTOSCALER);
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-role.yaml", folder.path());
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let asked = ["--workers", "1", "--threads", "1,8", "--budget", "4m", "--yes"];
    let mut running = Running::begin(namespace.tune(folder.path(), &asked));
    assert!(running.wait_for("trial", PATIENCE * 2), "{}", running.stderr());
    assert_ne!(namespace.changed_by_tunes(), before);
    let second = tempfile::tempdir().unwrap();
    let refused = ended(&mut namespace.tune(second.path(), &asked));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    refused.assert_says(&["another session tunes Deployment shop", "wait for its end"]);
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    let restore = |arguments: &[&str]| {
        let mut command = namespace.sweetspot(folder.path(), "restore");
        // Whoever puts it back has the role for that, and no more.
        command.env("KUBECONFIG", &account);
        ended(command.args(["--deployment", "shop"]).args(arguments))
    };
    let careful = restore(&[]);
    assert_eq!(careful.code, Some(1), "{careful:?}");
    careful.assert_says(&["say --yes if that has been killed"]);
    let restored = restore(&["--yes"]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let said = "Deployment shop is as it was before the session; its autoscaler scales again\n";
    assert_eq!(restored.stdout, said);
    assert_eq!(namespace.changed_by_tunes(), before);
    // The pods that sent the load as well, though their deadline is far.
    namespace.await_listed(MADE, &objects, PATIENCE);
    assert_eq!(restore(&[]).stdout, "Deployment shop has not been changed by a session\n");
}

#[test]
fn a_pod_that_is_removed_in_the_middle_is_said_and_the_session_goes_on() {
    let Some((namespace, _)) = Namespace::with_puma("tune-pod-gone") else { return };
    let folder = tempfile::tempdir().unwrap();
    let before = namespace.changed_by_tunes();
    let asked = ["--workers", "1", "--threads", "1,8", "--budget", "90s", "--yes"];
    let mut running = Running::begin(namespace.tune(folder.path(), &asked));
    assert!(running.wait_for("trial 2", PATIENCE * 2), "{}", running.stderr());
    let remove = ["delete", "pod", "-l", "app=shop", "--grace-period=0", "--force"];
    namespace.kubectl(&remove);
    assert!(running.wait_for("server ended", PATIENCE), "{}", running.stderr());
    assert!(running.wait_for("starting the server", PATIENCE), "{}", running.stderr());
    let ended = running.end_within(PATIENCE * 3);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.assert_says(&["its pod was removed"]);
    assert_eq!(namespace.changed_by_tunes(), before);
}

#[test]
fn ctrl_c_ends_a_session_with_the_answer_so_far_and_all_put_back() {
    let Some((namespace, _)) = Namespace::with_puma("tune-stopped") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let asked = ["--workers", "1", "--threads", "1,8", "--budget", "4m", "--yes"];
    let mut running = Running::begin(namespace.tune(folder.path(), &asked));
    assert!(running.wait_for("trial", PATIENCE * 2), "{}", running.stderr());
    running.signal(libc::SIGINT);
    let ended = running.end_within(PATIENCE);
    assert!(ended.code.is_some(), "{ended:?}");
    assert_eq!(namespace.changed_by_tunes(), before);
    namespace.await_listed(MADE, &objects, PATIENCE);
}

#[test]
fn what_cannot_be_tuned_is_said_and_stays_as_it_is() {
    let Some((namespace, _)) = Namespace::with_puma("tune-refused") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let says = |of: (&str, &str), arguments: &[&str], words: &[&str]| {
        let all = [&["--budget", "1m", "--yes"], arguments].concat();
        let refused = ended(&mut namespace.tune_of(folder.path(), of, &all));
        assert_eq!(refused.code, Some(1), "{refused:?}");
        refused.assert_says(words);
    };
    says(("none", GENERATOR_IMAGE), &[], &["there is no Deployment none"]);
    let shop = ("shop", GENERATOR_IMAGE);
    says(shop, &["--container", "none"], &["Deployment shop", "no container none, but puma"]);
    says(shop, &["--service", "none"], &["there is no Service none"]);
    let missing = ("shop", "sweetspot.test/none:1");
    says(missing, &[], &["cannot run: ErrImageNeverPull"]);
    namespace.await_listed(MADE, &objects, PATIENCE);
    // A server that follows one of its variables alone.
    // Behind the image's own command line.
    let fixed = r#"[{"op": "add", "path": "/spec/template/spec/containers/0/args", "value":
        ["--threads=3:3"]}]"#;
    namespace.kubectl(&["patch", "deployment", "shop", "--type=json", "-p", fixed]);
    namespace.kubectl(&["rollout", "status", "deployment/shop", "--timeout=60s"]);
    let (changed, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let ignored = ["--workers", "1", "--threads", "5", "--budget", "1m", "--yes"];
    let ended = ended(&mut namespace.tune(folder.path(), &ignored));
    ended.assert_says(&["1 x 5 did not start", "Max threads: 3", "--env 'NAME={threads}'"]);
    assert_eq!(namespace.changed_by_tunes(), changed);
    assert_ne!(changed, before);
    namespace.await_listed(MADE, &objects, PATIENCE);
    // A program that the image hasn't got.
    let none = r#"[{"op": "add", "path": "/spec/template/spec/containers/0/command", "value":
        ["no-such-server"]}]"#;
    namespace.kubectl(&["patch", "deployment", "shop", "--type=json", "-p", none]);
    namespace.await_pods("shop", |(all, new)| new > 0 && all > new);
    says(shop, &[], &["Deployment shop", "is being rolled out", "kubectl rollout undo"]);
    namespace.kubectl(&["rollout", "undo", "deployment/shop"]);
    namespace.kubectl(&["rollout", "status", "deployment/shop", "--timeout=60s"]);
    namespace.await_pods("shop", |(all, new)| new == 2 && all == 2);
    let at_once = none.replace(
        "}]",
        r#"}, {"op": "replace", "path": "/spec/strategy", "value": {"type": "Recreate"}}]"#,
    );
    namespace.kubectl(&["patch", "deployment", "shop", "--type=json", "-p", &at_once]);
    namespace.await_pods("shop", |(all, new)| new == 2 && all == 2);
    says(shop, &[], &["no-such-server", "executable file not found"]);
}
