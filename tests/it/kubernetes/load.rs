//! `sweetspot load --place kubernetes`.

use std::time::Duration;

use serde_json::Value;

use super::cluster::Namespace;
use crate::failures::site::Running;
use crate::process::{codes, ended};
use crate::schema::assert_valid;

const EASY: [&str; 2] = ["--slo", "p50<10s"];

fn due_of_each(result: &Value) -> Vec<u64> {
    let members = result["fleet"].as_array().unwrap();
    members.iter().map(|member| member["due"].as_u64().unwrap()).collect()
}

#[test]
fn three_pods_send_one_load_with_the_least_rights_and_leave_nothing() {
    let Some((namespace, url)) = Namespace::with_puma("load-three") else { return };
    let folder = tempfile::tempdir().unwrap();
    let account = namespace.account_with("deploy/load-role.yaml", folder.path());
    let before = namespace.objects();
    let load = ["--rate", "60/s", "--duration", "4s", "--generators", "3", "-H", "X-Key: k3y"];
    let ended = ended(&mut namespace.load(&url, &[&load[..], &EASY].concat(), Some(&account)));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = ended.json();
    assert_valid("load.schema.json", &result);
    assert_eq!((&result["due"], &result["status"]["200"]), (&240.into(), &240.into()));
    assert_eq!(due_of_each(&result), [80, 80, 80]);
    let p50_s = result["latency_s"]["p50"].as_f64().unwrap();
    assert!((0.02..1.0).contains(&p50_s), "the app waits for 20 ms: {p50_s}");
    assert!(!codes(&result).contains(&"generators_apart"), "{result:#}");
    namespace.await_only(&before, Duration::from_secs(30));
}

#[test]
fn a_pod_that_is_killed_ends_the_load_and_is_said() {
    let Some((namespace, url)) = Namespace::with_puma("load-killed") else { return };
    let before = namespace.objects();
    let load = ["--rate", "20/s", "--duration", "60s", "--generators", "2"];
    let mut running = Running::begin(namespace.load(&url, &[&load[..], &EASY].concat(), None));
    assert!(running.wait_for("due 20", Duration::from_secs(60)), "{}", running.stderr());
    let pods = namespace.kubectl(&["get", "pods", "-l", "sweetspot/role=generator", "-o", "json"]);
    let first = pods["items"][0]["metadata"]["name"].as_str().unwrap();
    namespace.kubectl(&["delete", "pod", first, "--grace-period=0", "--force"]);
    let ended = running.end_within(Duration::from_secs(30));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let result = ended.json();
    assert!(codes(&result).contains(&"generator_lost"), "{result:#}");
    namespace.await_only(&before, Duration::from_secs(30));
}

#[test]
fn the_other_pods_go_on_where_that_was_asked_for() {
    let Some((namespace, url)) = Namespace::with_puma("load-goes-on") else { return };
    let before = namespace.objects();
    let load = ["--rate", "20/s", "--duration", "20s", "--generators", "2", "--on-loss", "go-on"];
    let mut running = Running::begin(namespace.load(&url, &[&load[..], &EASY].concat(), None));
    assert!(running.wait_for("due 20", Duration::from_secs(60)), "{}", running.stderr());
    let pods = namespace.kubectl(&["get", "pods", "-l", "sweetspot/role=generator", "-o", "json"]);
    let first = pods["items"][0]["metadata"]["name"].as_str().unwrap();
    namespace.kubectl(&["delete", "pod", first, "--grace-period=0", "--force"]);
    let ended = running.end_within(Duration::from_secs(60));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = ended.json();
    assert!(codes(&result).contains(&"generator_lost"), "{result:#}");
    let sent: Vec<u64> = due_of_each(&result);
    assert!(sent.iter().any(|due| *due >= 190), "the other one has sent its part: {sent:?}");
    namespace.await_only(&before, Duration::from_secs(30));
}

#[test]
fn ctrl_c_ends_the_load_with_what_there_is() {
    let Some((namespace, url)) = Namespace::with_puma("load-stopped") else { return };
    let before = namespace.objects();
    let load = ["--rate", "20/s", "--duration", "60s", "--generators", "2"];
    let mut running = Running::begin(namespace.load(&url, &[&load[..], &EASY].concat(), None));
    assert!(running.wait_for("due 20", Duration::from_secs(60)), "{}", running.stderr());
    running.signal(libc::SIGINT);
    let ended = running.end_within(Duration::from_secs(30));
    let result = ended.json();
    assert!(codes(&result).contains(&"cut_short"), "{result:#}");
    assert!(result["due"].as_u64().unwrap() >= 20, "{result:#}");
    namespace.await_only(&before, Duration::from_secs(40));
}

#[test]
fn what_keeps_pods_away_is_said_and_nothing_is_left() {
    let Some(namespace) = Namespace::new("load-refused") else { return };
    let before = namespace.objects();
    let url = "http://10.96.0.1/";
    let load = ["--rate", "10/s", "--duration", "1s", "--gather", "20s"];
    let missing = ended(&mut namespace.load_of("sweetspot.test/none:1", url, &load, None));
    assert_eq!(missing.code, Some(1), "{missing:?}");
    missing.assert_says(&["pod sweetspot-", "cannot run: ErrImageNeverPull"]);
    namespace.await_only(&before, Duration::from_secs(40));

    namespace.apply(
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: \"1\"}}\n",
    );
    let two = [&load[..], &["--generators", "2"]].concat();
    let refused = ended(&mut namespace.load(url, &two, None));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    refused.assert_says(&["generator pods ran within 20 s", "exceeded quota"]);
    namespace.kubectl(&["delete", "resourcequota", "few"]);
    namespace.await_only(&before, Duration::from_secs(40));
}

#[test]
fn a_missing_right_is_named() {
    let Some(namespace) = Namespace::new("load-forbidden") else { return };
    let folder = tempfile::tempdir().unwrap();
    let role = folder.path().join("role.yaml");
    let text = std::fs::read_to_string("deploy/load-role.yaml").unwrap();
    let without = text.replace("verbs: [get, list, delete]", "verbs: [get]");
    assert_ne!(without, text);
    std::fs::write(&role, without).unwrap();
    let account = namespace.account_with(role.to_str().unwrap(), folder.path());
    let before = namespace.objects();
    let load = ["--rate", "10/s", "--duration", "1s"];
    let ended = ended(&mut namespace.load("http://10.96.0.1/", &load, Some(&account)));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.assert_says(&["the cluster forbids it", "cannot list resource \"pods\"", "deploy/"]);
    namespace.await_only(&before, Duration::from_secs(40));
}

#[test]
fn a_program_that_is_killed_leaves_nothing_once_its_load_is_over() {
    let Some((namespace, url)) = Namespace::with_puma("load-orphan") else { return };
    let before = namespace.objects();
    let load = ["--rate", "20/s", "--duration", "5s"];
    let mut running = Running::begin(namespace.load(&url, &[&load[..], &EASY].concat(), None));
    assert!(running.wait_for("due 20", Duration::from_secs(60)), "{}", running.stderr());
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    namespace.await_only(&before, Duration::from_secs(120));
}

#[test]
fn an_api_server_that_is_away_for_ten_seconds_costs_nothing() {
    let Some((namespace, url)) = Namespace::with_puma("load-outage") else { return };
    let before = namespace.objects();
    let load = ["--rate", "20/s", "--duration", "25s", "--generators", "2"];
    let mut running = Running::begin(namespace.load(&url, &[&load[..], &EASY].concat(), None));
    assert!(running.wait_for("due 20", Duration::from_secs(60)), "{}", running.stderr());
    namespace.without_server(Duration::from_secs(10));
    let ended = running.end_within(Duration::from_secs(90));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = ended.json();
    assert_eq!((&result["due"], &result["status"]["200"]), (&500.into(), &500.into()));
    assert_eq!(result["windows"].as_array().unwrap().len(), 25, "each second once");
    namespace.await_only(&before, Duration::from_secs(60));
}

#[test]
fn a_node_that_does_not_answer_any_more_is_named() {
    let Some((namespace, url)) = Namespace::with_puma("load-silent") else { return };
    let before = namespace.objects();
    let load = ["--rate", "20/s", "--duration", "600s", "--generators", "2"];
    let mut running = Running::begin(namespace.load(&url, &[&load[..], &EASY].concat(), None));
    assert!(running.wait_for("due 20", Duration::from_secs(60)), "{}", running.stderr());
    let pods = namespace.kubectl(&["get", "pods", "-l", "sweetspot/role=collector", "-o", "json"]);
    let node = pods["items"][0]["spec"]["nodeName"].as_str().unwrap();
    let silenced = namespace.silence(node);
    let ended = running.end_within(Duration::from_secs(180));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.assert_says(&["cannot be read any more", &format!("its node {node} does not answer")]);
    drop(silenced);
    namespace.await_only(&before, Duration::from_secs(120));
}

#[test]
fn a_cluster_that_cannot_be_asked_or_looks_like_production_is_said() {
    let Some(namespace) = Namespace::new("load-nowhere") else { return };
    let folder = tempfile::tempdir().unwrap();
    let load = ["--rate", "10/s", "--duration", "1s"];
    let with = |text: &str| {
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, text).unwrap();
        ended(&mut namespace.load("http://10.96.0.1/", &load, Some(&path)))
    };
    let config = |context: &str| {
        let port = crate::process::unused_address().port();
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {context}\n\
             contexts: [{{name: {context}, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{port}'}}}}]\n\
             users: [{{name: u, user: {{token: t}}}}]\n"
        )
    };
    let nowhere = with(&config("here"));
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    nowhere.assert_says(&["the cluster's API server does not answer"]);
    let production = with(&config("shop-prod"));
    assert_eq!(production.code, Some(2), "{production:?}");
    production.assert_says(&["'shop-prod'", "looks like production; say --yes"]);
    let none = with("current-context: gone\n");
    assert_eq!(none.code, Some(1), "{none:?}");
    none.assert_says(&["there is no cluster to ask"]);
}
