//! Why a node does not run an image as the user that the image names, as its kubelet words it.
//!
//! In: the kubelet's words. Out: what they say. Only computes.

use crate::terms::BootEnd;

/// Behind this stands the user's name, in parentheses.
const NAMED: &str = "runAsNonRoot and image has non-numeric user (";
/// The image's user is root, or the pod's own setting says so.
const OF_ROOT: [&str; 2] =
    ["runAsNonRoot and image will run as root", "runAsUser breaks non-root policy"];

/// A pod that is not to run as root, and whose image would, or names its user so that a kubelet
/// cannot tell; `None`: something else keeps it from running.
pub fn refused(error: &str) -> Option<BootEnd> {
    if let Some((_, rest)) = error.split_once(NAMED) {
        let user = rest.split(')').next().map(str::to_string);
        return Some(BootEnd::UserRefused { user });
    }
    let is_root = OF_ROOT.iter().any(|words| error.contains(words));
    is_root.then_some(BootEnd::UserRefused { user: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_that_a_kubelet_refuses_is_told_from_what_else_keeps_a_pod_from_running() {
        let of_pod = "(pod: \"x_web(1)\", container: app)";
        let root = Some(BootEnd::UserRefused { user: None });
        for (error, expected) in [
            ("container has runAsNonRoot and image will run as root", root.clone()),
            ("container's runAsUser breaks non-root policy", root),
            (
                "container has runAsNonRoot and image has non-numeric user (rails), cannot verify \
                 user is non-root",
                Some(BootEnd::UserRefused { user: Some("rails".into()) }),
            ),
            ("secret \"shop\" not found", None),
        ] {
            let error = format!("CreateContainerConfigError: {error} {of_pod}");
            assert_eq!(refused(&error), expected, "{error}");
        }
    }
}
