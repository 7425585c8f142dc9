//! Another limit of CPU for pods that run, changed in place: the `resize` subresource of pods,
//! which clusters have by default from Kubernetes 1.33 on.
//!
//! In: pods, and what each is to have. Out: whether they have it. A pod that was not changed is of
//! no use any more: it may be half of what was asked for.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::fields::condition;
use super::patience::patiently;
use super::{deployment, pods, quantity};
use crate::terms::StopSignal;

/// For a node to change a container's control group, and between two looks at whether it has.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);

/// How a pod stands to what was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Resized {
    Done,
    /// Its node is at it.
    Coming,
    /// It won't be in place: its node has no room, or a policy of whole cores.
    Never,
}

/// Gives the container of each of these pods so many cores, requested and limited alike. False:
/// this cluster, one of its nodes or our role is not up to it. `of_pods`: the collection's path.
///
/// # Errors
/// The API server does not answer.
pub fn resize(
    api: &dyn Api,
    of_pods: &str,
    names: &[String],
    (container, cores, memory_bytes): (&str, f64, u64),
    stop: &StopSignal,
) -> Result<bool, ApiError> {
    let began = Instant::now();
    for name in names {
        let path = format!("{of_pods}/{name}");
        let pod = patiently(|| api.get(&path))?.unwrap_or_default();
        let Some(change) = change(&pod, container, (cores, memory_bytes)) else { return Ok(false) };
        match patiently(|| api.patch(&format!("{path}/resize"), &change)) {
            Ok(_) => {}
            Err(error) if error.is_passing() => return Err(error),
            // No such subresource, no right to it, or a change that it does not take.
            Err(_) => return Ok(false),
        }
    }
    for name in names {
        let path = format!("{of_pods}/{name}");
        loop {
            let pod = patiently(|| api.get(&path))?.unwrap_or_default();
            match look(&pod, container, cores) {
                Resized::Done => break,
                Resized::Never => return Ok(false),
                Resized::Coming if stop.is_raised() || began.elapsed() > PATIENCE => {
                    return Ok(false);
                }
                Resized::Coming => thread::sleep(LOOK),
            }
        }
    }
    Ok(true)
}

/// Operations that ask for it; `None`: the pod has no such container (any more).
fn change(pod: &Value, container: &str, (cores, memory_bytes): (f64, u64)) -> Option<Value> {
    let all = pod["spec"]["containers"].as_array()?;
    let index = all.iter().position(|one| one["name"] == *container)?;
    Some(json!([{
        "op": "replace",
        "path": format!("/spec/containers/{index}/resources"),
        "value": deployment::resources(cores, memory_bytes),
    }]))
}

fn look(pod: &Value, container: &str, cores: f64) -> Resized {
    let is_on = |kind: &str| condition(pod, kind, "True").is_some();
    if pods::address(pod).is_none() || is_on("PodResizePending") {
        return Resized::Never;
    }
    // What the container runtime says that it has, not what it is to have.
    let has = quantity::limit(pods::status_of(pod, container), "cpu");
    let is_done = has.is_some_and(|has| (has - cores).abs() < 0.5e-3);
    if is_done && !is_on("PodResizeInProgress") { Resized::Done } else { Resized::Coming }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(cpu: &str, conditions: &Value) -> Value {
        json!({
            "metadata": {},
            "spec": { "containers": [{ "name": "mesh" }, { "name": "app" }] },
            "status": {
                "phase": "Running",
                "podIP": "10.1.2.3",
                "conditions": conditions,
                "containerStatuses":
                    [{ "name": "app", "resources": { "limits": { "cpu": cpu } } }],
            },
        })
    }

    #[test]
    fn the_apps_container_is_changed_wherever_it_stands() {
        let change = change(&pod("1", &json!([])), "app", (0.25, 64)).unwrap();
        assert_eq!(change[0]["path"], "/spec/containers/1/resources");
        assert_eq!(change[0]["value"]["limits"], json!({ "cpu": "250m", "memory": "64" }));
        assert_eq!(super::change(&json!({}), "app", (0.25, 64)), None);
    }

    #[test]
    fn it_is_done_once_the_container_has_it_and_never_where_the_node_puts_it_off() {
        let with = |kind: &str| json!([{ "type": kind, "status": "True", "reason": "Deferred" }]);
        let of = |cpu: &str, conditions: &Value| look(&pod(cpu, conditions), "app", 0.25);
        assert_eq!(of("250m", &json!([])), Resized::Done);
        assert_eq!(of("1", &json!([])), Resized::Coming);
        assert_eq!(of("250m", &with("PodResizeInProgress")), Resized::Coming);
        assert_eq!(of("1", &with("PodResizePending")), Resized::Never);
        let mut ending = pod("1", &json!([]));
        ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(look(&ending, "app", 0.25), Resized::Never);
    }
}
