//! Nodes for the apps of a session that measures several settings at once: each app's pod is put on
//! its node before anything else of the session takes the room there.
//!
//! In: the Deployments of the other apps. Out: their pods have nodes, as far as there are any.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::{Api, ApiError, items};
use super::objects::owner_reference;
use super::paths;
use super::patience::patiently;
use crate::terms::StopSignal;

/// For the scheduler to find nodes, and between two looks at whether it has.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(250);

/// Starts a pod of each, whatever it runs with: it is replaced at the first start there. From now
/// on they, and the Services of the same names, go with this owner. A pod that finds no node is
/// said at that start, and is not waited for here.
///
/// # Errors
/// They may not be changed, or the API server does not answer.
pub fn reserve(
    api: &dyn Api,
    namespace: &str,
    names: &[String],
    (owner, selector): (&Value, &str),
    stop: &StopSignal,
) -> Result<(), ApiError> {
    let owners = json!([owner_reference(owner)]);
    let owned = json!({ "op": "add", "path": "/metadata/ownerReferences", "value": owners });
    for name in names {
        let deployments = paths::of_group("apps/v1", namespace, "deployments");
        let one_pod = json!({ "op": "replace", "path": "/spec/replicas", "value": 1 });
        let change = json!([owned, one_pod]);
        patiently(|| api.patch(&format!("{deployments}/{name}"), &change))?;
        let service = format!("{}/{name}", paths::core(namespace, "services"));
        patiently(|| api.patch(&service, &json!([owned])))?;
    }
    let began = Instant::now();
    let of_session = paths::selected(&paths::core(namespace, "pods"), selector);
    let has_node = |pod: &Value| pod["spec"]["nodeName"].is_string();
    while !names.is_empty() && began.elapsed() < PATIENCE && !stop.is_raised() {
        let pods = items(patiently(|| api.get(&of_session))?);
        // One beside these: whose generators are to come.
        if pods.len() > names.len() && pods.iter().all(has_node) {
            break;
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
