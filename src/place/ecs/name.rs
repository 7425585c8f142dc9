//! Which service of ECS is meant.
//!
//! In: what was typed. Out: a name that can stand in a command, and where what the service was is
//! written down.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// `CLUSTER/SERVICE`, or `CLUSTER/SERVICE/CONTAINER` where its task has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceName {
    pub cluster: String,
    pub service: String,
    /// The one that runs the app; `None`: it is found.
    pub container: Option<String>,
}

impl ServiceName {
    /// The file in which it is written down what the service was. `beside`: the store's folder. No
    /// name has a dot: each service has a file of its own.
    pub fn record(&self, beside: &Path) -> PathBuf {
        beside.join("ecs").join(format!("{}.{}.json", self.cluster, self.service))
    }

    /// Is it the same service, whichever container is meant?
    pub fn is_same_service(&self, other: &Self) -> bool {
        (&self.cluster, &self.service) == (&other.cluster, &other.service)
    }
}

/// No name of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoServiceName;

impl FromStr for ServiceName {
    type Err = NoServiceName;

    fn from_str(text: &str) -> Result<Self, NoServiceName> {
        let parts: Vec<&str> = text.trim().split('/').collect();
        if !parts.iter().all(|part| is_name(part)) {
            return Err(NoServiceName);
        }
        let (cluster, service, container) = match parts[..] {
            [cluster, service] => (cluster, service, None),
            [cluster, service, container] => (cluster, service, Some(container)),
            _ => return Err(NoServiceName),
        };
        let (cluster, service) = (cluster.to_string(), service.to_string());
        Ok(Self { cluster, service, container: container.map(str::to_string) })
    }
}

/// As ECS has it: letters, digits, `-` and `_`.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= 255 && text.chars().all(is_part) && !text.starts_with('-')
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.service)?;
        self.container.iter().try_for_each(|container| write!(f, "/{container}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_by_its_cluster_and_its_own_name() {
        for text in ["prod/shop", "prod/shop-web_2/web"] {
            assert_eq!(text.parse::<ServiceName>().unwrap().to_string(), text);
        }
        let all = ["", "shop", "prod/", "/shop", "prod/a b", "prod/--help", "a/b/c/d", "p/$(x)"];
        for text in all {
            assert!(text.parse::<ServiceName>().is_err(), "{text}");
        }
    }

    #[test]
    fn no_two_services_have_one_record() {
        let of = |name: &str| name.parse::<ServiceName>().unwrap();
        let record = |name: &str| of(name).record(Path::new("store"));
        assert_ne!(record("a-b/c"), record("a/b-c"));
        assert_eq!(record("a/b"), record("a/b/web"), "of a service, whichever container is tuned");
        let is_same = |other: &str| of("a/b").is_same_service(&of(other));
        assert!(is_same("a/b/web") && !is_same("b/a"));
    }
}
