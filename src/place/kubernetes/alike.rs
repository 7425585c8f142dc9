//! Whether pods that are measured one after another can be set beside each other: one image, on
//! nodes of one kind.
//!
//! In: pods, and what their nodes are. Out: nothing, or in which they differ. Only compares.

use std::collections::BTreeMap;

use serde_json::Value;

use super::node::Facts;
use super::pods;

/// What the pods so far had in common.
#[derive(Debug, Default)]
pub struct Alike {
    /// What is known of each node, by its name.
    nodes: BTreeMap<String, Facts>,
    /// Of the first pod: its node, and its image as the node calls it, by content.
    first: Option<(String, String)>,
}

impl Alike {
    /// Adds a pod. `facts`: of its node, asked for once a node.
    ///
    /// # Errors
    /// It has another image than the first, or its node another processor or kernel; in words.
    pub fn check(
        &mut self,
        pod: &Value,
        container: &str,
        facts: &mut dyn FnMut() -> Facts,
    ) -> Result<(), String> {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default().to_string();
        let image = pods::image_id(pod, container);
        self.nodes.entry(node.clone()).or_insert_with(facts);
        let (first, its_image) = self.first.get_or_insert((node.clone(), image.clone()));
        if !image.is_empty() && !its_image.is_empty() && image != *its_image {
            return Err(format!(
                "the image is another one than at the first start ({image}, then {its_image}): \
                 settings of two builds are not compared; name it by its digest"
            ));
        }
        let (now, then) = (&self.nodes[&node], &self.nodes[first.as_str()]);
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
        Ok(())
    }
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
}
