//! What a Deployment says of its pods, and what it is to say while it is tuned.
//!
//! In: objects as JSON. Out: what is known of them, and what to put in their place. Only computes.

use std::collections::BTreeMap;

use ring::hmac::{self, HMAC_SHA256};
use serde_json::{Value, json};

use super::fields::{condition, elements, text};
use super::quantity;

/// On the object, what it was before we changed it; on its pods, that they are ours.
pub const BEFORE: &str = "sweetspot/before";
pub const RUN: &str = "sweetspot/run";
const START: &str = "sweetspot/start";
/// Which container was given which variables, so that just these are taken back; of their values,
/// which may be secret, only what they are known by.
const CONTAINER: &str = "sweetspot/container";
const VARIABLES: &str = "sweetspot/variables";

/// What of a Deployment's `spec` is changed besides its pods' template.
const OF_SPEC: [&str; 4] = ["replicas", "strategy", "revisionHistoryLimit", "minReadySeconds"];
/// What could take a pod away in the middle of a load.
const PROBES_REMOVED: [&str; 2] = ["livenessProbe", "readinessProbe"];
const GRACE: &str = "terminationGracePeriodSeconds";

/// Seconds for a pod of ours to end: it has nothing to do any more.
const MOST_GRACE_S: u64 = 10;

/// Who puts a Deployment back to what a repository says, by how the names of labels and annotations
/// begin that such programs write on it, or read. (Argo CD may go by `app.kubernetes.io/instance`
/// alone, which Helm writes too: that says nothing.)
const KEPT_BY: [(&str, &str); 3] = [
    ("argocd.argoproj.io/", "Argo CD"),
    ("kustomize.toolkit.fluxcd.io/name", "Flux"),
    ("helm.toolkit.fluxcd.io/name", "Flux"),
];

/// Seconds between two looks at whether the app serves, and how many of them it has: the session
/// gives a start up before the cluster does.
const PROBE_EVERY_S: u32 = 1;
const PROBES: u32 = 1860;
/// What an earlier version gave it.
const PROBES_BEFORE: u32 = 600;

/// Revisions that a Deployment keeps by default, and those that a session may add.
const USUAL_HISTORY: u64 = 10;
const ROOM_IN_HISTORY: u64 = 10_000;

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
    let names = || all.iter().map(name_of).collect::<Vec<_>>().join(", ");
    let index = match (named, all) {
        (None, [_]) => Some(0),
        (None, _) => {
            return Err(format!(
                "its pods have several containers ({}); say which runs the app with --container",
                names()
            ));
        }
        (Some(named), _) => all.iter().position(|one| one["name"] == *named),
    };
    let Some(index) = index else {
        return Err(format!("its pods have no such container, but {}", names()));
    };
    let one = &all[index];
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
    let spec = &deployment["spec"];
    let expressions = spec["selector"]["matchExpressions"].as_array();
    if expressions.is_some_and(|all| !all.is_empty()) || labels(deployment).is_empty() {
        return Err("it finds its pods by expressions, which this cannot follow".into());
    }
    if spec["paused"] == true {
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

/// Revisions that it keeps for the time.
fn history(before: &Value) -> u64 {
    before["revisionHistoryLimit"].as_u64().unwrap_or(USUAL_HISTORY) + ROOM_IN_HISTORY
}

/// Seconds for a pod of ours to end; not less than it is told to sleep before, which the cluster
/// would refuse.
fn grace_s(pod: &Value) -> u64 {
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
fn mark(run: &str, value: &str) -> String {
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
fn place_of(env: &[Value], name: &str) -> Option<usize> {
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

/// What an object was before we changed it, as it is kept on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Before {
    pub run: String,
    pub spec: Value,
}

/// What is kept on an object; `None`: we have not changed it, or have put it back.
pub fn before(object: &Value) -> Option<Before> {
    let text = object["metadata"]["annotations"][BEFORE].as_str()?;
    let kept: Value = serde_json::from_str(text).ok()?;
    Some(Before { run: kept["run"].as_str()?.to_string(), spec: kept["spec"].clone() })
}

/// The same where it was this run that changed it; without one, whichever.
pub fn before_of(object: &Value, run: Option<&str>) -> Option<Before> {
    before(object).filter(|before| run.is_none_or(|run| run == before.run))
}

/// Operations that write down what the object is, and then change it.
pub fn first_change(object: &Value, run: &str, spec: &Value) -> Value {
    let kept = json!({ "run": run, "spec": object["spec"] }).to_string();
    let annotations = object["metadata"]["annotations"].is_object();
    let none = json!({ "op": "add", "path": "/metadata/annotations", "value": {} });
    let mut operations = vec![unchanged(object)];
    operations.extend((!annotations).then_some(none));
    operations.extend([
        json!({ "op": "add", "path": path_of(BEFORE), "value": kept }),
        json!({ "op": "replace", "path": "/spec", "value": spec }),
    ]);
    operations.into()
}

/// Operations that change it from what we made of it.
pub fn further_change(object: &Value, spec: &Value) -> Value {
    json!([unchanged(object), { "op": "replace", "path": "/spec", "value": spec }])
}

/// Operations that give it this `spec` and take our note from it.
pub fn put_back(object: &Value, spec: &Value) -> Value {
    json!([
        unchanged(object),
        { "op": "replace", "path": "/spec", "value": spec },
        { "op": "remove", "path": path_of(BEFORE) },
    ])
}

/// Nobody has changed it since it was read. How many pods a Deployment has is others' to change.
fn unchanged(object: &Value) -> Value {
    let path = if object["spec"]["template"].is_object() { "/spec/template" } else { "/spec" };
    json!({ "op": "test", "path": path, "value": object.pointer(path) })
}

/// What a Deployment's `spec` is to be again: what it is, with everything that is as we have set it
/// as it was before. Equal to what it was, unless somebody else has deployed since: that stays.
pub fn restored(today: &Value, before: &Value) -> Value {
    let mut spec = today.clone();
    let ours = OF_SPEC.iter().filter(|key| is_as_set(today, before, key));
    ours.for_each(|key| copy(&mut spec, before, key));
    let (pod, pod_before) = (&mut spec["template"]["spec"], &before["template"]["spec"]);
    if pod[GRACE] == grace_s(pod_before) {
        copy(pod, pod_before, GRACE);
    }
    let annotations = spec["template"]["metadata"]["annotations"].clone();
    let (container, variables) = (text(&annotations[CONTAINER]), text(&annotations[VARIABLES]));
    if let Some(all) = spec["template"]["metadata"]["annotations"].as_object_mut() {
        [RUN, START, CONTAINER, VARIABLES].iter().for_each(|key| drop(all.remove(*key)));
    }
    let had_none = !before["template"]["metadata"]["annotations"].is_object();
    let has_none = spec["template"]["metadata"]["annotations"] == json!({});
    if let Some(metadata) = spec["template"]["metadata"].as_object_mut()
        && had_none
        && has_none
    {
        metadata.remove("annotations");
    }
    let of = |spec: &Value| {
        let all = spec["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
        all.into_iter().enumerate().find(|(_, one)| one["name"] == *container)
    };
    let (Some((index, _)), Some((_, was))) = (of(&spec), of(before)) else { return spec };
    let now = &mut spec["template"]["spec"]["containers"][index];
    if [PROBES, PROBES_BEFORE].iter().any(|it| now["startupProbe"]["failureThreshold"] == *it) {
        copy(now, &was, "startupProbe");
    }
    for key in PROBES_REMOVED {
        if now[key].is_null() {
            copy(now, &was, key);
        }
    }
    let set = serde_json::from_str(variables).unwrap_or_else(|_| of_names(variables, now));
    let run = text(&annotations[RUN]);
    set.iter().for_each(|(name, noted)| copy_variable(now, &was, (name, noted, run)));
    if was["env"].is_null() && now["env"] == json!([]) {
        copy(now, &was, "env");
    }
    spec
}

/// An earlier version wrote down the names of its variables alone: whatever these are now is ours.
fn of_names(names: &str, container: &Value) -> BTreeMap<String, String> {
    let env = elements(&container["env"]);
    let value = |name: &str| env[place_of(env, name)?]["value"].as_str();
    let one = |name: &str| Some((name.to_string(), value(name)?.to_string()));
    names.split(',').filter_map(one).collect()
}

/// Is this of its `spec` still what [`spec`] made of it?
fn is_as_set(today: &Value, before: &Value, key: &str) -> bool {
    match key {
        "replicas" => today[key] == 1,
        "strategy" => today[key]["type"] == "Recreate",
        "revisionHistoryLimit" => today[key] == history(before),
        // The API server leaves zeros out.
        _ => today[key].as_u64().unwrap_or(0) == 0,
    }
}

/// As it is there, or not at all.
fn copy(to: &mut Value, from: &Value, key: &str) {
    let Some(object) = to.as_object_mut() else { return };
    match from.get(key) {
        Some(value) => drop(object.insert(key.to_string(), value.clone())),
        None => drop(object.remove(key)),
    }
}

/// Where it still has the value that the run has given it. An earlier version noted that value
/// itself.
fn copy_variable(to: &mut Value, from: &Value, (name, noted, run): (&str, &str, &str)) {
    let Some(env) = to["env"].as_array_mut() else { return };
    let before = elements(&from["env"]);
    let is_ours = |value: &str| mark(run, value) == noted || value == noted;
    let ours = place_of(env, name).filter(|index| is_ours(text(&env[*index]["value"])));
    match (ours, place_of(before, name)) {
        (Some(index), Some(was)) => env[index] = before[was].clone(),
        (Some(index), None) => drop(env.remove(index)),
        (None, _) => {}
    }
}

/// A pod that was made for this start of a run.
pub fn is_of_start(pod: &Value, run: &str, start: u32) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    let of = annotations[START].as_str().and_then(|number| number.parse().ok());
    annotations[RUN] == *run && of == Some(start)
}

fn path_of(annotation: &str) -> String {
    format!("/metadata/annotations/{}", annotation.replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> Value {
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

    /// One pod with these variables.
    fn first_start<'a>(
        container: &'a Container,
        variables: &'a BTreeMap<String, String>,
        port: &'a Value,
    ) -> Wanted<'a> {
        Wanted { container, variables, path: "/", port, pods: 1, limits: None, run: "r", start: 1 }
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
        let mut twice = deployment.clone();
        let env = &mut twice["spec"]["template"]["spec"]["containers"][0]["env"];
        let again = json!({ "name": "WEB_CONCURRENCY", "value": "3" });
        env.as_array_mut().unwrap().push(again.clone());
        let set = spec(&twice["spec"], &wanted);
        let env = |of: &Value| of["template"]["spec"]["containers"][0]["env"][3].clone();
        assert_eq!(
            (env(&set)["value"].as_str(), env(&restored(&set, &twice["spec"]))),
            (Some("4"), again)
        );
        let cut = Wanted { pods: 4, limits: Some((0.25, 128 << 20)), ..wanted };
        let four = spec(&deployment["spec"], &cut);
        assert_eq!(four["replicas"], 4);
        let resources = &four["template"]["spec"]["containers"][0]["resources"];
        assert_eq!(resources["limits"], json!({ "cpu": "250m", "memory": "134217728" }));
        assert_eq!(resources["limits"], resources["requests"]);
    }

    #[test]
    fn what_it_was_is_kept_on_it_and_comes_back() {
        let deployment = shop();
        assert_eq!(before(&deployment), None);
        let ours = json!({ "template": { "metadata": { "annotations": { RUN: "r1" } } } });
        let operations = first_change(&deployment, "r1", &ours);
        let template = &deployment["spec"]["template"];
        let unchanged = json!({ "op": "test", "path": "/spec/template", "value": template });
        assert_eq!(operations[0], unchanged, "how many pods there are may change meanwhile");
        assert_eq!(operations[1]["path"], "/metadata/annotations/sweetspot~1before");
        let mut changed = deployment.clone();
        changed["metadata"]["annotations"][BEFORE] = operations[1]["value"].clone();
        changed["spec"] = ours;
        let kept = before(&changed).unwrap();
        assert_eq!((&kept.run, &kept.spec), (&"r1".to_string(), &deployment["spec"]));
        let mut bare = deployment;
        bare["metadata"].as_object_mut().unwrap().remove("annotations");
        assert_eq!(first_change(&bare, "r1", &json!({}))[1]["path"], "/metadata/annotations");
    }

    #[test]
    fn everything_that_was_changed_is_as_it_was_and_what_others_changed_stays() {
        let before = shop()["spec"].clone();
        let found = container(&shop(), None).unwrap();
        let variables = BTreeMap::from([
            ("RAILS_MAX_THREADS".to_string(), "8".to_string()),
            ("WEB_CONCURRENCY".to_string(), "4".to_string()),
        ]);
        let port = json!(80);
        let wanted = first_start(&found, &variables, &port);
        let ours = spec(&before, &wanted);
        assert_ne!(ours, before);
        assert_eq!(restored(&ours, &before), before);
        let mut earlier = ours.clone();
        let names = "RAILS_MAX_THREADS,WEB_CONCURRENCY";
        earlier["template"]["metadata"]["annotations"][VARIABLES] = names.into();
        assert_eq!(restored(&earlier, &before), before, "as an earlier version had it");
        let mut theirs = ours;
        let one = &mut theirs["template"]["spec"]["containers"][0];
        one["image"] = "shop:2".into();
        one["env"].as_array_mut().unwrap().push(json!({ "name": "NEW", "value": "1" }));
        let merged = restored(&theirs, &before);
        let mut expected = before.clone();
        let one = &mut expected["template"]["spec"]["containers"][0];
        one["image"] = "shop:2".into();
        one["env"].as_array_mut().unwrap().push(json!({ "name": "NEW", "value": "1" }));
        assert_eq!(merged, expected);
        theirs["replicas"] = 5.into();
        assert_eq!(restored(&theirs, &before)["replicas"], 5);
    }

    #[test]
    fn what_is_noted_of_variables_holds_no_value_and_takes_just_these_back() {
        let before = shop()["spec"].clone();
        let found = container(&shop(), None).unwrap();
        let value = "pg://u:s3cret@db".to_string();
        let variables = BTreeMap::from([("DATABASE_URL".to_string(), value)]);
        let port = json!(80);
        let ours = spec(&before, &first_start(&found, &variables, &port));
        let annotations = |of: &Value| of["template"]["metadata"]["annotations"].clone();
        assert!(annotations(&ours)[VARIABLES].as_str().unwrap().contains("DATABASE_URL"));
        assert!(!annotations(&ours).to_string().contains("s3cret"), "{}", annotations(&ours));
        assert_eq!(restored(&ours, &before), before);
        let mut earlier = ours.clone();
        let values = json!(variables).to_string();
        earlier["template"]["metadata"]["annotations"][VARIABLES] = values.into();
        assert_eq!(restored(&earlier, &before), before, "as an earlier version had it");
        let mut theirs = ours;
        theirs["template"]["spec"]["containers"][0]["env"][3]["value"] = "pg://other".into();
        let env = restored(&theirs, &before)["template"]["spec"]["containers"][0]["env"].clone();
        assert_eq!(env[3], json!({ "name": "DATABASE_URL", "value": "pg://other" }));
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
    fn what_others_have_set_where_we_had_something_else_stays() {
        let before = shop()["spec"].clone();
        let found = container(&shop(), None).unwrap();
        let variables = BTreeMap::from([("WEB_CONCURRENCY".to_string(), "4".to_string())]);
        let port = json!(80);
        let wanted = first_start(&found, &variables, &port);
        let mut theirs = spec(&before, &wanted);
        let probe = json!({ "tcpSocket": { "port": 80 } });
        theirs["strategy"] = json!({ "type": "RollingUpdate", "rollingUpdate": {} });
        theirs["minReadySeconds"] = 5.into();
        theirs["revisionHistoryLimit"] = 3.into();
        theirs["template"]["spec"][GRACE] = 60.into();
        let one = &mut theirs["template"]["spec"]["containers"][0];
        one["env"][0]["value"] = "6".into();
        one["startupProbe"] = probe.clone();
        one["readinessProbe"] = probe.clone();
        let merged = restored(&theirs, &before);
        for key in OF_SPEC {
            let expected = if key == "replicas" { &before[key] } else { &theirs[key] };
            assert_eq!(&merged[key], expected, "{key}");
        }
        let of = |spec: &Value| spec["template"]["spec"].clone();
        assert_eq!(of(&merged)[GRACE], 60);
        let one = &of(&merged)["containers"][0];
        assert_eq!(one["env"][0]["value"], "6");
        assert_eq!((&one["startupProbe"], &one["readinessProbe"]), (&probe, &probe));
        assert_eq!(one["livenessProbe"], of(&before)["containers"][0]["livenessProbe"]);
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
