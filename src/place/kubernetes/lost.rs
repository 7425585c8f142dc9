//! A generator that was lost in the middle of a load: which pod it ran in, on which node, and how
//! that pod has ended.
//!
//! In: the generators' pods as JSON, and the address that the generator had. Out: words. Only
//! computes.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

use super::fields::{name, text};
use super::pods::{self, State};

/// Nothing more is to be learned of it: its pod has ended, or is gone.
pub fn is_settled(generators: &[Value], address: &str) -> bool {
    pod_at(generators, address).is_none_or(|pod| pods::state(pod).is_over())
}

/// What people are told of it. `generators`: `None` where they may not be listed.
pub fn words(generators: Option<&[Value]>, address: &str) -> String {
    let all = generators.unwrap_or_default();
    if let Some(pod) = pod_at(all, address) {
        let how = match pods::state(pod) {
            State::Failed(why) | State::Waiting(why) => why,
            State::Succeeded => "it was ended".into(),
            State::Running => "its pod runs, and its connection to the collector has ended".into(),
        };
        return format!("the generator in {} was lost in the middle of a load: {how}", place(pod));
    }
    // A network may give it another address on its way to the collector.
    let failed = all.iter().find_map(|pod| match pods::state(pod) {
        State::Failed(why) => Some(format!("; {} has ended: {why}", place(pod))),
        _ => None,
    });
    let none = || generators.map_or("", |_| "; no pod has this address any more").to_string();
    let rest = failed.unwrap_or_else(none);
    format!("the generator at {address} was lost in the middle of a load{rest}")
}

fn place(pod: &Value) -> String {
    format!("pod {} on node {}", name(pod), text(&pod["spec"]["nodeName"]))
}

fn pod_at<'a>(generators: &'a [Value], address: &str) -> Option<&'a Value> {
    let ip = address.parse::<SocketAddr>().ok()?.ip();
    let of = |pod: &Value| text(&pod["status"]["podIP"]).parse::<IpAddr>().ok();
    generators.iter().find(|pod| of(pod) == Some(ip))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(address: &str, status: Value) -> Value {
        let mut pod = json!({ "metadata": { "name": "generator-0" },
            "spec": { "nodeName": "node1" }, "status": status });
        pod["status"]["podIP"] = address.into();
        pod
    }

    #[test]
    fn pod_and_node_of_a_lost_generator_are_named_and_how_it_ended() {
        let running = pod("10.1.2.4", json!({ "phase": "Running" }));
        let killed = json!({ "phase": "Failed", "containerStatuses": [
            { "state": { "terminated": { "reason": "OOMKilled", "exitCode": 137 } } }] });
        let all = [running, pod("10.1.2.3", killed)];
        assert!(is_settled(&all, "10.1.2.3:40312") && !is_settled(&all, "10.1.2.4:40312"));
        assert_eq!(
            words(Some(&all), "10.1.2.3:40312"),
            "the generator in pod generator-0 on node node1 was lost in the middle of a load: \
             OOMKilled, exit code 137"
        );
        let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" });
        let said = words(Some(&[pod("fd00::3", evicted)]), "[fd00::3]:40312");
        assert!(said.ends_with("a load: Evicted: low on memory"), "{said}");
        assert!(words(Some(&all), "10.1.2.4:1").contains("its pod runs"));
        let said = words(Some(&all), "10.9.9.9:1");
        assert!(said.contains("at 10.9.9.9:1") && said.contains("OOMKilled"), "{said}");
    }

    #[test]
    fn one_whose_pod_is_gone_or_may_not_be_seen_is_told_by_its_address() {
        assert!(is_settled(&[], "10.1.2.3:40312"));
        let said = words(Some(&[]), "10.1.2.3:40312");
        assert!(said.ends_with("no pod has this address any more"), "{said}");
        let said = words(None, "10.1.2.3:40312");
        assert_eq!(said, "the generator at 10.1.2.3:40312 was lost in the middle of a load");
    }
}
