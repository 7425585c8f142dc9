//! A Deployment that is changed for a while and put back, whatever happens: what it was is written
//! on it in the same step that changes it, so that anybody can put it back.
//!
//! In: what it is to be. Out: what it was, again. Asks the API server.

use serde_json::Value;
use thiserror::Error;

use super::api::{Api, ApiError};
use super::patience::patiently;
use super::{autoscaler, deployment, objects, own_app, paths, replica_sets};

/// Why it could not be changed, or put back.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChangeError {
    #[error(transparent)]
    Api(#[from] ApiError),
    /// There is no such Deployment.
    #[error("there is no Deployment {name} in this namespace")]
    None { name: String },
    /// A session that was cut off has left it changed.
    #[error("a session that was cut off has left the {what} {name} changed")]
    LeftChanged { name: String, what: &'static str },
    /// Somebody else has changed it since we did.
    #[error("somebody else has changed the Deployment {name} meanwhile; it is left as it is")]
    ByOthers { name: String },
    /// Somebody has KEDA keep this many pods.
    #[error(
        "KEDA is paused and keeps {pods} pods of it, and one is tuned; take the annotation \
         autoscaling.keda.sh/paused-replicas from the ScaledObject, or set it to \"1\""
    )]
    Paused { pods: String },
}

/// The command that puts a Deployment back. `context`: where one of the kubeconfig was named.
pub fn restoring(name: &str, namespace: &str, context: Option<&str>) -> String {
    // No argument of a program holds the one byte that a shell cannot be told.
    let context =
        context.map(|it| format!(" --context {}", shlex::try_quote(it).unwrap_or_default()));
    let context = context.unwrap_or_default();
    format!("sweetspot restore --deployment {name} --namespace {namespace}{context}")
}

/// A Deployment, and what of it and its autoscalers has been changed.
pub struct Changing<'a> {
    api: &'a dyn Api,
    namespace: String,
    name: String,
    run: String,
    /// As it was read or changed last.
    pub object: Value,
    /// What it was made as, where it is there for a time: that needs no note on it. `None`: it is
    /// the user's.
    made: Option<Value>,
    /// Those that scale it.
    pub autoscalers: Vec<Value>,
    is_changed: bool,
}

impl<'a> Changing<'a> {
    /// Looks at it, and at what scales it; nothing is changed yet.
    ///
    /// # Errors
    /// There is none, an earlier session has left it changed, or it may not be read.
    pub fn read(
        api: &'a dyn Api,
        namespace: &str,
        name: &str,
        run: &str,
    ) -> Result<Self, ChangeError> {
        let object = read(api, namespace, name)?;
        let autoscalers = patiently(|| autoscaler::of(api, namespace, name))?;
        let left = |what| ChangeError::LeftChanged { name: name.to_string(), what };
        if deployment::before(&object).is_some() {
            return Err(left("Deployment"));
        }
        if autoscalers.iter().any(|one| deployment::before(one).is_some()) {
            return Err(left("autoscaler of"));
        }
        if let Some(pods) = autoscalers.iter().find_map(autoscaler::paused_elsewhere) {
            return Err(ChangeError::Paused { pods: pods.to_string() });
        }
        let made = own_app::is_own(&object).then(|| object["spec"].clone());
        let (namespace, name, run) = (namespace.to_string(), name.to_string(), run.to_string());
        Ok(Self { api, namespace, name, run, object, made, autoscalers, is_changed: false })
    }

    /// What it was before we changed it.
    pub fn original(&self) -> Value {
        let before = || deployment::before(&self.object).map(|before| before.spec);
        let spec = self.made.clone().or_else(before);
        spec.unwrap_or_else(|| self.object["spec"].clone())
    }

    /// Has it be like this from now on. Returns which generation of it that is.
    ///
    /// # Errors
    /// Somebody else has changed it, it may not be changed, or the API server does not answer.
    pub fn set(&mut self, spec: &Value) -> Result<i64, ChangeError> {
        if !self.is_changed {
            // How many pods it has may have changed since it was read; what they are may not, as
            // what it is to be was made of that.
            let now = self.look()?;
            if now["spec"]["template"] != self.object["spec"]["template"] {
                return Err(ChangeError::ByOthers { name: self.name.clone() });
            }
            self.object = now;
            // From here on there is something to put back.
            self.is_changed = true;
            for one in &self.autoscalers {
                patiently(|| autoscaler::hold(self.api, one, &self.run))?;
            }
        }
        let is_first = self.made.is_none() && deployment::before(&self.object).is_none();
        let operations = match is_first {
            true => deployment::first_change(&self.object, &self.run, spec),
            false => deployment::further_change(&self.object, spec),
        };
        let path = paths::deployment(&self.namespace, &self.name);
        self.object = match patiently(|| self.api.patch(&path, &operations)) {
            Ok(object) => object,
            // Either somebody else was there, or an answer was lost on its way to us.
            Err(error) if error.is_conflict() => {
                let now = self.look()?;
                let start = |of: &Value| of["template"]["metadata"]["annotations"].clone();
                if now["spec"]["template"] == self.object["spec"]["template"] {
                    // What it was to be is what the API server will not have.
                    return Err(error.into());
                }
                if start(&now["spec"]) != start(spec) {
                    return Err(ChangeError::ByOthers { name: self.name.clone() });
                }
                now
            }
            Err(error) => return Err(error.into()),
        };
        Ok(deployment::generation(&self.object))
    }

    /// Has it keep this many of the pods that it has now, or have more of the same. Not for a
    /// user's: putting that back takes any number but one for what somebody else has set. Returns
    /// which generation of it that is.
    ///
    /// # Errors
    /// As of [`set`](Self::set).
    pub fn scale(&mut self, pods: u16) -> Result<i64, ChangeError> {
        let mut spec = self.object["spec"].clone();
        spec["replicas"] = pods.into();
        self.set(&spec)
    }

    /// Reads it again.
    ///
    /// # Errors
    /// It is gone, or the API server does not answer.
    pub fn look(&self) -> Result<Value, ChangeError> {
        read(self.api, &self.namespace, &self.name)
    }

    /// Leaves it as it is now: it is nobody's, and is removed.
    pub fn leave(&mut self) {
        self.is_changed = false;
    }

    /// Puts back whatever was changed; does nothing where nothing was.
    ///
    /// `waits`: until nobody can roll back to one of our settings, for at most a minute.
    ///
    /// # Errors
    /// The API server does not answer, or may not be asked any more.
    pub fn put_back(&mut self, waits: bool) -> Result<(), ChangeError> {
        if !self.is_changed {
            return Ok(());
        }
        // Whether or not it can be: it is not tried again when this is dropped.
        self.is_changed = false;
        restore(self.api, &self.namespace, &self.name, (Some(&self.run), waits))?;
        // Done; to know what it is now matters only where it is changed once more.
        if let Ok(now) = self.look() {
            self.object = now;
        }
        Ok(())
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        // Who is told has tried before; what cannot be put back now is by `sweetspot restore`.
        drop(self.put_back(false));
    }
}

/// What was found changed, and put back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// It is as it was before the session.
    pub deployment: bool,
    /// Somebody has deployed since: that is left, and only our note is gone.
    pub is_others: bool,
    pub autoscalers: u64,
}

/// Puts a Deployment and its autoscalers back to what they were before a session, by what is
/// written on them. `of`: only what this run has changed, since another session may have begun
/// where one was away for long. `waits`: until nobody can roll back to one of our settings.
///
/// # Errors
/// There is none, it may not be changed, or the API server does not answer.
pub fn restore(
    api: &dyn Api,
    namespace: &str,
    name: &str,
    (of, waits): (Option<&str>, bool),
) -> Result<Restored, ChangeError> {
    let mut restored = Restored::default();
    // First, or the number of pods that comes back is taken away again. Where it fails, the
    // Deployment comes back all the same.
    let released = release(api, namespace, name, of);
    let object = read(api, namespace, name)?;
    let mut tries = 0;
    loop {
        match patiently(|| put_back(api, namespace, name, of)) {
            Ok(Some(is_as_before)) => {
                (restored.deployment, restored.is_others) = (is_as_before, !is_as_before);
                break;
            }
            Ok(None) => break,
            // Somebody changed it between our look and our change.
            Err(error) if error.is_conflict() && tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
    // All is as it was; what is left of ours does no harm where it cannot be removed.
    drop(replica_sets::remove_ours(api, namespace, &object, waits));
    restored.autoscalers = released?;
    Ok(restored)
}

/// Removes the pods that a session which was killed would send loads with, by what is written on
/// the Deployment, or before it was changed by the `run` of its Lease: the cluster itself would
/// only do it at their deadline.
///
/// # Errors
/// They may not be removed, there is no such Deployment, or the API server does not answer.
pub fn remove_generators(
    api: &dyn Api,
    namespace: &str,
    name: &str,
    run: Option<String>,
) -> Result<(), ChangeError> {
    let object = read(api, namespace, name)?;
    let changed = deployment::before(&object).map(|before| before.run);
    for run in changed.into_iter().chain(run) {
        let collector = objects::job_path(namespace, &run, objects::COLLECTOR);
        patiently(|| api.delete(&collector))?;
    }
    Ok(())
}

/// Lets its autoscalers go. Returns how many were held.
fn release(api: &dyn Api, namespace: &str, name: &str, of: Option<&str>) -> Result<u64, ApiError> {
    let mut released = 0;
    for one in patiently(|| autoscaler::of(api, namespace, name))? {
        released += u64::from(patiently(|| autoscaler::let_go(api, &one, of))?);
    }
    Ok(released)
}

/// Between which somebody else changes it.
const TRIES: u32 = 3;

/// By what it is now. Whether it is all as it was then; `None`: nothing was changed.
fn put_back(
    api: &dyn Api,
    namespace: &str,
    name: &str,
    of: Option<&str>,
) -> Result<Option<bool>, ApiError> {
    let path = paths::deployment(namespace, name);
    let object = api.get(&path)?.unwrap_or_default();
    let Some(before) = deployment::before_of(&object, of) else { return Ok(None) };
    let spec = deployment::restored(&object["spec"], &before.spec);
    api.patch(&path, &deployment::put_back(&object, &spec))?;
    Ok(Some(spec == before.spec))
}

fn read(api: &dyn Api, namespace: &str, name: &str) -> Result<Value, ChangeError> {
    let found = patiently(|| api.get(&paths::deployment(namespace, name)))?;
    found.ok_or_else(|| ChangeError::None { name: name.to_string() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use serde_json::json;

    use super::super::api::Lines;
    use super::*;

    /// A Deployment and an autoscaler, changed by operations as an API server changes them; its
    /// next answers are lost where `lost` says so.
    #[derive(Default)]
    struct Fake {
        objects: Mutex<BTreeMap<String, Value>>,
        lost: Mutex<u32>,
    }

    const SHOP: &str = "/apis/apps/v1/namespaces/web/deployments/shop";
    const SCALER: &str = "/apis/autoscaling/v2/namespaces/web/horizontalpodautoscalers/shop";

    fn fake() -> Fake {
        let shop = json!({
            "metadata": { "name": "shop", "generation": 1, "annotations": {} },
            "spec": { "replicas": 3, "template": { "metadata": {}, "spec": {} } },
        });
        let scaler = json!({
            "metadata": { "name": "shop", "namespace": "web" },
            "spec": { "minReplicas": 2, "maxReplicas": 9,
                "scaleTargetRef": { "kind": "Deployment", "name": "shop" } },
        });
        let objects = BTreeMap::from([(SHOP.to_string(), shop), (SCALER.to_string(), scaler)]);
        Fake { objects: objects.into(), lost: 0.into() }
    }

    /// Whose Deployment is there for the time.
    fn fake_that_is_ours() -> Fake {
        let fake = fake();
        let labels = json!({ "sweetspot/app": "shop" });
        fake.objects.lock().unwrap().get_mut(SHOP).unwrap()["metadata"]["labels"] = labels;
        fake
    }

    fn place<'a>(object: &'a mut Value, path: &str) -> (&'a mut Value, String) {
        let (parent, key) = path.rsplit_once('/').unwrap();
        (object.pointer_mut(parent).unwrap(), key.replace("~1", "/"))
    }

    impl Api for Fake {
        fn get(&self, path: &str) -> Result<Option<Value>, ApiError> {
            let objects = self.objects.lock().unwrap();
            if path.ends_with("autoscalers") {
                return Ok(Some(json!({ "items": [objects[SCALER]] })));
            }
            if path.contains("/replicasets?") {
                let of = |(path, one): (&String, &Value)| {
                    path.contains("/replicasets/").then(|| one.clone())
                };
                return Ok(Some(
                    json!({ "items": objects.iter().filter_map(of).collect::<Vec<_>>() }),
                ));
            }
            Ok(objects.get(path).cloned())
        }

        fn delete_version(&self, path: &str, _version: &str) -> Result<(), ApiError> {
            panic!("no version is removed: {path}")
        }

        fn create(&self, collection: &str, _object: &Value) -> Result<Value, ApiError> {
            panic!("nothing is made: {collection}")
        }

        fn patch(&self, path: &str, operations: &Value) -> Result<Value, ApiError> {
            let mut objects = self.objects.lock().unwrap();
            let object = objects.get_mut(path).unwrap();
            for operation in operations.as_array().unwrap() {
                let (at, value) = (operation["path"].as_str().unwrap(), &operation["value"]);
                let (parent, key) = place(object, at);
                match operation["op"].as_str().unwrap() {
                    "test" if parent[&key] != *value => {
                        return Err(ApiError::Refused { status: 422, message: at.into() });
                    }
                    "test" => {}
                    "remove" => drop(parent.as_object_mut().unwrap().remove(&key)),
                    _ => parent[&key] = value.clone(),
                }
            }
            let generation = deployment::generation(object);
            object["metadata"]["generation"] = (generation + 1).into();
            let mut lost = self.lost.lock().unwrap();
            if *lost > 0 {
                *lost -= 1;
                return Err(ApiError::Unreachable { why: "reset".into() });
            }
            Ok(object.clone())
        }

        fn run(&self, path: &str) -> Result<Lines, ApiError> {
            panic!("nothing is run: {path}")
        }

        fn delete(&self, path: &str) -> Result<(), ApiError> {
            assert!(path.contains("/replicasets/"), "nothing else is removed: {path}");
            self.objects.lock().unwrap().remove(path);
            Ok(())
        }

        fn follow(&self, path: &str) -> Result<Lines, ApiError> {
            panic!("no log is read: {path}")
        }
    }

    fn ours(start: u32) -> Value {
        let annotations = json!({ (deployment::RUN): "r1", "sweetspot/start": start.to_string() });
        json!({ "replicas": 1,
            "template": { "metadata": { "annotations": annotations }, "spec": {} } })
    }

    #[test]
    fn what_was_changed_comes_back_when_the_session_ends_however_it_does() {
        let fake = fake();
        let before = fake.objects.lock().unwrap().clone();
        let mut changing = Changing::read(&fake, "web", "shop", "r1").unwrap();
        assert_eq!(changing.set(&ours(1)).unwrap(), 2);
        assert_eq!(changing.set(&ours(2)).unwrap(), 3);
        assert_eq!(changing.original()["replicas"], 3);
        assert_eq!(fake.objects.lock().unwrap()[SCALER]["spec"]["maxReplicas"], 1);
        drop(changing);
        let after = fake.objects.lock().unwrap();
        for path in [SHOP, SCALER] {
            assert_eq!(after[path]["spec"], before[path]["spec"]);
            assert_eq!(deployment::before(&after[path]), None);
        }
    }

    #[test]
    fn what_was_made_for_a_time_needs_no_note_of_what_it_was() {
        let fake = fake_that_is_ours();
        let mut changing = Changing::read(&fake, "web", "shop", "r1").unwrap();
        for start in [1, 2] {
            changing.set(&ours(start)).unwrap();
            assert_eq!(deployment::before(&changing.object), None);
            assert_eq!(changing.object["spec"], ours(start));
            assert_eq!(changing.original()["replicas"], 3);
        }
    }

    #[test]
    fn another_number_of_pods_leaves_what_they_are_and_what_there_was() {
        let fake = fake_that_is_ours();
        let mut changing = Changing::read(&fake, "web", "shop", "r1").unwrap();
        changing.set(&ours(1)).unwrap();
        assert_eq!(changing.scale(2).unwrap(), 3);
        let mut expected = ours(1);
        expected["replicas"] = 2.into();
        assert_eq!(changing.object["spec"], expected);
        assert_eq!(changing.original()["replicas"], 3);
    }

    #[test]
    fn what_people_could_roll_back_to_is_theirs_alone() {
        let fake = fake();
        let set = |name: &str, template: Value| {
            let path = format!("/apis/apps/v1/namespaces/web/replicasets/{name}");
            let one = json!({ "metadata": { "name": name }, "status": { "replicas": 0 },
                "spec": { "replicas": 0, "template": template } });
            (path, one)
        };
        let ours = ours(1)["template"].clone();
        let sets = [set("theirs", json!({ "metadata": {} })), set("ours", ours)];
        fake.objects.lock().unwrap().extend(sets.clone());
        restore(&fake, "web", "shop", (None, true)).unwrap();
        let objects = fake.objects.lock().unwrap();
        assert!(objects.contains_key(&sets[0].0) && !objects.contains_key(&sets[1].0));
    }

    #[test]
    fn one_that_a_killed_session_left_is_refused_and_can_be_restored() {
        let fake = fake();
        let mut changing = Changing::read(&fake, "web", "shop", "r1").unwrap();
        changing.set(&ours(1)).unwrap();
        std::mem::forget(changing);
        let refused = Changing::read(&fake, "web", "shop", "r2").err().unwrap();
        let (name, what) = ("shop".to_string(), "Deployment");
        assert_eq!(refused, ChangeError::LeftChanged { name, what });
        let restored = restore(&fake, "web", "shop", (None, true)).unwrap();
        assert_eq!(restored, Restored { deployment: true, is_others: false, autoscalers: 1 });
        assert_eq!(fake.objects.lock().unwrap()[SHOP]["spec"]["replicas"], 3);
        assert_eq!(restore(&fake, "web", "shop", (None, true)).unwrap(), Restored::default());
        let none = restore(&fake, "web", "none", (None, true)).unwrap_err();
        assert_eq!(none, ChangeError::None { name: "none".into() });
    }

    #[test]
    fn the_command_that_puts_back_names_all_that_was_named() {
        let command = "sweetspot restore --deployment shop --namespace web-prod";
        assert_eq!(restoring("shop", "web-prod", None), command);
        for (context, quoted) in [("ada@eu-prod", "ada@eu-prod"), ("eu prod", "'eu prod'")] {
            let expected = format!("{command} --context {quoted}");
            assert_eq!(restoring("shop", "web-prod", Some(context)), expected);
        }
    }

    #[test]
    fn what_somebody_else_has_deployed_meanwhile_stays() {
        let fake = fake();
        let mut changing = Changing::read(&fake, "web", "shop", "r1").unwrap();
        changing.set(&ours(1)).unwrap();
        // With our notes on its pods, as most that deploy leave them there.
        let mut theirs = ours(1);
        theirs["replicas"] = 5.into();
        theirs["template"]["spec"]["nodeName"] = "x".into();
        fake.objects.lock().unwrap().get_mut(SHOP).unwrap()["spec"] = theirs.clone();
        let refused = changing.set(&ours(2)).unwrap_err();
        assert_eq!(refused, ChangeError::ByOthers { name: "shop".into() });
        changing.put_back(true).unwrap();
        let objects = fake.objects.lock().unwrap();
        let spec = &objects[SHOP]["spec"];
        let annotations = spec["template"]["metadata"].get("annotations");
        assert_eq!((&spec["template"]["spec"]["nodeName"], annotations), (&"x".into(), None));
        assert_eq!(spec["replicas"], 5);
        assert_eq!(deployment::before(&objects[SHOP]), None);
        assert_eq!(objects[SCALER]["spec"]["maxReplicas"], 9);
    }

    #[test]
    fn what_is_deployed_before_the_first_change_is_not_undone() {
        let fake = fake();
        let mut changing = Changing::read(&fake, "web", "shop", "r1").unwrap();
        let template = "/spec/template/spec/nodeName";
        let newer = json!([{ "op": "add", "path": template, "value": "x" }]);
        fake.patch(SHOP, &newer).unwrap();
        let refused = changing.set(&ours(1)).unwrap_err();
        assert_eq!(refused, ChangeError::ByOthers { name: "shop".into() });
        drop(changing);
        let objects = fake.objects.lock().unwrap();
        assert_eq!(objects[SHOP].pointer(template).unwrap(), "x");
        assert_eq!(objects[SCALER]["spec"]["maxReplicas"], 9);
    }

    #[test]
    fn a_session_that_was_away_puts_nothing_back_of_the_one_that_came_after_it() {
        let fake = fake();
        let mut away = Changing::read(&fake, "web", "shop", "r1").unwrap();
        away.set(&ours(1)).unwrap();
        restore(&fake, "web", "shop", (None, true)).unwrap();
        let mut next = Changing::read(&fake, "web", "shop", "r2").unwrap();
        next.set(&ours(1)).unwrap();
        away.put_back(true).unwrap();
        {
            let objects = fake.objects.lock().unwrap();
            assert_eq!(deployment::before(&objects[SHOP]).unwrap().run, "r2");
            assert_eq!(objects[SCALER]["spec"]["maxReplicas"], 1);
        }
        drop(next);
        assert_eq!(fake.objects.lock().unwrap()[SHOP]["spec"]["replicas"], 3);
    }

    #[test]
    fn an_answer_that_was_lost_on_its_way_costs_nothing() {
        let fake = fake();
        let mut changing = Changing::read(&fake, "web", "shop", "r1").unwrap();
        changing.set(&ours(1)).unwrap();
        *fake.lost.lock().unwrap() = 1;
        changing.set(&ours(2)).unwrap();
        assert_eq!(changing.object["spec"], ours(2));
    }
}
