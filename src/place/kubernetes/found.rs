//! What is found of a Deployment before anything is changed: its container, what that may use, and
//! what is doubtful.
//!
//! In: the Deployment, and a cluster to ask. Out: facts. Only looks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::api::{Api, items};
use super::changing::Changing;
use super::deployment::{self, Container};
use super::error::cluster;
use super::fields::{name, text};
use super::node::{self, Facts};
use super::patience::patiently;
use super::{autoscaler, paths, pods, quantity};
use crate::place::PlaceError;
use crate::server::App;
use crate::terms::{Bytes, ClusterDoubt, Cores, LimitedResource, Machine, Warning};

/// The container of this Deployment's pods that runs the app, by its name, and what it may use;
/// nothing is changed.
///
/// # Errors
/// It is not there, has several containers, or it is not known what it may use.
pub fn machine_of(
    api: &dyn Api,
    namespace: &str,
    name: &str,
    container: Option<&str>,
) -> Result<(String, Machine), PlaceError> {
    let found = patiently(|| api.get(&paths::deployment(namespace, name))).map_err(cluster)?;
    let missing = || PlaceError::Elsewhere(format!("there is no Deployment {name} in {namespace}"));
    let (container, machine) = look(api, namespace, &found.ok_or_else(missing)?, container)?;
    Ok((container.name, machine))
}

/// The container that runs the app, and what it may use.
///
/// # Errors
/// There are several, or it is not known what it may use.
pub fn look(
    api: &dyn Api,
    namespace: &str,
    object: &Value,
    container: Option<&str>,
) -> Result<(Container, Machine), PlaceError> {
    let of_it = |why: String| PlaceError::Elsewhere(format!("Deployment {}: {why}", name(object)));
    let mut container = deployment::container(object, container).map_err(of_it)?;
    let pod = running_pod(api, namespace, &deployment::labels(object));
    let facts = pod.as_ref().map_or_else(Facts::default, |pod| {
        let path = format!("{}/{}", paths::core(namespace, "pods"), name(pod));
        facts_of(api, &path, &container.name)
    });
    pod.iter().for_each(|pod| add_limits(&mut container, pod));
    let machine = machine(&container, &facts).ok_or_else(|| {
        let why = "its container has no limits, and its node cannot be looked at; give it limits \
                   for cpu and memory";
        of_it(why.into())
    })?;
    Ok((container, machine))
}

/// A pod that runs already, as far as it may be seen.
fn running_pod(api: &dyn Api, namespace: &str, labels: &BTreeMap<String, String>) -> Option<Value> {
    let pods = paths::core(namespace, "pods");
    let path = paths::selected(&pods, &deployment::selector(labels));
    let all = items(api.get(&path).ok().flatten());
    all.into_iter().find(|pod| pods::address(pod).is_some())
}

/// Limits that the Deployment does not give and its pods have all the same, of a LimitRange.
fn add_limits(container: &mut Container, pod: &Value) {
    let Some(one) = pods::container(pod, &container.name) else { return };
    container.cores = container.cores.or_else(|| quantity::limit(one, "cpu"));
    let memory_bytes = || quantity::limit(one, "memory").map(|bytes| bytes as u64);
    container.memory_bytes = container.memory_bytes.or_else(memory_bytes);
}

/// What this pod's container sees of its node; nothing where it may not be asked.
pub fn facts_of(api: &dyn Api, pod: &str, container: &str) -> Facts {
    let lines = api.run(&paths::command(pod, container, &node::COMMAND));
    let lines: Vec<String> = lines.into_iter().flatten().map_while(Result::ok).collect();
    node::facts(&lines)
}

/// What the container may use, by its limits or else by its node.
fn machine(container: &Container, facts: &Facts) -> Option<Machine> {
    let of_node = Some(f64::from(facts.cores)).filter(|cores| *cores > 0.0);
    let memory = container.memory_bytes.or(Some(facts.memory_bytes).filter(|bytes| *bytes > 0));
    let known = |text: &String| match text.is_empty() {
        true => Machine::UNKNOWN.to_string(),
        false => text.clone(),
    };
    Some(Machine {
        cpu_model: known(&facts.cpu_model),
        cores: Cores::new(container.cores.or(of_node)?).ok()?,
        memory_bytes: Bytes(memory?),
        kernel: known(&facts.kernel),
    })
}

/// What is doubtful of this Deployment before anything is measured. `verticals`: the autoscalers
/// that change what its pods request.
pub fn warnings(
    changing: &Changing<'_>,
    container: &Container,
    app: &App,
    verticals: Vec<String>,
) -> Vec<Warning> {
    let mut doubts = Vec::new();
    let pods = changing.object["spec"]["replicas"].as_u64().unwrap_or(1);
    doubts.extend((pods > 1).then_some(ClusterDoubt::OnePodOfSeveral { pods }));
    let limits = [
        (container.cores.is_none(), LimitedResource::Cpu),
        (container.memory_bytes.is_none(), LimitedResource::Memory),
    ];
    let missing = limits.into_iter().filter(|(is_missing, _)| *is_missing);
    doubts.extend(missing.map(|(_, of)| ClusterDoubt::NoLimit { of }));
    let kept_by = deployment::kept_by(&changing.object).map(str::to_string);
    doubts.extend(kept_by.map(|program| ClusterDoubt::KeptByRepository { program }));
    let owners = changing.autoscalers.iter().filter_map(autoscaler::owner);
    doubts.extend(owners.map(|owner| ClusterDoubt::AutoscalerOwned { owner }));
    let namespace = text(&changing.object["metadata"]["namespace"]);
    let vertical = |name| ClusterDoubt::VerticalAutoscaler { name, namespace: namespace.into() };
    doubts.extend(verticals.into_iter().map(vertical));
    let ours = app.env.keys().filter(|name| container.elsewhere.contains(name));
    let variables: Vec<String> = ours.cloned().collect();
    let elsewhere = ClusterDoubt::VariablesElsewhere { variables: variables.clone() };
    doubts.extend((!variables.is_empty()).then_some(elsewhere));
    doubts.into_iter().map(Warning::from).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_container_may_use_is_its_limits_or_else_its_nodes() {
        let facts = Facts { cores: 4, memory_bytes: 8 << 30, ..Facts::default() };
        let mut container = Container {
            index: 0,
            name: "app".into(),
            image: "shop:1".into(),
            cores: Some(1.5),
            memory_bytes: None,
            variables: BTreeMap::new(),
            elsewhere: Vec::new(),
        };
        let of = |container: &Container, facts: &Facts| {
            let machine = machine(container, facts)?;
            Some((machine.cores.get(), machine.memory_bytes.0))
        };
        assert_eq!(of(&container, &facts), Some((1.5, 8 << 30)));
        assert_eq!(of(&container, &Facts::default()), None);
        container.cores = None;
        assert_eq!(of(&container, &facts), Some((4.0, 8 << 30)));
        let limits = json!({ "cpu": "500m", "memory": "512Mi" });
        let one = json!({ "name": "app", "resources": { "limits": limits } });
        let pod = json!({ "spec": { "containers": [{ "name": "proxy" }, one] } });
        add_limits(&mut container, &pod);
        assert_eq!(of(&container, &facts), Some((0.5, 512 << 20)));
        container.cores = Some(1.5);
        add_limits(&mut container, &pod);
        assert_eq!(of(&container, &facts), Some((1.5, 512 << 20)));
    }
}
