//! What the pods of an image are to be like besides what sweetspot decides, by a file of the
//! user's.
//!
//! In: the file's text, and the name of the app's container in it. Out: what is taken over of it,
//! and pods like it. Only computes.

use std::fmt;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::fields::{elements, text};

/// What is taken over of a pod besides its init containers.
const OF_POD: [&str; 15] = [
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "hostAliases",
    "imagePullSecrets",
    "nodeSelector",
    "priorityClassName",
    "runtimeClassName",
    SECURITY,
    "serviceAccountName",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

/// What is taken over of the container that runs the app.
const OF_APP: [&str; 8] = [
    "args",
    "command",
    "env",
    "envFrom",
    "imagePullPolicy",
    SECURITY,
    "volumeMounts",
    "workingDir",
];

const SECURITY: &str = "securityContext";
const INIT_CONTAINERS: &str = "initContainers";

/// The whole object once more, with the values of its variables.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What sweetspot writes on pods begins so.
const OURS: &str = "sweetspot/";

/// Why a file says of no pods what they are to be like.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    #[error(
        "line {line} is not YAML as Kubernetes reads it; 'kubectl get deployment NAME -o yaml' \
         prints a file that is"
    )]
    Syntax { line: u64 },
    #[error(
        "it is not JSON ('kubectl get deployment NAME -o json'); YAML is read by a build with \
         '--features kubernetes'"
    )]
    NotJson,
    #[error(
        "it holds {}no pod; give a Deployment, a StatefulSet, a Pod, a PodTemplate or the spec of \
         a pod, as 'kubectl get deployment NAME -o yaml' prints one",
        if kinds.is_empty() { String::new() } else { format!("{} and ", kinds.join(", ")) }
    )]
    NoPod { kinds: Vec<String> },
    #[error("it holds the pods of {}; leave one of them in the file", names.join(", "))]
    SeveralPods { names: Vec<String> },
    #[error(
        "its pods have several containers ({}); say which runs the app with --container",
        names.join(", ")
    )]
    SeveralContainers { names: Vec<String> },
    #[error(
        "its pods have no container {name}{}",
        if names.is_empty() { String::new() } else { format!(", but {}", names.join(", ")) }
    )]
    NoContainer { name: String, names: Vec<String> },
    #[error(
        "a container of it mounts the volume {volume}, which its pods have not (what a StatefulSet \
         claims is not made for an image); give it such a volume, as {{name: {volume}, emptyDir: \
         {{}}}}"
    )]
    NoVolume { volume: String },
}

type Fields = Map<String, Value>;

/// What is taken over of a user's pods. Labels are not: a Service, a controller or a budget of
/// theirs would take pods that have them for its own.
#[derive(Clone, PartialEq)]
pub struct Template {
    /// The name of the container that runs the app; `None`: only the pod is described.
    pub container: Option<String>,
    /// Containers that run beside the app there, by name: they are not taken over.
    pub left_out: Vec<String>,
    annotations: Fields,
    /// Init containers of the app's own image have none here.
    pod: Fields,
    app: Fields,
}

/// Without its values, which may be secret.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { container, left_out, .. } = self;
        let mut shown = f.debug_struct("Template");
        shown.field("container", container).field("left_out", left_out).finish_non_exhaustive()
    }
}

impl Template {
    /// Reads the file's text, YAML or JSON. `named`: the container that runs the app; `None`: the
    /// only one.
    ///
    /// # Errors
    /// It cannot be read, describes no pod or several, or it is not known which container is meant.
    pub fn read(text: &str, named: Option<&str>) -> Result<Self, TemplateError> {
        let documents = documents(text)?;
        let objects: Vec<&Value> = documents.iter().flat_map(objects).collect();
        let pods: Vec<_> = objects.iter().filter_map(|it| Some((*it, pod_of(it)?))).collect();
        match pods[..] {
            [(_, (metadata, spec))] => Self::of(metadata, spec, named),
            [] => {
                let kinds = objects.iter().filter_map(|it| it["kind"].as_str());
                Err(TemplateError::NoPod { kinds: kinds.map(str::to_string).collect() })
            }
            _ => {
                let names = pods.iter().map(|(object, _)| title(object)).collect();
                Err(TemplateError::SeveralPods { names })
            }
        }
    }

    fn of(metadata: &Value, spec: &Value, named: Option<&str>) -> Result<Self, TemplateError> {
        let containers = elements(&spec["containers"]);
        let app = app_of(containers, named)?;
        let init = elements(&spec[INIT_CONTAINERS]).iter();
        // One that goes on while the app runs.
        let (sidecars, init): (Vec<&Value>, Vec<&Value>) =
            init.partition(|one| one["restartPolicy"] == "Always");
        check_volumes(spec, app.into_iter().chain(init.iter().copied()))?;
        let is_beside = |one: &&Value| app.is_some_and(|app| app["name"] != one["name"]);
        let beside = containers.iter().filter(is_beside);
        let mut pod = fields(spec, &OF_POD);
        let init: Vec<Value> = init.into_iter().map(|one| without_image_of(app, one)).collect();
        if !init.is_empty() {
            pod.insert(INIT_CONTAINERS.to_string(), init.into());
        }
        let annotations = metadata["annotations"].as_object().into_iter().flatten();
        let annotations =
            annotations.filter(|(key, _)| *key != LAST_APPLIED && !key.starts_with(OURS));
        Ok(Self {
            container: app.map(name),
            left_out: beside.chain(sidecars).map(name).collect(),
            annotations: annotations.map(|(key, value)| (key.clone(), value.clone())).collect(),
            pod,
            app: app.map(|app| fields(app, &OF_APP)).unwrap_or_default(),
        })
    }

    /// All that is taken over as one text, which may hold secrets.
    pub fn contents(&self) -> String {
        json!([self.container, self.annotations, self.pod, self.app]).to_string()
    }

    /// Makes pods of ours like these: `pods` has `metadata` and `spec`, and the app's container
    /// alone, in which what is set already stays.
    pub fn apply_to(&self, pods: &mut Value) {
        if !self.annotations.is_empty() {
            pods["metadata"]["annotations"] = self.annotations.clone().into();
        }
        let spec = &mut pods["spec"];
        if self.pod.contains_key("serviceAccountName") {
            // The account says whether its pods are given a token, unless the template does.
            remove(spec, "automountServiceAccountToken");
        }
        let ours = spec[SECURITY].take();
        let container = &mut spec["containers"][0];
        if self.container.is_some() {
            // Also where nothing is said of it: they run as whom they run as elsewhere.
            remove(container, SECURITY);
        }
        self.fill(container);
        let container = container.clone();
        for (key, value) in &self.pod {
            spec[key.as_str()] = value.clone();
        }
        spec[SECURITY] = self.security(ours);
        let init = spec.get_mut(INIT_CONTAINERS).and_then(Value::as_array_mut);
        for one in init.into_iter().flatten().filter(|one| one["image"].is_null()) {
            for key in ["image", "imagePullPolicy"] {
                container.get(key).into_iter().for_each(|value| one[key] = value.clone());
            }
        }
    }

    fn fill(&self, container: &mut Value) {
        if let Some(name) = &self.container {
            container["name"] = name.clone().into();
        }
        let ours = elements(&container["env"]).to_vec();
        let is_theirs = |one: &&Value| ours.iter().all(|our| our["name"] != one["name"]);
        let theirs = self.app.get("env").map_or(&[][..], elements).iter().filter(is_theirs);
        // Ours first, since a variable may refer to one before it.
        let env: Vec<Value> = ours.iter().chain(theirs).cloned().collect();
        for (key, value) in &self.app {
            if container.get(key).is_none() {
                container[key.as_str()] = value.clone();
            }
        }
        container["env"] = env.into();
    }

    /// Whom the pods run as, and what they may: as the template has it where it describes the app's
    /// container, else what it says before what is `ours`.
    fn security(&self, ours: Value) -> Value {
        let theirs = self.pod.get(SECURITY).and_then(Value::as_object);
        let mut all = if self.container.is_some() { json!({}) } else { ours };
        if theirs.is_some_and(|theirs| theirs.get("runAsUser") == Some(&json!(0))) {
            remove(&mut all, "runAsNonRoot");
        }
        for (key, value) in theirs.into_iter().flatten() {
            all[key.as_str()] = value.clone();
        }
        all
    }
}

/// The documents of a file.
fn documents(text: &str) -> Result<Vec<Value>, TemplateError> {
    match serde_json::from_str(text) {
        Ok(one) => Ok(vec![one]),
        Err(_) => of_yaml(text),
    }
}

#[cfg(feature = "kubernetes")]
fn of_yaml(text: &str) -> Result<Vec<Value>, TemplateError> {
    // As kubectl reads it: modes of files are written like this (`defaultMode: 0400`).
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    // Its own words may repeat a line of the file, which may hold a secret.
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| TemplateError::Syntax {
        line: error.location().map_or(1, |place| place.line()),
    })
}

#[cfg(not(feature = "kubernetes"))]
fn of_yaml(_text: &str) -> Result<Vec<Value>, TemplateError> {
    Err(TemplateError::NotJson)
}

/// Those of a list, or the one.
fn objects(document: &Value) -> Vec<&Value> {
    match document["items"].as_array() {
        Some(items) => items.iter().collect(),
        None => vec![document],
    }
}

/// The metadata and the spec of the pods that an object is or makes: a pod's own, those of a
/// template in it, or where nothing says what it is, the spec of a pod itself.
fn pod_of(object: &Value) -> Option<(&Value, &Value)> {
    let templates = [&object["spec"]["template"], &object["template"]];
    let template = templates.into_iter().find(|template| template["spec"].is_object());
    match (object["kind"].as_str(), template) {
        (Some("Pod"), _) if object["spec"].is_object() => Some(halves(object)),
        (_, Some(template)) => Some(halves(template)),
        (None, None) if is_spec(&object["spec"]) => Some(halves(object)),
        (None, None) if is_spec(object) => Some((&object["metadata"], object)),
        _ => None,
    }
}

fn halves(pod: &Value) -> (&Value, &Value) {
    (&pod["metadata"], &pod["spec"])
}

/// Something of it is a pod's.
fn is_spec(value: &Value) -> bool {
    let mut keys = OF_POD.iter().chain(&["containers", INIT_CONTAINERS]);
    keys.any(|key| value.get(*key).is_some())
}

/// What an object is called in words.
fn title(object: &Value) -> String {
    let title = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    match title.trim() {
        "" => "an object without a name".to_string(),
        title => title.to_string(),
    }
}

fn name(container: &Value) -> String {
    text(&container["name"]).to_string()
}

/// The container with this name, or the only one; `None`: there is none, and none is asked for.
pub(super) fn app_of<'a>(
    containers: &'a [Value],
    named: Option<&str>,
) -> Result<Option<&'a Value>, TemplateError> {
    let names = || -> Vec<String> { containers.iter().map(name).collect() };
    match (named, containers) {
        (None, []) => Ok(None),
        (None, [only]) => Ok(Some(only)),
        (None, _) => Err(TemplateError::SeveralContainers { names: names() }),
        (Some(named), _) => match containers.iter().find(|one| one["name"] == *named) {
            Some(app) => Ok(Some(app)),
            None => Err(TemplateError::NoContainer { name: named.to_string(), names: names() }),
        },
    }
}

/// # Errors
/// One of these containers mounts a volume that the pod does not have.
fn check_volumes<'a>(
    spec: &Value,
    containers: impl Iterator<Item = &'a Value>,
) -> Result<(), TemplateError> {
    let volumes: Vec<&Value> = elements(&spec["volumes"]).iter().map(|it| &it["name"]).collect();
    let mut mounted = containers.flat_map(|one| elements(&one["volumeMounts"]));
    match mounted.find(|mount| !volumes.contains(&&mount["name"])) {
        Some(mount) => Err(TemplateError::NoVolume { volume: name(mount) }),
        None => Ok(()),
    }
}

/// What an init container is to be like; one of the app's image is to have that which is tuned.
fn without_image_of(app: Option<&Value>, init: &Value) -> Value {
    let mut init = init.clone();
    if app.is_some_and(|app| app["image"] == init["image"]) {
        ["image", "imagePullPolicy"].iter().for_each(|key| remove(&mut init, key));
    }
    init
}

/// Those of these keys that something has.
fn fields(of: &Value, keys: &[&str]) -> Fields {
    let given = keys.iter().filter_map(|key| Some((key.to_string(), of.get(*key)?.clone())));
    given.filter(|(_, value)| !value.is_null()).collect()
}

fn remove(from: &mut Value, key: &str) {
    if let Some(object) = from.as_object_mut() {
        object.remove(key);
    }
}

#[cfg(test)]
mod tests;
