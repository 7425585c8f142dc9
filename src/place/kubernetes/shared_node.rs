//! A node that runs pods of ours and the app's: what ours compute, the app cannot.
//!
//! In: the pods that send the load and that of their collector, and the app's nodes. Out: a doubt.
//! Only computes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::text;
use crate::terms::ClusterDoubt;

/// How many generators run on each node that has a pod of ours: 0 where the collector is alone.
pub fn by_node(collector: &Value, generators: &[Value]) -> BTreeMap<String, u64> {
    let node = |pod: &Value| text(&pod["spec"]["nodeName"]).to_string();
    let mut all = BTreeMap::from([(node(collector), 0)]);
    generators.iter().for_each(|pod| *all.entry(node(pod)).or_default() += 1);
    all.remove("");
    all
}

/// Of the nodes that run pods of both, the one with most generators. `ours`: as [`by_node`] has it.
pub fn doubt(ours: &BTreeMap<String, u64>, apps: &BTreeSet<String>) -> Option<ClusterDoubt> {
    let shared = ours.iter().filter(|(node, _)| apps.contains(*node));
    let (node, generators) = shared.max_by_key(|(_, generators)| **generators)?;
    Some(ClusterDoubt::GeneratorSharesNode { node: node.clone(), generators: *generators })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn on(node: &str) -> Value {
        json!({ "spec": { "nodeName": node } })
    }

    #[test]
    fn the_shared_node_with_most_generators_is_named_and_a_collector_alone_too() {
        let ours = by_node(&on("a"), &[on("b"), on("c"), on("c"), json!({})]);
        let shared = |apps: &[&str]| {
            let doubt = doubt(&ours, &apps.iter().map(ToString::to_string).collect())?;
            match doubt {
                ClusterDoubt::GeneratorSharesNode { node, generators } => Some((node, generators)),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(shared(&["a", "b", "c"]), Some(("c".into(), 2)));
        assert_eq!(shared(&["a"]), Some(("a".into(), 0)));
        assert_eq!(shared(&["d", ""]), None, "a node that is not known is nobody's");
    }
}
