//! What goes wrong while `sweetspot tune` is at work on pods, or keeps it from beginning: each ends
//! in a clear word, and leaves the namespace as it was.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cluster::Namespace;
use super::tune::{MADE, await_while_it_runs, result_of};
use crate::failures::site::Running;
use crate::process::{ended, unused_address, wait_until};

const PATIENCE: Duration = Duration::from_secs(60);

/// What a tune of an image makes.
const OF_IMAGE: &str = "deployments,services,replicasets,jobs,pods,secrets,leases";

/// Of the app's own setting and one beside it.
const SMALL: [&str; 4] = ["--workers", "1", "--threads", "1,3"];

/// Leaves no room for two cores, and enough for what sends the load.
const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {requests.cpu: 1500m}}
";

/// What pods of an image are to be like.
const WAITS_FOR_EVER: &str = "
initContainers:
- name: wait-for-db
  image: sweetspot.test/shop:1
  imagePullPolicy: Never
  command: [/bin/sh, -c, sleep 3600]
";

/// One pod, on this node alone.
const ON_NODE2: &str = r#"[
    {"op": "replace", "path": "/spec/replicas", "value": 1},
    {"op": "add", "path": "/spec/template/spec/nodeSelector",
        "value": {"kubernetes.io/hostname": "node2"}}]"#;

const SECOND_CONTAINER: &str = r#"[{"op": "add", "path": "/spec/template/spec/containers/-",
    "value": {"name": "proxy", "image": "sweetspot.test/pause:1", "imagePullPolicy": "Never"}}]"#;

impl Namespace {
    /// `sweetspot tune` of the Deployment with Puma, at its own setting and one beside it.
    fn tune_small(&self, folder: &tempfile::TempDir, arguments: &[&str]) -> Command {
        let asked = [&SMALL[..], &["--slo", "p95<500ms", "--yes"], arguments].concat();
        self.tune(folder.path(), &asked)
    }

    /// It has been changed as this patch says, and its pods have come up.
    fn patch_shop(&self, operations: &str) {
        self.kubectl(&["patch", "deployment", "shop", "--type=json", "-p", operations]);
        self.kubectl(&["rollout", "status", "deployment/shop", "--timeout=120s"]);
    }
}

/// A namespace in which an image is tuned, and a kubeconfig that has the rights for that alone.
fn for_image(name: &str) -> Option<(Namespace, tempfile::TempDir, PathBuf)> {
    let namespace = Namespace::new(name)?;
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-image-role.yaml", folder.path());
    Some((namespace, folder, account))
}

/// It ends with 1 and these words, and nothing is left of what it made.
#[track_caller]
fn assert_fails(namespace: &Namespace, command: &mut Command, words: &[&str]) {
    let objects = namespace.listed(OF_IMAGE);
    let failed = ended(command);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    failed.assert_says(words);
    namespace.await_listed(OF_IMAGE, &objects, PATIENCE);
}

/// Waits for one of these on standard error, wherever its lines are broken.
#[track_caller]
fn await_one_of(running: &mut Running, words: &[&str], patience: Duration) {
    let until = Instant::now() + patience;
    loop {
        let said = running.stderr().split_whitespace().collect::<Vec<_>>().join(" ");
        if words.iter().any(|it| said.contains(*it)) {
            return;
        }
        // The next line, whatever it is.
        let is_more = running.wait_for("", until.saturating_duration_since(Instant::now()));
        assert!(is_more, "none of {words:?} was said: {}", running.stderr());
    }
}

#[test]
fn an_api_server_that_is_away_for_ten_seconds_costs_a_session_time_alone() {
    let Some((namespace, _)) = Namespace::with_puma("faults-outage") else { return };
    let folder = tempfile::tempdir().unwrap();
    // One that has just begun again knows no roles for a moment.
    let account = namespace.account_with("deploy/tune-role.yaml", folder.path());
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let mut command = namespace.tune_small(&folder, &["--budget", "2m", "--json"]);
    command.env("KUBECONFIG", &account);
    let mut running = Running::begin(command);
    assert!(running.wait_for("trial 2", PATIENCE * 2), "{}", running.stderr());
    namespace.without_server(Duration::from_secs(10));
    let decision = result_of(running)["decision"].clone();
    assert!([1, 3].iter().any(|threads| decision["threads"] == *threads), "{decision:#}");
    assert_eq!(namespace.changed_by_tunes(), before);
    namespace.await_listed(MADE, &objects, PATIENCE);
}

#[test]
fn a_node_of_the_app_that_does_not_answer_any_more_is_said() {
    let Some((namespace, _)) = Namespace::with_puma("faults-silent") else { return };
    namespace.patch_shop(ON_NODE2);
    let folder = tempfile::tempdir().unwrap();
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let cordoned = namespace.cordon("node2");
    // The cluster itself takes some 50 s until it says that a node is silent.
    let asked = ["--workers", "1", "--threads", "3", "--boot-timeout", "60s", "--budget", "5m"];
    let asked = [&asked[..], &["--slo", "p95<500ms", "--yes"]].concat();
    let mut running = Running::begin(namespace.tune(folder.path(), &asked));
    await_while_it_runs(&mut running, "a generator that runs", || {
        let of = ["get", "pods", "-l", "sweetspot/role=generator", "-o", "json"];
        let pods = namespace.kubectl(&of)["items"].clone();
        pods.as_array().unwrap().iter().any(|pod| pod["status"]["phase"] == "Running")
    });
    // What sends the load and adds it up is on the other node; now the app may come.
    drop(cordoned);
    assert!(running.wait_for("trial 1", PATIENCE * 2), "{}", running.stderr());
    let silenced = namespace.silence("node2");
    // In the middle of a load, or when the app is to be started again, which ends the session.
    let words = ["server ended", "does not answer any more"];
    await_one_of(&mut running, &words, PATIENCE * 4);
    drop(silenced);
    running.signal(libc::SIGINT);
    let ended = running.end_within(PATIENCE * 2);
    assert!(ended.code.is_some(), "{ended:?}");
    ended.assert_says(&words[1..]);
    namespace.kubectl(&["wait", "node/node2", "--for=condition=Ready", "--timeout=120s"]);
    assert_eq!(namespace.changed_by_tunes(), before);
    namespace.await_listed(MADE, &objects, PATIENCE);
}

#[test]
fn a_generator_that_is_lost_in_the_middle_of_a_load_ends_the_session_and_is_said() {
    let Some((namespace, _)) = Namespace::with_puma("faults-lost") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let mut running = Running::begin(namespace.tune_small(&folder, &["--budget", "90s"]));
    assert!(running.wait_for("trial 1", PATIENCE * 2), "{}", running.stderr());
    let remove = ["delete", "pod", "-l", "sweetspot/role=generator", "--grace-period=0", "--force"];
    namespace.kubectl(&remove);
    let ended = running.end_within(PATIENCE);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.assert_says(&["was lost in the middle of a load"]);
    assert_eq!(namespace.changed_by_tunes(), before);
    namespace.await_listed(MADE, &objects, PATIENCE);
}

#[test]
fn a_right_that_is_missing_is_named_and_nothing_stays_changed() {
    let Some((namespace, _)) = Namespace::with_puma("faults-forbidden") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-role.yaml", folder.path());
    let (before, objects) = (namespace.changed_by_tunes(), namespace.listed(MADE));
    let role = std::fs::read_to_string("deploy/tune-role.yaml").unwrap();
    // Without the first nothing is changed at all, without the second no load can be sent.
    for (right, less, missing) in [
        ("verbs: [get, patch]\n", "verbs: [get]\n", "cannot patch resource \"deployments\""),
        ("[pods/exec]", "[pods/attach]", "resource \"pods/exec\""),
    ] {
        assert_eq!(role.matches(right).count(), 1, "{right}");
        namespace.apply(&role.replace(right, less));
        let mut command = namespace.tune_small(&folder, &["--budget", "90s"]);
        let refused = ended(command.env("KUBECONFIG", &account));
        assert_eq!(refused.code, Some(1), "{refused:?}");
        refused.assert_says(&["the cluster forbids it", missing, "deploy/ has the role"]);
        assert_eq!(namespace.changed_by_tunes(), before);
        namespace.await_listed(MADE, &objects, PATIENCE);
    }
}

#[test]
fn which_of_several_containers_runs_the_app_is_asked_before_anything_is_changed() {
    let Some((namespace, _)) = Namespace::with_puma("faults-containers") else { return };
    namespace.patch_shop(SECOND_CONTAINER);
    let folder = tempfile::tempdir().unwrap();
    let before = namespace.changed_by_tunes();
    let words = ["Deployment shop", "several containers (puma, proxy)", "with --container"];
    assert_fails(&namespace, &mut namespace.tune_small(&folder, &[]), &words);
    assert_eq!(namespace.changed_by_tunes(), before);
}

#[test]
fn a_quota_that_forbids_the_pods_of_an_image_is_said() {
    let Some((namespace, folder, account)) = for_image("faults-quota") else { return };
    namespace.apply(QUOTA);
    wait_until("the quota counts", || {
        let quota = namespace.kubectl(&["get", "resourcequota", "few", "-o", "json"]);
        quota["status"]["used"].is_object()
    });
    let asked = [&SMALL[..], &["--budget", "90s", "--boot-timeout", "15s"]].concat();
    let two_cores = ("sweetspot.test/shop:1", "Never", "2");
    let mut command = namespace.tune_image_of(folder.path(), two_cores, &asked);
    let words = ["exceeded quota: few", "requested: requests.cpu=2"];
    assert_fails(&namespace, command.env("KUBECONFIG", &account), &words);
}

#[test]
fn an_init_container_of_an_image_that_does_not_end_is_named() {
    let Some((namespace, folder, account)) = for_image("faults-init") else { return };
    std::fs::write(folder.path().join("shop.yaml"), WAITS_FOR_EVER).unwrap();
    let asked = ["--pod-template", "shop.yaml", "--budget", "90s", "--boot-timeout", "15s"];
    let mut command = namespace.tune_image(folder.path(), &[&SMALL[..], &asked].concat());
    let words = ["its init container wait-for-db had not ended within 15 s", "--boot-timeout"];
    assert_fails(&namespace, command.env("KUBECONFIG", &account), &words);
}

#[test]
fn an_image_that_cannot_be_pulled_is_said() {
    let Some((namespace, folder, account)) = for_image("faults-pull") else { return };
    // Of a registry that is not there.
    let image = format!("127.0.0.1:{}/none:1", unused_address().port());
    let asked = [&SMALL[..], &["--budget", "90s"]].concat();
    let pulled = (image.as_str(), "IfNotPresent", "1");
    let mut command = namespace.tune_image_of(folder.path(), pulled, &asked);
    let words = ["ImagePullBackOff", image.as_str()];
    assert_fails(&namespace, command.env("KUBECONFIG", &account), &words);
}

#[test]
fn a_namespace_that_is_being_deleted_is_said() {
    let Some(namespace) = Namespace::new("faults-ending") else { return };
    let folder = tempfile::tempdir().unwrap();
    let name = namespace.name.as_str();
    let hold_by = |finalizers: Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } }).to_string();
        namespace.kubectl(&["patch", "namespace", name, "--type=merge", "-p", &patch]);
    };
    hold_by(json!(["sweetspot.test/stays"]));
    namespace.kubectl(&["delete", "namespace", name, "--wait=false"]);
    wait_until("it is being deleted", || {
        let found = namespace.kubectl(&["get", "namespace", name, "-o", "json"]);
        found["status"]["phase"] == "Terminating"
    });
    let objects = namespace.listed(OF_IMAGE);
    let refused = ended(&mut namespace.tune_image(folder.path(), &SMALL));
    let left = namespace.listed(OF_IMAGE);
    hold_by(Value::Null);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    refused.assert_says(&["the namespace is being deleted", "take another (--namespace)"]);
    assert_eq!(left, objects);
}
