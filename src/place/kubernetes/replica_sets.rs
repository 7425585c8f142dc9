//! What a Deployment keeps of the settings that it was tried with: a ReplicaSet each, by which
//! people would roll back to one of them.
//!
//! In: a Deployment that has been put back. Out: nothing of ours is left among its revisions.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::api::{Api, ApiError};
use super::fields::name;
use super::patience::{LOOK, list, patiently};
use super::{deployment, paths};

/// For the pods from before to come back, and ours to end; what still has pods then stays.
const PATIENCE: Duration = Duration::from_secs(60);

/// Removes those that sessions of ours have made, once they have no pods any more. `waits`: for the
/// last of them.
///
/// # Errors
/// They may not be listed or removed, or the API server does not answer.
pub fn remove_ours(
    api: &dyn Api,
    namespace: &str,
    object: &Value,
    waits: bool,
) -> Result<(), ApiError> {
    let collection = paths::of_group("apps/v1", namespace, "replicasets");
    let labels = deployment::selector(&deployment::labels(object));
    let path = paths::selected(&collection, &labels);
    let began = Instant::now();
    loop {
        let all = list(api, &path)?;
        let ours = all.iter().filter(|one| is_ours(one));
        let (idle, busy): (Vec<&Value>, Vec<&Value>) = ours.partition(|one| has_no_pods(one));
        for one in idle {
            patiently(|| api.delete(&format!("{collection}/{}", name(one))))?;
        }
        if busy.is_empty() || !waits || began.elapsed() > PATIENCE {
            return Ok(());
        }
        thread::sleep(LOOK);
    }
}

/// Whatever session it was.
fn is_ours(one: &Value) -> bool {
    one["spec"]["template"]["metadata"]["annotations"][deployment::RUN].is_string()
}

fn has_no_pods(one: &Value) -> bool {
    one["spec"]["replicas"] == 0 && one["status"]["replicas"].as_u64().unwrap_or(0) == 0
}
