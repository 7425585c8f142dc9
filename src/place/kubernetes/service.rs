//! The Service that leads to a Deployment's pods: where the load is sent.
//!
//! In: objects as JSON. Out: an address in the cluster, and what it leads to. Only computes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::Value;

use super::fields::{elements, name, text};

/// Where requests go.
#[derive(Debug, Clone, PartialEq)]
pub struct Door {
    pub service: String,
    pub address: IpAddr,
    pub port: u16,
    /// Of the pods behind it: a number, or the name that a container gives one.
    pub target_port: Value,
}

impl Door {
    /// For people and for the generators.
    pub fn url(&self) -> String {
        match self.address {
            IpAddr::V4(address) => format!("http://{address}:{}", self.port),
            IpAddr::V6(address) => format!("http://[{address}]:{}", self.port),
        }
    }
}

/// The Service with this name, or the one that selects pods with these labels.
///
/// # Errors
/// There is none, several would do, or the one has no address in the cluster; in words.
pub fn door(
    services: &[Value],
    named: Option<&str>,
    pods: &BTreeMap<String, String>,
) -> Result<Door, String> {
    let fits = |one: &&Value| match named {
        Some(named) => one["metadata"]["name"] == *named,
        None => selects(one, pods) && address(one).is_some(),
    };
    let found: Vec<&Value> = services.iter().filter(fits).collect();
    let service = match (found.as_slice(), named) {
        ([one], _) => *one,
        ([], Some(named)) => return Err(format!("there is no Service {named}")),
        ([], None) => {
            return Err("no Service with an address of its own leads to its pods; make one \
                        ('kubectl expose'), or name it with --service"
                .into());
        }
        (several, _) => {
            let names: Vec<String> = several.iter().map(|one| name(one)).collect();
            return Err(format!(
                "several Services lead to its pods ({}); name one with --service",
                names.join(", ")
            ));
        }
    };
    if service["spec"]["selector"].is_object() && !selects(service, pods) {
        return Err(format!("the Service {} does not lead to its pods", name(service)));
    }
    let no_address = || format!("the Service {} has no address of its own", name(service));
    let ports = elements(&service["spec"]["ports"]);
    let http = |one: &&Value| {
        let name = text(&one["name"]);
        name.contains("http") && !name.contains("https")
    };
    let port = match ports {
        [only] => only,
        _ => ports.iter().find(http).ok_or_else(|| {
            format!("the Service {} has several ports, and none is called http", name(service))
        })?,
    };
    let number = port["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    Ok(Door {
        service: name(service),
        address: address(service).ok_or_else(no_address)?,
        port: number.ok_or_else(no_address)?,
        target_port: match &port["targetPort"] {
            Value::Null => port["port"].clone(),
            given => given.clone(),
        },
    })
}

fn selects(service: &Value, pods: &BTreeMap<String, String>) -> bool {
    let Some(selector) = service["spec"]["selector"].as_object() else { return false };
    let has = |(key, value): (&String, &Value)| pods.get(key).is_some_and(|it| value == it);
    !selector.is_empty() && selector.iter().all(has)
}

/// `None`: it is headless, or leads out of the cluster.
fn address(service: &Value) -> Option<IpAddr> {
    service["spec"]["clusterIP"].as_str()?.parse().ok()
}

/// The pods that it leads to now, by its EndpointSlices: one may have several addresses.
pub fn leads_to(slices: &[Value]) -> BTreeSet<String> {
    let endpoints = slices.iter().flat_map(|slice| elements(&slice["endpoints"]));
    let ready = endpoints.filter(|one| one["conditions"]["ready"] != false);
    ready.filter_map(|one| one["targetRef"]["name"].as_str().map(str::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(name: &str, app: &str, address: &str) -> Value {
        json!({ "metadata": { "name": name }, "spec": { "clusterIP": address,
            "selector": { "app": app }, "ports": [{ "port": 80, "targetPort": "web" }] } })
    }

    fn labels() -> BTreeMap<String, String> {
        BTreeMap::from([("app".into(), "shop".into()), ("tier".into(), "web".into())])
    }

    #[test]
    fn the_one_that_leads_to_the_pods_is_found() {
        let mut all = vec![
            service("other", "other", "10.96.0.8"),
            service("shop", "shop", "10.96.0.7"),
            service("headless", "shop", "None"),
        ];
        let found = door(&all, None, &labels()).unwrap();
        assert_eq!(
            (found.url().as_str(), &found.target_port),
            ("http://10.96.0.7:80", &"web".into())
        );
        all.push(service("twin", "shop", "fd00::7"));
        let error = door(&all, None, &labels()).unwrap_err();
        assert!(error.contains("(shop, twin)"), "{error}");
        assert_eq!(door(&all, Some("twin"), &labels()).unwrap().url(), "http://[fd00::7]:80");
        let none = |named: Option<&str>| door(&all[..1], named, &labels()).unwrap_err();
        assert!(none(None).contains("--service") && none(Some("x")).contains("no Service x"));
        let error = door(&all, Some("other"), &labels()).unwrap_err();
        assert_eq!(error, "the Service other does not lead to its pods");
        let error = door(&all, Some("headless"), &labels()).unwrap_err();
        assert!(error.contains("has no address"), "{error}");
    }

    #[test]
    fn of_several_ports_the_one_for_http_is_taken() {
        let mut one = service("shop", "shop", "10.96.0.7");
        one["spec"]["ports"] =
            json!([{ "name": "metrics", "port": 9394 }, { "name": "http", "port": 8080 }]);
        let found = door(&[one.clone()], None, &labels()).unwrap();
        assert_eq!((found.port, found.target_port), (8080, 8080.into()));
        one["spec"]["ports"] = json!([{ "name": "a", "port": 1 }, { "name": "b", "port": 2 }]);
        assert!(door(&[one], None, &labels()).unwrap_err().contains("none is called http"));
    }

    #[test]
    fn only_pods_that_are_ready_are_led_to() {
        let of = |name: &str| json!({ "kind": "Pod", "name": name });
        let slices = [
            json!({ "endpoints": [
                { "targetRef": of("a"), "conditions": { "ready": true } },
                { "targetRef": of("b"), "conditions": { "ready": false } },
                { "targetRef": of("c") },
            ]}),
            json!({ "endpoints": null }),
            json!({ "endpoints": [{ "targetRef": of("a"), "addresses": ["fd00::1"] }] }),
        ];
        let names = ["a", "c"].map(str::to_string);
        assert_eq!(leads_to(&slices), BTreeSet::from(names));
        assert!(leads_to(&[]).is_empty());
    }
}
