//! Which service of ECS is meant.
//!
//! In: what was typed. Out: a name that can stand in a command.

use std::fmt;
use std::str::FromStr;

/// `CLUSTER/SERVICE`, or `CLUSTER/SERVICE/CONTAINER` where its task has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceName {
    pub cluster: String,
    pub service: String,
    /// The one that runs the app; `None`: it is found.
    pub container: Option<String>,
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
}
