//! What a Deployment is to say of its pods for one start of the app.
//!
//! In: its `spec` before anything was changed, and what is to be set. Out: its `spec` for the
//! start, and which pods are of it. Only computes.

use std::collections::BTreeMap;

use ring::hmac::{self, HMAC_SHA256};
use serde_json::{Value, json};

use super::Container;
use crate::place::kubernetes::quantity;

/// On its pods, that they are ours, and which start they are of.
pub const RUN: &str = "sweetspot/run";
pub(super) const START: &str = "sweetspot/start";
/// Which container was given which variables, so that just these are taken back; of their values,
/// which may be secret, only what they are known by.
pub(super) const CONTAINER: &str = "sweetspot/container";
pub(super) const VARIABLES: &str = "sweetspot/variables";

/// What could take a pod away in the middle of a load.
pub(super) const PROBES_REMOVED: [&str; 2] = ["livenessProbe", "readinessProbe"];
pub(super) const GRACE: &str = "terminationGracePeriodSeconds";

/// Seconds for a pod of ours to end: it has nothing to do any more.
const MOST_GRACE_S: u64 = 10;

/// Seconds between two looks at whether the app serves, and how many of them it has: the session
/// gives a start up before the cluster does.
const PROBE_EVERY_S: u32 = 1;
pub(super) const PROBES: u32 = 1860;

/// Revisions that a Deployment keeps by default, and those that a session may add.
const USUAL_HISTORY: u64 = 10;
const ROOM_IN_HISTORY: u64 = 10_000;

/// What its pods are to be like for one start.
pub struct Wanted<'a> {
    pub container: &'a Container,
    pub variables: &'a BTreeMap<String, String>,
    /// Where the app says that it serves, unless it has a readiness probe of its own.
    pub path: &'a str,
    /// A port's number or name in the pod.
    pub port: &'a Value,
    /// How many pods, and what each may use where that is ours to say: cores and bytes of memory.
    pub pods: u16,
    pub limits: Option<(f64, u64)>,
    /// Tells our session from others, and each start of it.
    pub run: &'a str,
    pub start: u32,
}

/// Its `spec` for one start: these pods, nothing beside them while they are replaced, these
/// variables, and no probe that could take a pod away because it is busy. Whether one serves is
/// asked once, when it starts.
pub fn spec(before: &Value, wanted: &Wanted<'_>) -> Value {
    let mut spec = before.clone();
    spec["replicas"] = wanted.pods.into();
    spec["strategy"] = json!({ "type": "Recreate" });
    // Ours must not push out of its history what people may want to roll back to.
    spec["revisionHistoryLimit"] = history(before).into();
    spec["minReadySeconds"] = 0.into();
    let template = &mut spec["template"];
    template["spec"][GRACE] = grace_s(&template["spec"]).into();
    if !template["metadata"]["annotations"].is_object() {
        template["metadata"]["annotations"] = json!({});
    }
    template["metadata"]["annotations"][RUN] = wanted.run.into();
    template["metadata"]["annotations"][START] = wanted.start.to_string().into();
    template["metadata"]["annotations"][CONTAINER] = wanted.container.name.clone().into();
    template["metadata"]["annotations"][VARIABLES] = noted(wanted).to_string().into();
    if let Some((cores, memory_bytes)) = wanted.limits {
        limit_init_containers(&mut template["spec"], &resources(cores, memory_bytes));
    }
    let container = &mut template["spec"]["containers"][wanted.container.index];
    set_variables(container, wanted.variables);
    if let Some((cores, memory_bytes)) = wanted.limits {
        container["resources"] = resources(cores, memory_bytes);
    }
    container["startupProbe"] = startup_probe(container, wanted);
    if let Some(container) = container.as_object_mut() {
        PROBES_REMOVED.iter().for_each(|key| drop(container.remove(*key)));
    }
    spec
}

/// A pod that was made for this start of a run.
pub fn is_of_start(pod: &Value, run: &str, start: u32) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    let of = annotations[START].as_str().and_then(|number| number.parse().ok());
    annotations[RUN] == *run && of == Some(start)
}

/// Revisions that it keeps for the time.
pub(super) fn history(before: &Value) -> u64 {
    before["revisionHistoryLimit"].as_u64().unwrap_or(USUAL_HISTORY) + ROOM_IN_HISTORY
}

/// Seconds for a pod of ours to end; not less than it is told to sleep before, which the cluster
/// would refuse.
pub(super) fn grace_s(pod: &Value) -> u64 {
    let lists = ["containers", "initContainers"].map(|list| pod[list].as_array());
    let sleeps = lists.into_iter().flatten().flatten();
    let sleeps = sleeps.filter_map(|it| it["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64());
    let least = sleeps.max().map_or(0, |longest| longest + 1);
    pod[GRACE].as_u64().unwrap_or(MOST_GRACE_S).min(MOST_GRACE_S.max(least))
}

/// What a pod requests is what it may use.
pub fn resources(cores: f64, memory_bytes: u64) -> Value {
    let size = quantity::size(cores, memory_bytes);
    json!({ "requests": size, "limits": size })
}

/// What runs before the app may use as much as the app, unless something else is said: a pod has no
/// more than its share, and what it requests is still what it may use.
fn limit_init_containers(pod: &mut Value, resources: &Value) {
    let all = pod.get_mut("initContainers").and_then(Value::as_array_mut);
    for one in all.into_iter().flatten() {
        if one["resources"].as_object().is_none_or(|own| own.is_empty()) {
            one["resources"] = resources.clone();
        }
    }
}

/// Of each variable that is set, by its name, what its value is known by.
fn noted(wanted: &Wanted<'_>) -> Value {
    let known_by = |value: &String| Value::from(mark(wanted.run, value));
    let variables = wanted.variables.iter().map(|(name, value)| (name.clone(), known_by(value)));
    Value::Object(variables.collect())
}

/// By which a run knows a value that it has set, without telling it: half of HMAC with SHA-256.
pub(super) fn mark(run: &str, value: &str) -> String {
    let tag = hmac::sign(&hmac::Key::new(HMAC_SHA256, run.as_bytes()), value.as_bytes());
    tag.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// In the place that each has among the container's, since a variable may refer to one before it.
fn set_variables(container: &mut Value, variables: &BTreeMap<String, String>) {
    if !container["env"].is_array() {
        container["env"] = json!([]);
    }
    let Some(env) = container["env"].as_array_mut() else { return };
    for (name, value) in variables {
        let set = json!({ "name": name, "value": value });
        match place_of(env, name) {
            Some(index) => env[index] = set,
            None => env.push(set),
        }
    }
}

/// Of a variable that stands there twice, the last is the one that the container gets.
pub(super) fn place_of(env: &[Value], name: &str) -> Option<usize> {
    env.iter().rposition(|of| of["name"] == *name)
}

fn startup_probe(container: &Value, wanted: &Wanted<'_>) -> Value {
    let own = ["readinessProbe", "startupProbe"].map(|kind| &container[kind]);
    let own = own.into_iter().find(|probe| probe.is_object());
    let asked = json!({ "httpGet": { "path": wanted.path, "port": wanted.port } });
    let mut probe = own.cloned().unwrap_or(asked);
    probe["periodSeconds"] = PROBE_EVERY_S.into();
    probe["failureThreshold"] = PROBES.into();
    probe["successThreshold"] = 1.into();
    probe["initialDelaySeconds"] = 0.into();
    probe
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::container;
    use super::super::tests::shop;
    use super::*;

    /// One pod with these variables.
    pub fn first_start<'a>(
        container: &'a Container,
        variables: &'a BTreeMap<String, String>,
        port: &'a Value,
    ) -> Wanted<'a> {
        Wanted { container, variables, path: "/", port, pods: 1, limits: None, run: "r", start: 1 }
    }

    #[test]
    fn for_a_start_there_is_one_pod_with_these_variables_that_no_probe_takes_away() {
        let deployment = shop();
        let found = container(&deployment, None).unwrap();
        let variables = BTreeMap::from([
            ("RAILS_MAX_THREADS".to_string(), "8".to_string()),
            ("WEB_CONCURRENCY".to_string(), "4".to_string()),
        ]);
        let port = json!(9292);
        let first = first_start(&found, &variables, &port);
        let wanted = Wanted { run: "r1", start: 2, ..first };
        let ours = spec(&deployment["spec"], &wanted);
        assert_eq!((&ours["replicas"], &ours["strategy"]["type"]), (&1.into(), &"Recreate".into()));
        let container = &ours["template"]["spec"]["containers"][0];
        assert_eq!(container["env"][0], json!({ "name": "WEB_CONCURRENCY", "value": "4" }));
        assert_eq!(container["env"][3], json!({ "name": "RAILS_MAX_THREADS", "value": "8" }));
        assert!(container.get("livenessProbe").is_none());
        assert!(container.get("readinessProbe").is_none());
        assert_eq!(container["startupProbe"]["tcpSocket"]["port"], 9292);
        assert_eq!(container["startupProbe"]["periodSeconds"], 1);
        assert_eq!(ours["template"]["metadata"]["annotations"][START], "2");
        let pod = &ours["template"];
        assert!(is_of_start(pod, "r1", 2) && !is_of_start(pod, "r1", 1));
        assert!(!is_of_start(pod, "r2", 2) && !is_of_start(&json!({}), "r1", 2));
        let mut bare = deployment.clone();
        let one = &mut bare["spec"]["template"]["spec"]["containers"][0];
        one.as_object_mut().unwrap().remove("readinessProbe");
        let asked = &spec(&bare["spec"], &wanted)["template"]["spec"]["containers"][0];
        assert_eq!(asked["startupProbe"]["httpGet"], json!({ "path": "/", "port": 9292 }));
        let cut = Wanted { pods: 4, limits: Some((0.25, 128 << 20)), ..wanted };
        let four = spec(&deployment["spec"], &cut);
        assert_eq!(four["replicas"], 4);
        let resources = &four["template"]["spec"]["containers"][0]["resources"];
        assert_eq!(resources["limits"], json!({ "cpu": "250m", "memory": "134217728" }));
        assert_eq!(resources["limits"], resources["requests"]);
    }

    #[test]
    fn an_init_container_has_the_apps_share_unless_it_has_a_limit_of_its_own() {
        let mut deployment = shop();
        let own = json!({ "limits": { "cpu": "2" } });
        deployment["spec"]["template"]["spec"]["initContainers"] =
            json!([{ "name": "a" }, { "name": "b", "resources": own }]);
        let (found, variables) = (container(&deployment, None).unwrap(), BTreeMap::new());
        let port = json!(80);
        let first = first_start(&found, &variables, &port);
        let cut = Wanted { limits: Some((0.5, 1 << 20)), ..first };
        let pod = spec(&deployment["spec"], &cut)["template"]["spec"].clone();
        assert_eq!(pod["initContainers"][0]["resources"], pod["containers"][0]["resources"]);
        assert_eq!(pod["initContainers"][1]["resources"], own);
        let theirs = Wanted { limits: None, ..cut };
        let pod = spec(&deployment["spec"], &theirs)["template"]["spec"].clone();
        assert_eq!(pod["initContainers"][0], json!({ "name": "a" }));
    }

    #[test]
    fn a_pod_ends_soon_and_not_before_it_may() {
        let of = |grace: Option<u64>, sleep: Option<u64>| {
            let hook = json!({ "preStop": { "sleep": { "seconds": sleep } } });
            grace_s(&json!({ GRACE: grace, "containers": [{ "lifecycle": hook }, {}] }))
        };
        assert_eq!([of(None, None), of(Some(5), None), of(Some(30), None)], [10, 5, 10]);
        // The cluster refuses a pod that sleeps for longer than it has.
        assert_eq!(
            [of(Some(30), Some(15)), of(Some(30), Some(30)), of(Some(30), Some(3))],
            [16, 30, 10]
        );
    }
}
