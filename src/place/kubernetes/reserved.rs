//! Nodes for the apps of a session that measures several settings at once: each app's pod is put on
//! its node before anything else of the session takes the room there.
//!
//! In: the Deployments of the other apps. Out: their pods have nodes, as far as there are any.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::objects::belongs_to;
use super::paths;
use super::patience::{list, patiently};
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
    let owned = belongs_to(owner);
    for name in names {
        let one_pod = json!({ "op": "replace", "path": "/spec/replicas", "value": 1 });
        let change = json!([owned, one_pod]);
        patiently(|| api.patch(&paths::deployment(namespace, name), &change))?;
        let service = format!("{}/{name}", paths::core(namespace, "services"));
        patiently(|| api.patch(&service, &json!([owned])))?;
    }
    let began = Instant::now();
    let of_session = paths::selected(&paths::core(namespace, "pods"), selector);
    let has_node = |pod: &Value| pod["spec"]["nodeName"].is_string();
    while !names.is_empty() && began.elapsed() < PATIENCE && !stop.is_raised() {
        let pods = list(api, &of_session)?;
        // One beside these: whose generators are to come.
        if pods.len() > names.len() && pods.iter().all(has_node) {
            break;
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::api::Lines;
    use super::*;

    /// A cluster whose scheduler needs some looks for each pod.
    #[derive(Default)]
    struct Fake {
        changed: Mutex<Vec<(String, Value)>>,
        looks: Mutex<u32>,
    }

    impl Api for Fake {
        fn get(&self, _path: &str) -> Result<Option<Value>, ApiError> {
            let mut looks = self.looks.lock().unwrap();
            *looks += 1;
            let scheduled = json!({ "spec": { "nodeName": "a" } });
            let second = if *looks < 3 { json!({ "spec": {} }) } else { scheduled.clone() };
            Ok(Some(json!({ "items": [scheduled, second] })))
        }

        fn patch(&self, path: &str, operations: &Value) -> Result<Value, ApiError> {
            self.changed.lock().unwrap().push((path.to_string(), operations.clone()));
            Ok(json!({}))
        }

        fn create(&self, _: &str, _: &Value) -> Result<Value, ApiError> {
            panic!("nothing is made here")
        }

        fn delete(&self, path: &str) -> Result<(), ApiError> {
            panic!("nothing is removed: {path}")
        }

        fn delete_version(&self, path: &str, _: &str) -> Result<(), ApiError> {
            panic!("nothing is removed: {path}")
        }

        fn run(&self, path: &str) -> Result<Lines, ApiError> {
            panic!("nothing is run: {path}")
        }

        fn follow(&self, path: &str) -> Result<Lines, ApiError> {
            panic!("no log is read: {path}")
        }
    }

    #[test]
    fn a_pod_of_each_other_app_has_a_node_before_it_goes_on() {
        let owner = json!({ "kind": "Job", "metadata": { "name": "c", "uid": "u" } });
        let (fake, stop) = (Fake::default(), StopSignal::default());
        let reserve = |names: &[String]| reserve(&fake, "web", names, (&owner, "s=1"), &stop);
        reserve(&[]).unwrap();
        assert_eq!(*fake.looks.lock().unwrap(), 0, "an app alone waits for nobody");
        reserve(&["b".to_string()]).unwrap();
        assert_eq!(*fake.looks.lock().unwrap(), 3);
        let changed = fake.changed.lock().unwrap();
        let [(deployment, change), (service, _)] = &changed[..] else { panic!("{changed:?}") };
        assert_eq!(deployment, "/apis/apps/v1/namespaces/web/deployments/b");
        assert_eq!(service, "/api/v1/namespaces/web/services/b");
        assert_eq!(change[0]["value"][0]["uid"], "u");
        assert_eq!(change[1]["value"], 1);
    }
}
