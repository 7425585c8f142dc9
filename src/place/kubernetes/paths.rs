//! Where objects are, as the API server has them.
//!
//! In: names. Out: paths. Only computes.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Pods, services, secrets and events of a namespace.
pub fn core(namespace: &str, kind: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{kind}")
}

/// Objects of a group that has a version, such as `apps/v1`.
pub fn of_group(group: &str, namespace: &str, kind: &str) -> String {
    format!("/apis/{group}/namespaces/{namespace}/{kind}")
}

/// A namespace's Deployments.
pub fn deployments(namespace: &str) -> String {
    of_group("apps/v1", namespace, "deployments")
}

/// A Deployment of this name.
pub fn deployment(namespace: &str, name: &str) -> String {
    format!("{}/{name}", deployments(namespace))
}

/// A namespace's Jobs.
pub fn jobs(namespace: &str) -> String {
    of_group("batch/v1", namespace, "jobs")
}

/// Those of a collection that have these labels, written `key=value,key=value`.
pub fn selected(collection: &str, labels: &str) -> String {
    format!("{collection}?labelSelector={}", escaped(labels))
}

/// Where a command is run in a pod's container.
pub fn command(pod: &str, container: &str, words: &[&str]) -> String {
    let words: String = words.iter().map(|word| format!("&command={}", escaped(word))).collect();
    format!("{pod}/exec?stdout=true&stderr=true&container={}{words}", escaped(container))
}

/// What a URL's query does not hold as it is (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// For a URL's query.
pub fn escaped(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, RESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_query_cannot_hold_is_escaped() {
        let pods = core("web", "pods");
        let path = selected(&pods, "app=shop,tier=a b");
        assert_eq!(path, "/api/v1/namespaces/web/pods?labelSelector=app%3Dshop%2Ctier%3Da%20b");
        let path = command(&format!("{pods}/p"), "c", &["sh", "-c", "echo é&\n"]);
        let words = "&container=c&command=sh&command=-c&command=echo%20%C3%A9%26%0A";
        assert_eq!(path, format!("{pods}/p/exec?stdout=true&stderr=true{words}"));
    }
}
