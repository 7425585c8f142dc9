//! Whether a namespace of a cluster is fit to measure in: what may be done there, its nodes, and
//! what its quotas leave.
//!
//! In: a cluster to ask. Out: facts. Only looks.

use serde_json::Value;

use super::api::{Api, ApiError, items};
use super::fields::{condition, elements, name, text};
use super::patience::patiently;
use super::{paths, quantity, rights};
use crate::terms::{NodesAlike, QuotaLeft};

/// The roles of `deploy/` by their files, as these are in this build.
const ROLES: [(&str, &str); 3] = [
    ("deploy/load-role.yaml", include_str!("../../../deploy/load-role.yaml")),
    ("deploy/tune-role.yaml", include_str!("../../../deploy/tune-role.yaml")),
    ("deploy/tune-image-role.yaml", include_str!("../../../deploy/tune-image-role.yaml")),
];

/// What of a quota is used up by what a session makes.
const MADE: [&str; 15] = [
    "count/deployments.apps",
    "count/jobs.batch",
    "count/leases.coordination.k8s.io",
    "count/pods",
    "count/secrets",
    "count/services",
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.memory",
    "secrets",
    "services",
];

/// A namespace, looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitness {
    /// Of the API server, such as `v1.34.2`; empty where it doesn't say.
    pub version: String,
    /// There is no such namespace.
    pub is_missing: bool,
    /// The roles of `deploy/`, each with what of it we may not do.
    pub missing: Vec<(&'static str, Vec<String>)>,
    /// `None`: nodes may not be listed.
    pub nodes: Option<Vec<NodesAlike>>,
    /// `None`: quotas may not be listed.
    pub quotas: Option<Vec<QuotaLeft>>,
    /// What pods use of CPU can be asked for; `None`: it is not said.
    pub serves_metrics: Option<bool>,
}

/// Looks at a namespace; nothing is made in it.
///
/// # Errors
/// The API server does not answer, or doesn't say what may be done.
pub fn look(api: &dyn Api, namespace: &str) -> Result<Fitness, ApiError> {
    let version = permitted(api, "/version")?.flatten().unwrap_or_default();
    let this = permitted(api, &format!("/api/v1/namespaces/{namespace}"))?;
    let missing = ROLES.map(|(file, role)| Ok((file, rights::missing(api, namespace, role)?)));
    // A role for one namespace seldom has these.
    let nodes = permitted(api, "/api/v1/nodes")?;
    let quotas = permitted(api, &paths::core(namespace, "resourcequotas"))?;
    let metrics = permitted(api, "/apis/metrics.k8s.io/v1beta1")?;
    Ok(Fitness {
        serves_metrics: metrics.map(|found| found.is_some()),
        version: text(&version["gitVersion"]).to_string(),
        is_missing: this == Some(None),
        missing: missing.into_iter().collect::<Result<_, ApiError>>()?,
        nodes: nodes.map(|list| alike(&items(list))),
        quotas: quotas.map(|list| items(list).iter().flat_map(left).collect()),
    })
}

/// `None`: we may not read it. Within: `None`, there is none.
fn permitted(api: &dyn Api, path: &str) -> Result<Option<Option<Value>>, ApiError> {
    match patiently(|| api.get(path)) {
        Ok(found) => Ok(Some(found)),
        Err(ApiError::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Nodes of one kind together, in the order of the list.
fn alike(nodes: &[Value]) -> Vec<NodesAlike> {
    let mut all: Vec<NodesAlike> = Vec::new();
    for node in nodes.iter().map(kind) {
        let is_same = |it: &&mut NodesAlike| NodesAlike { count: 1, ..(*it).clone() } == node;
        match all.iter_mut().find(is_same) {
            Some(same) => same.count += 1,
            None => all.push(node),
        }
    }
    all
}

fn kind(node: &Value) -> NodesAlike {
    let status = &node["status"];
    let spec = &node["spec"];
    let amount = |what: &str| quantity::read(status["allocatable"][what].as_str()?);
    let keeps_out = |it: &Value| it["effect"] == "NoSchedule" || it["effect"] == "NoExecute";
    let is_closed =
        spec["unschedulable"] == true || elements(&spec["taints"]).iter().any(keeps_out);
    NodesAlike {
        count: 1,
        architecture: text(&status["nodeInfo"]["architecture"]).to_string(),
        kernel: text(&status["nodeInfo"]["kernelVersion"]).to_string(),
        cores: amount("cpu").unwrap_or(0.0),
        // Nodes of one kind differ by what their firmware keeps for itself.
        memory_gib: (amount("memory").unwrap_or(0.0) / f64::from(1 << 30)).round() as u64,
        take_pods: !is_closed && condition(node, "Ready", "True").is_some(),
    }
}

/// Each resource of a quota with what of it is used.
fn left(quota: &Value) -> Vec<QuotaLeft> {
    let hard = quota["status"]["hard"].as_object().into_iter().flatten();
    let of = |(resource, hard): (&String, &Value)| {
        let used = &quota["status"]["used"][resource];
        let text = |of: &Value| of.as_str().unwrap_or("0").to_string();
        let amount = |of: &Value| quantity::read(of.as_str()?);
        QuotaLeft {
            quota: name(quota),
            resource: resource.clone(),
            used: text(used),
            hard: text(hard),
            is_spent: MADE.contains(&resource.as_str())
                && amount(used).unwrap_or(0.0) >= amount(hard).unwrap_or(0.0),
        }
    };
    hard.map(of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_of_one_kind_are_counted_together() {
        let node = |cores: &str, memory: &str, ready: &str| {
            json!({ "spec": {}, "status": {
                "nodeInfo": { "architecture": "amd64", "kernelVersion": "6.1" },
                "allocatable": { "cpu": cores, "memory": memory },
                "conditions": [{ "type": "Ready", "status": ready }],
            } })
        };
        let nodes = [
            node("2", "8148616Ki", "True"),
            node("2", "8148000Ki", "True"),
            node("4", "8148616Ki", "True"),
            node("2", "8148616Ki", "Unknown"),
        ];
        let mut tainted = nodes[0].clone();
        tainted["spec"]["taints"] = json!([{ "key": "control-plane", "effect": "NoSchedule" }]);
        assert!(!kind(&tainted).take_pods);
        let found = alike(&nodes);
        let kinds: Vec<_> = found.iter().map(|it| (it.count, it.cores, it.take_pods)).collect();
        assert_eq!(kinds, [(2, 2.0, true), (1, 4.0, true), (1, 2.0, false)]);
        assert_eq!((found[0].memory_gib, found[0].kernel.as_str()), (8, "6.1"));
    }

    #[test]
    fn a_quota_is_spent_where_as_much_is_used_as_may_be() {
        let quota = json!({ "metadata": { "name": "team" }, "status": {
            "hard": { "pods": "10", "requests.cpu": "1", "count/jobs.batch": "0",
                "services.nodeports": "0" },
            "used": { "pods": "3", "requests.cpu": "1000m" },
        } });
        let found = left(&quota);
        let of = |resource: &str| found.iter().find(|it| it.resource == resource).unwrap();
        assert!(!of("pods").is_spent);
        assert!(of("requests.cpu").is_spent && of("count/jobs.batch").is_spent);
        assert!(!of("services.nodeports").is_spent, "nothing of ours needs one");
        assert_eq!((of("pods").used.as_str(), of("pods").hard.as_str()), ("3", "10"));
    }
}
