//! A Deployment of our own and its Service, for an image that is tuned.
//!
//! In: the image and its limits. Out: objects in the cluster, until they are dropped.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::made::Made;
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
        let mut pods = labels(name);
        let mut affinity = json!({});
        if let Some(session) = &self.session {
            pods[SESSION] = session.clone().into();
            affinity = json!({ "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {
                        "matchLabels": { SESSION: session },
                        "matchExpressions":
                            [{ "key": APP, "operator": "NotIn", "values": [name] }],
                    },
                }],
            } });
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": name, "labels": labels(name), "annotations": {} },
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": labels(name) },
                "template": {
                    "metadata": { "labels": pods },
                    "spec": {
                        "affinity": affinity,
                        "automountServiceAccountToken": false,
                        "enableServiceLinks": false,
                        "securityContext": {
                            "runAsNonRoot": true,
                            "seccompProfile": { "type": "RuntimeDefault" },
                        },
                        "containers": [container],
                    },
                },
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

    #[test]
    fn its_pods_get_what_they_request_and_the_service_leads_to_them() {
        let own = OwnApp {
            image: "shop:1".into(),
            pull_policy: Some("Never".into()),
            port: 3000,
            cores: Cores::new(1.5).unwrap(),
            memory: Bytes(512 << 20),
            session: None,
        };
        let made = own.deployment("x");
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
}
