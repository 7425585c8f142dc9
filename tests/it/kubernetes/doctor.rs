//! `sweetspot doctor --place kubernetes`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::cluster::{GENERATOR_IMAGE, Namespace};
use crate::process::{Ended, ended, program, wait_until};
use crate::schema::assert_valid;

const PATIENCE: Duration = Duration::from_secs(60);

/// A quota that another Job would be beyond.
const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {count/jobs.batch: 0, pods: 10}}
";

fn doctor(namespace: &Namespace, kubeconfig: &Path, arguments: &[&str]) -> Ended {
    let mut command = program(kubeconfig.parent().unwrap());
    command.args(["doctor", "--place", "kubernetes"]).args(arguments);
    if !arguments.contains(&"--namespace") {
        command.args(["--namespace", &namespace.name]);
    }
    ended(command.env("KUBECONFIG", kubeconfig))
}

fn finding<'a>(findings: &'a Value, code: &str) -> Vec<&'a Value> {
    findings.as_array().unwrap().iter().filter(|it| it["code"] == code).collect()
}

#[test]
fn what_a_namespace_lacks_is_said_before_anything_is_measured() {
    let Some(namespace) = Namespace::new("doctor") else { return };
    let fit = doctor(&namespace, &namespace.admin(), &[]);
    fit.assert_code(0);
    let cores = std::thread::available_parallelism().unwrap();
    fit.assert_says(&["ok rights all of deploy/tune-role.yaml", &format!("2 of {cores} cores")]);
    fit.assert_says(&["ok rights all of deploy/tune-image-role.yaml"]);
    namespace.apply(QUOTA);
    wait_until("the quota counts", || {
        let quota = namespace.kubectl(&["get", "resourcequota", "team", "-o", "json"]);
        quota["status"]["used"].is_object()
    });
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/load-role.yaml", folder.path());
    let lacking = doctor(&namespace, &account, &["--json"]);
    lacking.assert_code(0);
    let findings = lacking.json();
    assert_valid("doctor.schema.json", &findings);
    let [load, tune, image] = finding(&findings, "rights")[..] else { panic!("{findings:#}") };
    assert_eq!((&load["state"], &tune["state"]), (&"ok".into(), &"warn".into()));
    let missing = image["fact"]["missing"].as_array().unwrap();
    assert!(missing.contains(&"create deployments.apps".into()), "{missing:?}");
    let missing = tune["fact"]["missing"].as_array().unwrap();
    assert!(missing.contains(&"patch deployments.apps".into()), "{missing:?}");
    assert!(!missing.contains(&"create jobs.batch".into()), "{missing:?}");
    // A role for one namespace lists no nodes, and this one no quotas.
    assert_eq!(finding(&findings, "nodes")[0]["fact"]["nodes"], Value::Null);
    assert_eq!(finding(&findings, "quotas")[0]["fact"]["quotas"], Value::Null);
    let spent = doctor(&namespace, &namespace.admin(), &["--json"]).json();
    assert_eq!(finding(&spent, "quotas")[0]["state"], "warn", "{spent:#}");
    let elsewhere = doctor(&namespace, &namespace.admin(), &["--namespace", "no-such"]);
    elsewhere.assert_code(1);
    elsewhere.assert_says(&["namespace no-such, which is not there"]);
}

#[test]
fn a_pod_on_each_node_says_its_processor_and_its_clock_or_why_it_does_not_run() {
    let Some(namespace) = Namespace::new("doctor-nodes") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/tune-image-role.yaml", folder.path());
    let objects = namespace.listed("jobs,pods");
    let on_nodes = |kubeconfig: &Path, image: &str| {
        let arguments = ["--generator-image", image, "--generator-image-pull-policy", "Never"];
        let ended = doctor(&namespace, kubeconfig, &[&arguments[..], &["--json"]].concat());
        let findings = ended.json();
        assert_valid("doctor.schema.json", &findings);
        let found = finding(&findings, "pods_on_nodes")[0].clone();
        (ended.code, found["state"].clone(), found["fact"]["looks"].as_array().unwrap().clone())
    };
    let (code, state, looks) = on_nodes(&namespace.admin(), GENERATOR_IMAGE);
    assert_eq!((code, state), (Some(0), "ok".into()), "{looks:#?}");
    let nodes: BTreeSet<String> = looks.iter().map(|look| look["node"].to_string()).collect();
    assert_eq!(nodes.len(), 2, "{looks:#?}");
    let here = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for look in &looks {
        // Nodes of this machine have its kernel, and its clock.
        assert_eq!(look["said"]["kernel"], here.trim(), "{look:#}");
        let [least_s, most_s] = [0, 1].map(|at| look["clock_ahead_s"][at].as_f64().unwrap());
        assert!(least_s <= 0.0 && most_s >= 0.0, "{look:#}");
    }
    // Who may not list nodes looks at one.
    let (code, _, looks) = on_nodes(&account, GENERATOR_IMAGE);
    assert_eq!((code, looks.len()), (Some(0), 1), "{looks:#?}");
    let (code, state, looks) = on_nodes(&namespace.admin(), "sweetspot.test/none:1");
    assert_eq!((code, state), (Some(1), "bad".into()), "{looks:#?}");
    assert!(looks[0]["why"].as_str().unwrap().contains("ErrImageNeverPull"), "{looks:#?}");
    namespace.await_listed("jobs,pods", &objects, PATIENCE);
}
