//! Whether we may do in a namespace what a role of `deploy/` allows.
//!
//! In: a role as it stands there, and a cluster to ask. Out: what is missing. Only looks.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::patience::patiently;

/// Where one asks what oneself may do.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// One thing to do with one kind of object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    resource: String,
    /// Empty: the core's.
    group: String,
    verb: String,
}

/// As `kubectl auth can-i` takes it, such as `get pods --subresource=log`.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, group, verb } = self;
        let (kind, part) = match resource.split_once('/') {
            Some((kind, part)) => (kind, format!(" --subresource={part}")),
            None => (resource.as_str(), String::new()),
        };
        match group.is_empty() {
            true => write!(f, "{verb} {kind}{part}"),
            false => write!(f, "{verb} {kind}.{group}{part}"),
        }
    }
}

/// What of a role's rights we lack in a namespace, each as `kubectl auth can-i` takes it.
///
/// # Errors
/// The API server does not answer, or doesn't tell.
pub fn missing(api: &dyn Api, namespace: &str, role: &str) -> Result<Vec<String>, ApiError> {
    let mut missing = Vec::new();
    for right in needed(role) {
        let answer = patiently(|| api.create(REVIEWS, &review(&right, namespace)))?;
        if answer["status"]["allowed"] != true {
            missing.push(right.to_string());
        }
    }
    Ok(missing)
}

fn review(right: &Right, namespace: &str) -> Value {
    let (resource, part) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "namespace": namespace, "verb": right.verb, "group": right.group,
            "resource": resource, "subresource": part,
        } },
    })
}

/// Groups that a cluster need not have, and a role need not name: a ScaledObject that may not be
/// seen is named in a warning, as the owner of the autoscaler that it makes, and a vertical
/// autoscaler is not looked for.
const OPTIONAL: [&str; 2] = ["autoscaling.k8s.io", "keda.sh"];

/// The rights in the rules of a role, whose lists stand in brackets on one line, without those that
/// a tune does without.
fn needed(role: &str) -> BTreeSet<Right> {
    let (mut groups, mut resources) = (Vec::new(), Vec::new());
    let mut rights = BTreeSet::new();
    for line in role.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        match key.trim_start_matches(['-', ' ']) {
            "apiGroups" => groups = list(value),
            "resources" => resources = list(value),
            "verbs" => {
                for (group, resource, verb) in product(&groups, &resources, &list(value)) {
                    rights.insert(Right { resource, group, verb });
                }
            }
            _ => {}
        }
    }
    rights.retain(|right| !OPTIONAL.contains(&right.group.as_str()));
    rights
}

fn product(a: &[String], b: &[String], c: &[String]) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for a in a {
        for b in b {
            all.extend(c.iter().map(|c| (a.clone(), b.clone(), c.clone())));
        }
    }
    all
}

/// `[get, list]`.
fn list(value: &str) -> Vec<String> {
    let inner = value.trim().trim_matches(['[', ']']);
    inner.split(',').map(|word| word.trim().trim_matches('"').to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [&str; 3] = [
        include_str!("../../../deploy/load-role.yaml"),
        include_str!("../../../deploy/tune-role.yaml"),
        include_str!("../../../deploy/tune-image-role.yaml"),
    ];

    fn names(role: &str) -> Vec<String> {
        needed(role).iter().map(Right::to_string).collect()
    }

    #[test]
    fn the_rights_of_a_role_are_read_from_its_file() {
        let expected = [
            "list events",
            "create jobs.batch",
            "delete jobs.batch",
            "delete pods",
            "get pods",
            "list pods",
            "get pods --subresource=log",
            "create secrets",
        ];
        assert_eq!(names(ROLES[0]), expected);
        let tune = names(ROLES[1]);
        let has = |right: &str| tune.iter().any(|it| it == right);
        assert!(!has("create deployments.apps") && has("patch deployments.apps"), "{tune:?}");
        for group in OPTIONAL {
            assert!(ROLES[1].contains(&format!("apiGroups: [{group}]")), "{group}");
            assert!(!tune.iter().any(|right| right.contains(group)), "{tune:?}");
        }
        let image = names(ROLES[2]);
        let may_hold = "patch horizontalpodautoscalers.autoscaling".to_string();
        assert!(image.contains(&"create deployments.apps".to_string()), "{image:?}");
        assert!(has(&may_hold) && !image.contains(&may_hold), "{image:?}");
        assert!(
            has("create pods --subresource=exec") && has("list endpointslices.discovery.k8s.io"),
            "{tune:?}"
        );
        let mut all = ROLES.iter().flat_map(|role| names(role));
        assert!(!all.any(|it| it == "get secrets" || it == "list secrets"), "no secret is read");
    }

    #[test]
    fn a_part_of_a_kind_is_asked_for_as_such() {
        let (resource, verb) = ("pods/exec".to_string(), "get".to_string());
        let right = Right { resource, group: String::new(), verb };
        let asked = &review(&right, "web")["spec"]["resourceAttributes"];
        assert_eq!((&asked["resource"], &asked["subresource"]), (&"pods".into(), &"exec".into()));
        assert_eq!((&asked["namespace"], &asked["group"]), (&"web".into(), &"".into()));
    }
}
