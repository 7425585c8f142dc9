//! `sweetspot doctor --place kubernetes`.

use std::path::Path;

use serde_json::Value;

use super::cluster::Namespace;
use crate::process::{Ended, ended, program, wait_until};
use crate::schema::assert_valid;

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
