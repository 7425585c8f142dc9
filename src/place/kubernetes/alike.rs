//! Whether pods that are measured one after another, or at the same time, can be set beside each
//! other: one image, on nodes of one kind, with cores of their own or not.
//!
//! In: pods, and what their nodes are. Out: nothing, or in which they differ, and where that could
//! not be looked at. Only compares.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::text;
use super::node::Facts;
use super::{pods, quantity};
use crate::terms::ClusterDoubt;

/// What the pods so far had in common.
#[derive(Debug, Default)]
pub struct Alike {
    /// What is known of each node, by its name.
    nodes: BTreeMap<String, Facts>,
    first: Option<First>,
    /// The first node, and another one, of which one could not be looked at.
    unseen: Option<[String; 2]>,
}

/// The first pod.
#[derive(Debug, Clone)]
struct First {
    node: String,
    /// As the node calls it, by content.
    image: String,
    /// Cores; `None`: it has none.
    limit: Option<f64>,
    has_own_cores: bool,
}

impl Alike {
    /// Adds a pod. `facts`: of its node, asked for once a node.
    ///
    /// # Errors
    /// It has another image than the first, or its node another processor, kernel, or policy for
    /// cores; in words.
    pub fn check(
        &mut self,
        pod: &Value,
        container: &str,
        facts: &mut dyn FnMut() -> Facts,
    ) -> Result<(), String> {
        let node = text(&pod["spec"]["nodeName"]).to_string();
        let image = pods::image_id(pod, container);
        self.nodes.entry(node.clone()).or_insert_with(facts);
        let limit = pods::container(pod, container).and_then(|it| quantity::limit(it, "cpu"));
        let has_own_cores = has_own_cores(limit, &self.nodes[&node]);
        let this = First { node: node.clone(), image: image.clone(), limit, has_own_cores };
        let First { node: first, image: its_image, limit: its_limit, has_own_cores: first_has } =
            self.first.get_or_insert(this).clone();
        if !image.is_empty() && !its_image.is_empty() && image != its_image {
            return Err(format!(
                "the image is another one than at the first start ({image}, then {its_image}): \
                 settings of two builds are not compared; name it by its digest"
            ));
        }
        let (now, then) = (&self.nodes[&node], &self.nodes[&first]);
        if node != first && !(is_known(now) && is_known(then)) {
            self.unseen.get_or_insert_with(|| [first.clone(), node.clone()]);
        }
        let differ = |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
        let of = |facts: &Facts| format!("{}, kernel {}", facts.cpu_model, facts.kernel);
        if differ(&now.cpu_model, &then.cpu_model) || differ(&now.kernel, &then.kernel) {
            return Err(format!(
                "the pod came up on node {node} ({}), and what was measured before ran on {first} \
                 ({}): figures of unlike nodes are not compared; keep its pods on nodes of one \
                 kind, by a nodeSelector",
                of(now),
                of(then)
            ));
        }
        // Another limit is what is tried: of a node's whole cores a part of one is never its own.
        if first_has != has_own_cores && its_limit == limit {
            let (with, without) = if has_own_cores { (&node, &first) } else { (&first, &node) };
            return Err(format!(
                "on node {with} the pod has cores of its own, and on {without} it shares them: \
                 figures under unlike policies for cores (the kubelet's cpuManagerPolicy) are not \
                 compared; keep its pods on nodes of one kind, by a nodeSelector"
            ));
        }
        Ok(())
    }

    /// The nodes that the pods so far ran on.
    pub fn nodes(&self) -> BTreeSet<String> {
        self.nodes.keys().cloned().collect()
    }

    /// What is doubtful by now: pods ran on nodes of which it is not known whether they are alike.
    pub fn doubt(&self) -> Option<ClusterDoubt> {
        let [first, other] = self.unseen.clone()?;
        Some(ClusterDoubt::NodesNotCompared { first, other })
    }
}

/// Processor and kernel could be read.
fn is_known(node: &Facts) -> bool {
    !node.cpu_model.is_empty() && !node.kernel.is_empty()
}

/// Cores that no other pod runs on, as a node with a static policy gives them where whole ones are
/// asked for: just as many as its limit is allowed.
fn has_own_cores(limit: Option<f64>, node: &Facts) -> bool {
    node.allowed < node.cores && limit == Some(f64::from(node.allowed))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(node: &str, image: &str) -> Value {
        json!({ "spec": { "nodeName": node },
            "status": { "containerStatuses": [{ "name": "app", "imageID": image }] } })
    }

    fn facts(cpu_model: &str) -> Facts {
        Facts { cpu_model: cpu_model.into(), kernel: "6.1".into(), ..Facts::default() }
    }

    #[test]
    fn another_image_or_another_kind_of_node_is_refused_and_a_node_is_asked_once() {
        let mut asked = 0;
        let mut alike = Alike::default();
        let mut add = |node: &str, image: &str, model: &str| {
            alike.check(&pod(node, image), "app", &mut || {
                asked += 1;
                facts(model)
            })
        };
        add("a", "sha256:1", "EPYC").unwrap();
        add("a", "sha256:1", "EPYC").unwrap();
        add("b", "sha256:1", "EPYC").unwrap();
        add("c", "", "").unwrap();
        assert!(add("a", "sha256:2", "EPYC").unwrap_err().contains("another one than"));
        let said = add("d", "sha256:1", "Xeon").unwrap_err();
        assert!(said.contains("node d (Xeon, kernel 6.1)") && said.contains("ran on a"), "{said}");
        assert_eq!(asked, 4);
    }

    #[test]
    fn nodes_that_could_not_be_looked_at_are_named() {
        let mut alike = Alike::default();
        let mut add = |node: &str| {
            alike.check(&pod(node, "sha256:1"), "app", &mut Facts::default).unwrap();
            alike.doubt()
        };
        assert_eq!([add("a"), add("a")], [None, None], "one node is like itself");
        let (first, other) = ("a".to_string(), "b".to_string());
        let doubt = Some(ClusterDoubt::NodesNotCompared { first, other });
        assert_eq!([add("b"), add("c")], [doubt.clone(), doubt]);
    }

    #[test]
    fn another_limit_may_have_no_cores_of_its_own_and_the_same_one_must() {
        let mut alike = Alike::default();
        let mut add = |node: &str, cpu: &str, allowed: u32| {
            let one = json!({ "name": "app", "resources": { "limits": { "cpu": cpu } } });
            let mut pod = pod(node, "sha256:1");
            pod["spec"]["containers"] = json!([one]);
            alike.check(&pod, "app", &mut || Facts { cores: 8, allowed, ..facts("EPYC") })
        };
        add("a", "4", 4).unwrap();
        add("a", "2", 4).unwrap();
        let said = add("b", "4", 8).unwrap_err();
        assert!(said.contains("on node a the pod has cores of its own"), "{said}");
    }
}
