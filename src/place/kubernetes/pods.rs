//! What the API server says of pods: where they are, and why they don't run.
//!
//! In: pods as JSON. Out: what is known of them. Only computes.

use std::time::Duration;

use serde_json::Value;

use super::fields::{condition, elements, name, text};
use super::user;
use crate::terms::{BootEnd, ProcessEnd, ServerEnd};

/// How a pod stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It may come up by itself; why it hasn't, as far as that is said.
    Waiting(String),
    Running,
    Succeeded,
    /// It will not run, or has ended badly.
    Failed(String),
}

impl State {
    /// It will not run any more.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed(_))
    }
}

/// What keeps a container from starting, and does not pass.
const STUCK: [&str; 6] = [
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "ImagePullBackOff",
];

/// As the node's container runtime says that a program could not be begun.
const NOT_BEGUN: [&str; 2] = ["StartError", "ContainerCannotRun"];

/// How this pod stands.
pub fn state(pod: &Value) -> State {
    let status = &pod["status"];
    match status["phase"].as_str() {
        Some("Succeeded") => return State::Succeeded,
        Some("Failed") => return State::Failed(why_it_ended(status)),
        _ => {}
    }
    let of = |kind: &str| elements(&status[kind]);
    let containers = [of("initContainerStatuses"), of("containerStatuses")].concat();
    for container in &containers {
        let waiting = &container["state"]["waiting"];
        if STUCK.contains(&text(&waiting["reason"])) {
            return State::Failed(said(waiting));
        }
    }
    if let Some(unscheduled) = condition(pod, "PodScheduled", "False") {
        return State::Waiting(said(unscheduled));
    }
    if status["phase"] == "Running" {
        return State::Running;
    }
    if let Some(init) = running_init(pod) {
        return State::Waiting(format!("its init container {init} has not ended"));
    }
    let waiting = containers.iter().map(|one| &one["state"]["waiting"]);
    let reasons: Vec<String> = waiting.filter(|waiting| waiting.is_object()).map(said).collect();
    State::Waiting(reasons.join("; "))
}

/// The init container that runs, and that the app's container waits for.
fn running_init(pod: &Value) -> Option<&str> {
    let is_sidecar = |name: &Value| {
        let mut all = elements(&pod["spec"]["initContainers"]).iter();
        all.any(|one| one["name"] == *name && one["restartPolicy"] == "Always")
    };
    let mut all = elements(&pod["status"]["initContainerStatuses"]).iter();
    let still = all.find(|one| one["state"]["running"].is_object() && !is_sidecar(&one["name"]))?;
    Some(text(&still["name"]))
}

/// What a pod still waits for after this time, where it may come up by itself and that is said.
pub fn waited_for(pod: &Value, patience_s: f64) -> Option<BootEnd> {
    let error = why_waiting(pod)?;
    Some(match running_init(pod) {
        Some(init) => BootEnd::InitContainerRuns { container: init.to_string(), patience_s },
        None => BootEnd::NotRun { error },
    })
}

/// What keeps a pod from coming up, where it may come up by itself and that is said.
pub fn why_waiting(pod: &Value) -> Option<String> {
    match state(pod) {
        State::Waiting(why) => Some(why).filter(|why| !why.is_empty()),
        State::Running | State::Succeeded | State::Failed(_) => None,
    }
}

/// Of its own or of its containers; the exit code where nothing else is said.
fn why_it_ended(status: &Value) -> String {
    let own = said(status);
    if !own.is_empty() {
        return own;
    }
    let containers = elements(&status["containerStatuses"]).iter();
    let ended = containers.map(|one| &one["state"]["terminated"]);
    let reasons = ended
        .filter(|ended| ended.is_object())
        .map(|ended| format!("{}, exit code {}", text(&ended["reason"]), ended["exitCode"]));
    reasons.collect::<Vec<_>>().join("; ")
}

/// The reason and the message of what the API server gives both for.
fn said(of: &Value) -> String {
    let (reason, message) = (text(&of["reason"]), text(&of["message"]));
    match (reason.is_empty(), message.is_empty()) {
        (_, true) => reason.to_string(),
        (true, false) => message.to_string(),
        (false, false) => format!("{reason}: {message}"),
    }
}

/// Its address in the cluster's network, once it has one and runs.
pub fn address(pod: &Value) -> Option<String> {
    let address = pod["status"]["podIP"].as_str().filter(|it| !it.is_empty())?;
    (state(pod) == State::Running && !is_ending(pod)).then(|| address.to_string())
}

/// It is being removed, and may run on for a while.
pub fn is_ending(pod: &Value) -> bool {
    !pod["metadata"]["deletionTimestamp"].is_null()
}

/// In words, that its node does not answer any more; `None`: it does, as far as that is known.
pub fn silence(pod: &Value) -> Option<String> {
    let (pod_name, node) = (name(pod), text(&pod["spec"]["nodeName"]));
    is_lost(pod).then(|| {
        format!(
            "pod {pod_name} neither runs nor ends, as its node {node} does not answer any more; \
             look at it with 'kubectl describe node {node}'"
        )
    })
}

/// In words, that pods from before a start have not ended in this time, without which none of the
/// start is made; `None`: none of these is about to end.
pub fn still_ending(pods: &[Value], patience: Duration) -> Option<String> {
    let names: Vec<String> = pods.iter().filter(|pod| is_ending(pod)).map(name).collect();
    let first = names.first()?;
    Some(format!(
        "pods from before have not ended after {} s ({}), and none with a setting is made until \
         they have: an app may take its terminationGracePeriodSeconds to end, and a finalizer \
         may hold a pod ('kubectl describe pod {first}'); give them longer with --boot-timeout, \
         up to 30m",
        patience.as_secs(),
        names.join(", ")
    ))
}

/// Its node has not told of it for long: it is said to run and not to be ready, though no probe of
/// ours asks it.
pub fn is_lost(pod: &Value) -> bool {
    let containers = elements(&pod["status"]["containerStatuses"]);
    // A gate is what somebody else says of it, such as a load balancer.
    condition(pod, "Ready", "False").is_some_and(|it| it["reason"] != "ReadinessGatesNotReady")
        && !containers.is_empty()
        && containers.iter().all(|it| it["ready"] == true)
}

/// The container's image as its node calls it, by content; empty until the node has said so.
pub fn image_id(pod: &Value, container: &str) -> String {
    text(&status_of(pod, container)["imageID"]).to_string()
}

/// How often this container has been started again.
pub fn restarts(pod: &Value, container: &str) -> u64 {
    status_of(pod, container)["restartCount"].as_u64().unwrap_or(0)
}

/// The exit code with which this container has ended, now or before it was started again.
pub fn ended(pod: &Value, container: &str) -> Option<i64> {
    let status = status_of(pod, container);
    let code = |state: &str| status[state]["terminated"]["exitCode"].as_i64();
    code("state").or_else(|| code("lastState"))
}

/// Why the container's program was not even begun, such as one that the image doesn't have.
pub fn why_not_begun(pod: &Value, container: &str) -> Option<String> {
    let status = status_of(pod, container);
    ["state", "lastState"].into_iter().find_map(|state| {
        let ended = &status[state]["terminated"];
        NOT_BEGUN.contains(&text(&ended["reason"])).then(|| said(ended))
    })
}

/// Why this pod will not come up; `None`: it may.
pub fn not_coming(pod: &Value, container: &str) -> Option<BootEnd> {
    if let Some(error) = why_not_begun(pod, container) {
        return Some(BootEnd::NotRun { error });
    }
    if let Some(code) = ended(pod, container) {
        let how = ServerEnd::ProcessEnded { how: end_of(code) };
        return Some(BootEnd::EndedEarly { how });
    }
    match state(pod) {
        State::Failed(error) => Some(user::refused(&error).unwrap_or(BootEnd::NotRun { error })),
        _ => None,
    }
}

/// As shells have it, a signal's number is added to 128.
pub fn end_of(code: i64) -> ProcessEnd {
    match i32::try_from(code) {
        Ok(code @ 129..=192) => ProcessEnd::Signal(code - 128),
        Ok(code) => ProcessEnd::ExitStatus(code),
        Err(_) => ProcessEnd::Other(code.to_string()),
    }
}

/// What the API server, or the node, says of this container.
pub fn status_of<'a>(pod: &'a Value, container: &str) -> &'a Value {
    let all = elements(&pod["status"]["containerStatuses"]);
    all.iter().find(|one| one["name"] == *container).unwrap_or(&Value::Null)
}

/// Its container of this name.
pub fn container<'a>(pod: &'a Value, name: &str) -> Option<&'a Value> {
    pod["spec"]["containers"].as_array()?.iter().find(|one| one["name"] == *name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_pass_is_told_from_what_may() {
        let waiting = |reason: &str| {
            json!({"status": {"phase": "Pending", "containerStatuses": [
                {"state": {"waiting": {"reason": reason, "message": "of x"}}}]}})
        };
        let stuck = State::Failed("ImagePullBackOff: of x".into());
        assert_eq!(state(&waiting("ImagePullBackOff")), stuck);
        assert_eq!(
            state(&waiting("ErrImageNeverPull")),
            State::Failed("ErrImageNeverPull: of x".into())
        );
        let comes = State::Waiting("ContainerCreating: of x".into());
        assert_eq!(state(&waiting("ContainerCreating")), comes);
        let full = json!({"status": {"phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient cpu."}]}});
        let message = "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu.";
        assert_eq!(state(&full), State::Waiting(message.into()));
        let init = json!([{"name": "mesh", "restartPolicy": "Always"}, {"name": "migrate"}]);
        let migrates = json!({"spec": {"initContainers": init}, "status": {"phase": "Pending",
            "initContainerStatuses": [
                {"name": "mesh", "started": true, "state": {"running": {}}},
                {"name": "migrate", "started": true, "state": {"running": {}}}],
            "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}]}});
        let message = "its init container migrate has not ended";
        assert_eq!(state(&migrates), State::Waiting(message.into()));
        let init = BootEnd::InitContainerRuns { container: "migrate".into(), patience_s: 300.0 };
        assert_eq!(waited_for(&migrates, 300.0), Some(init));
        assert!(matches!(waited_for(&full, 300.0), Some(BootEnd::NotRun { .. })));
    }

    #[test]
    fn a_pod_whose_node_is_silent_is_not_ready_though_its_container_was() {
        let pod = |condition: &str, container: bool| {
            json!({"status": {"phase": "Running",
                "conditions": [{"type": "Ready", "status": condition}],
                "containerStatuses": [{"ready": container}]}})
        };
        let mut lost = pod("False", true);
        assert!(is_lost(&lost));
        lost["spec"]["nodeName"] = "node2".into();
        lost["metadata"] = json!({"name": "shop-1", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        let said = silence(&lost).unwrap();
        assert!(said.contains("its node node2 does not answer any more;"), "{said}");
        assert_eq!((silence(&pod("True", true)), waited_for(&lost, 300.0)), (None, None));
        assert!(!is_lost(&pod("True", true)) && !is_lost(&pod("False", false)));
        let mut gated = pod("False", true);
        gated["status"]["conditions"][0]["reason"] = "ReadinessGatesNotReady".into();
        assert!(!is_lost(&gated) && !is_lost(&json!({})));
    }

    #[test]
    fn why_a_pod_ended_is_its_own_reason_or_its_containers() {
        let evicted =
            json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}});
        assert_eq!(state(&evicted), State::Failed("Evicted: low on memory".into()));
        let killed = json!({"status": {"phase": "Failed", "containerStatuses": [
            {"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}});
        assert_eq!(state(&killed), State::Failed("OOMKilled, exit code 137".into()));
        assert_eq!(state(&json!({"status": {"phase": "Succeeded"}})), State::Succeeded);
        assert_eq!(state(&json!({})), State::Waiting(String::new()));
    }

    #[test]
    fn a_container_that_was_started_again_says_how_it_had_ended() {
        let pod = json!({"status": {"containerStatuses": [
            {"name": "proxy", "restartCount": 7},
            {"name": "app", "restartCount": 2, "state": {"running": {}},
             "lastState": {"terminated": {"exitCode": 137}}}]}});
        assert_eq!((restarts(&pod, "app"), ended(&pod, "app")), (2, Some(137)));
        assert_eq!((restarts(&pod, "proxy"), ended(&pod, "proxy")), (7, None));
        assert_eq!((restarts(&pod, "none"), ended(&pod, "none")), (0, None));
    }

    #[test]
    fn how_a_container_ended_is_told_as_a_shell_does() {
        assert_eq!(end_of(137), ProcessEnd::Signal(9));
        assert_eq!(end_of(1), ProcessEnd::ExitStatus(1));
    }

    #[test]
    fn a_program_that_is_not_in_the_image_is_told_from_one_that_ended() {
        let ended = |reason: &str| {
            let terminated = json!({"exitCode": 128, "reason": reason, "message": "no puma"});
            json!({"status": {"containerStatuses": [
                {"name": "app", "lastState": {"terminated": terminated}}]}})
        };
        let begun = why_not_begun(&ended("StartError"), "app");
        assert_eq!(begun.as_deref(), Some("StartError: no puma"));
        assert_eq!(why_not_begun(&ended("Error"), "app"), None);
    }

    #[test]
    fn pods_that_have_not_ended_are_named_and_no_others() {
        let pod = |name: &str, ends: Option<&str>| {
            json!({"metadata": {"name": name, "deletionTimestamp": ends},
                "status": {"phase": "Running"}})
        };
        let patience = Duration::from_secs(300);
        let stays = pod("shop-3", None);
        assert_eq!(still_ending(&[], patience), None);
        assert_eq!(still_ending(std::slice::from_ref(&stays), patience), None);
        let ends = ["shop-1", "shop-2"].map(|name| pod(name, Some("2026-01-01T00:00:00Z")));
        let said = still_ending(&[stays, ends[0].clone(), ends[1].clone()], patience).unwrap();
        assert!(said.contains("have not ended after 300 s (shop-1, shop-2),"), "{said}");
        assert!(said.contains("describe pod shop-1'") && !said.contains("shop-3"), "{said}");
    }

    #[test]
    fn an_address_counts_once_the_pod_runs_and_until_it_is_to_end() {
        let mut pod = json!({"metadata": {}, "status": {"phase": "Running", "podIP": "10.1.2.3"}});
        assert_eq!(address(&pod), Some("10.1.2.3".into()));
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(address(&pod), None);
        assert_eq!(address(&json!({"status": {"phase": "Pending", "podIP": "10.1.2.3"}})), None);
    }
}
