//! Which versions of Kubernetes have all that is asked for.
//!
//! In: what an API server says of itself. Out: its version, where that is too old. Only compares.

use serde_json::Value;

/// The first minor version of Kubernetes 1 that has Jobs with an index for each pod as a promise
/// (autoscaling/v2 is there since 23, EndpointSlices since 21).
pub const OLDEST: u32 = 24;

/// The version of an API server that lacks something; `None`: it has all, or says no version.
pub fn too_old(version: &Value) -> Option<String> {
    let number = |name: &str| -> Option<u32> {
        // Some providers write a plus behind it.
        version[name].as_str()?.trim_end_matches('+').parse().ok()
    };
    let (major, minor) = (number("major")?, number("minor")?);
    let is_old = major < 1 || (major == 1 && minor < OLDEST);
    is_old.then(|| version["gitVersion"].as_str().unwrap_or_default().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_without_indexed_jobs_is_too_old() {
        let of = |minor: &str| {
            too_old(&json!({ "major": "1", "minor": minor, "gitVersion": format!("v1.{minor}") }))
        };
        assert_eq!(of("23").as_deref(), Some("v1.23"));
        assert_eq!(of("23+").as_deref(), Some("v1.23+"));
        assert_eq!((of("24"), of("34+"), of("x")), (None, None, None));
        assert_eq!(too_old(&json!({})), None);
    }
}
