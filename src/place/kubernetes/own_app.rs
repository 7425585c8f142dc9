//! A Deployment of our own and its Service, for an image that is tuned.
//!
//! In: the image and its limits. Out: objects in the cluster, until they are dropped.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::made::Made;
use super::template::Template;
use super::{deployment, paths};
use crate::terms::{Bytes, Cores};

/// What its pods are to be like: what they request is what they get, in equal parts.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnApp {
    pub image: String,
    /// `None`: as the cluster has it for this image.
    pub pull_policy: Option<String>,
    /// Where the app answers, which it is also told as `PORT`.
    pub port: u16,
    /// Of all pods together.
    pub cores: Cores,
    pub memory: Bytes,
    /// What else they are to be like.
    pub template: Option<Template>,
    /// The session, where several of its apps run at the same time: each on nodes that it doesn't
    /// share with the others.
    pub session: Option<String>,
}

impl OwnApp {
    /// Makes both. There are no pods before the first start.
    ///
    /// # Errors
    /// They may not be made, or the API server does not answer. What was made is removed.
    pub fn make<'a>(
        &self,
        api: &'a dyn Api,
        namespace: &str,
        name: &str,
    ) -> Result<Made<'a>, ApiError> {
        let mut made = Made { api, paths: Vec::new() };
        for (collection, object) in [
            (paths::deployments(namespace), self.deployment(name)),
            (paths::core(namespace, "services"), self.service(name)),
        ] {
            // Before it is there: an answer may be lost.
            made.paths.push(format!("{collection}/{name}"));
            api.create(&collection, &object)?;
        }
        Ok(made)
    }

    /// What the pods of all apps of its session have, where there are several.
    pub fn of_session(&self) -> Option<BTreeMap<String, String>> {
        let session = self.session.as_ref()?;
        Some([(SESSION.to_string(), session.clone())].into())
    }

    /// What each of so many pods may use: cores and bytes of memory. `cpus`: cores of all together
    /// that are tried in place of its own.
    pub fn share(&self, pods: u16, cpus: Option<Cores>) -> (f64, u64) {
        let cores = cpus.unwrap_or(self.cores).get();
        (cores / f64::from(pods), self.memory.0 / u64::from(pods))
    }

    fn deployment(&self, name: &str) -> Value {
        let mut pods = self.pods(name);
        if let Some(template) = &self.template {
            template.apply_to(&mut pods);
        }
        if let Some(session) = &self.session {
            set_apart(&mut pods, name, session);
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": name, "labels": labels(name), "annotations": {} },
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": labels(name) },
                "template": pods,
            },
        })
    }

    /// What its pods are made by where nothing else is said of them.
    fn pods(&self, name: &str) -> Value {
        let mut container = json!({
            "name": "app",
            "image": self.image,
            "env": [{ "name": "PORT", "value": self.port.to_string() }],
            "ports": [{ "containerPort": self.port }],
            "resources": deployment::resources(self.cores.get(), self.memory.0),
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
            },
        });
        if let Some(policy) = &self.pull_policy {
            container["imagePullPolicy"] = policy.clone().into();
        }
        json!({
            "metadata": { "labels": labels(name) },
            "spec": {
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "securityContext": {
                    "runAsNonRoot": true,
                    "seccompProfile": { "type": "RuntimeDefault" },
                },
                "containers": [container],
            },
        })
    }

    fn service(&self, name: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": { "name": name, "labels": labels(name) },
            "spec": {
                "selector": labels(name),
                "ports": [{ "port": 80, "targetPort": self.port }],
            },
        })
    }
}

/// Pods on nodes that no other app of their session has, besides where else they may not be.
fn set_apart(pods: &mut Value, name: &str, session: &str) {
    pods["metadata"]["labels"][SESSION] = session.into();
    let apart = json!({
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {
            "matchLabels": { SESSION: session },
            "matchExpressions": [{ "key": APP, "operator": "NotIn", "values": [name] }],
        },
    });
    let rules = object(object(&mut pods["spec"], "affinity"), "podAntiAffinity");
    let required = &mut rules["requiredDuringSchedulingIgnoredDuringExecution"];
    match required.as_array_mut() {
        Some(all) => all.push(apart),
        None => *required = json!([apart]),
    }
}

/// What stands there under this key, which is an object from now on.
fn object<'a>(of: &'a mut Value, key: &str) -> &'a mut Value {
    let value = &mut of[key];
    if !value.is_object() {
        *value = json!({});
    }
    value
}

/// Whether a Deployment was made here, for a time.
pub fn is_own(deployment: &Value) -> bool {
    deployment["metadata"]["labels"][APP].is_string()
}

/// By which its pods are found.
fn labels(name: &str) -> Value {
    json!({ "app.kubernetes.io/managed-by": "sweetspot", APP: name })
}

/// On pods: which app of ours they run, and of which session several of these are.
const APP: &str = "sweetspot/app";
const SESSION: &str = "sweetspot/session";

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> OwnApp {
        OwnApp {
            image: "shop:1".into(),
            pull_policy: Some("Never".into()),
            port: 3000,
            cores: Cores::new(1.5).unwrap(),
            memory: Bytes(512 << 20),
            template: None,
            session: None,
        }
    }

    #[test]
    fn its_pods_get_what_they_request_and_the_service_leads_to_them() {
        let own = own();
        let made = own.deployment("x");
        assert!(is_own(&made) && !is_own(&json!({ "metadata": { "name": "x" } })));
        let found = deployment::container(&made, None).unwrap();
        assert_eq!((found.cores, found.memory_bytes), (Some(1.5), Some(512 << 20)));
        assert_eq!(found.variables["PORT"], "3000");
        let container = &made["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["limits"], container["resources"]["requests"]);
        assert_eq!(container["imagePullPolicy"], "Never");
        assert_eq!(own.share(2, None), (0.75, 256 << 20));
        assert_eq!(own.share(2, Cores::new(1.0).ok()), (0.5, 256 << 20));
        let selector = &own.service("x")["spec"]["selector"];
        assert_eq!(selector, &made["spec"]["template"]["metadata"]["labels"]);
    }

    #[test]
    fn what_a_template_says_of_nodes_and_policies_goes_with_what_is_ours() {
        let rule = json!({ "topologyKey": "zone", "labelSelector": {} });
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let file = json!({
            "affinity": { "podAntiAffinity": { required: [rule] } },
            "containers": [{ "name": "rails", "imagePullPolicy": "Always", "tty": true }],
        });
        let template = Template::read(&file.to_string(), None).ok();
        let made = OwnApp { template, session: Some("s".into()), ..own() }.deployment("x");
        let pod = &made["spec"]["template"]["spec"];
        let rules = pod["affinity"]["podAntiAffinity"][required].as_array().unwrap();
        assert_eq!((rules.len(), &rules[0]), (2, &rule));
        assert_eq!(rules[1]["labelSelector"]["matchLabels"], json!({ SESSION: "s" }));
        let container = deployment::container(&made, Some("rails")).unwrap();
        assert_eq!((container.cores, container.image.as_str()), (Some(1.5), "shop:1"));
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "Never", "as it was typed");
        assert_eq!(pod["containers"][0].get("tty"), None);
    }
}
