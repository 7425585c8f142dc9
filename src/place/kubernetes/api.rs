//! A cluster's API as far as we need it: objects are JSON, found by their path.
//!
//! In and out: values.

use serde_json::Value;
use thiserror::Error;

/// Lines of a log while it grows; ends with the container.
pub type Lines = Box<dyn Iterator<Item = Result<String, ApiError>> + Send>;

/// What the API server is asked for. Paths begin with `/api` or `/apis`.
pub trait Api: Sync {
    /// `None`: there is none.
    ///
    /// # Errors
    /// It may not be read, or the API server does not answer.
    fn get(&self, path: &str) -> Result<Option<Value>, ApiError>;

    /// Makes an object in this collection, and returns it as it was made.
    ///
    /// # Errors
    /// It may not be made, a quota or a policy forbids it, or the API server does not answer.
    fn create(&self, collection: &str, object: &Value) -> Result<Value, ApiError>;

    /// Removes an object and, in the background, what it owns. One that is not there is no error.
    ///
    /// # Errors
    /// It may not be removed, or the API server does not answer.
    fn delete(&self, path: &str) -> Result<(), ApiError>;

    /// Removes an object as it was in this version (`metadata.resourceVersion`); one that somebody
    /// has changed since stays.
    ///
    /// # Errors
    /// It is another version by now, may not be removed, or the API server does not answer.
    fn delete_version(&self, path: &str, version: &str) -> Result<(), ApiError>;

    /// Changes an object by these operations (RFC 6902), by all or by none, and returns it as it is
    /// then.
    ///
    /// # Errors
    /// It may not be changed, is not there, is not as the operations expect it, or the API server
    /// does not answer.
    fn patch(&self, path: &str, operations: &Value) -> Result<Value, ApiError>;

    /// Runs a command in a container (the path says which), and hands on the lines that it prints
    /// to standard output. Dropping them ends the connection.
    ///
    /// # Errors
    /// It may not be run, or the API server does not answer; what becomes of it is in the lines.
    fn run(&self, path: &str) -> Result<Lines, ApiError>;

    /// A container's log from its beginning, while it grows.
    ///
    /// # Errors
    /// It may not be read, or the API server does not answer.
    fn follow(&self, path: &str) -> Result<Lines, ApiError>;
}

/// The objects of a list; none where there is no such list.
pub fn items(list: Option<Value>) -> Vec<Value> {
    list.and_then(|list| list["items"].as_array().cloned()).unwrap_or_default()
}

/// Why the API server did not do it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApiError {
    /// There is no cluster to ask: no configuration, or one that cannot be used.
    #[error("there is no cluster to ask: {why}; set KUBECONFIG, or name a context (--context)")]
    NoConfiguration { why: String },
    /// It is to be asked through a proxy.
    #[error(
        "{} names a proxy ({proxy}), and sweetspot asks no cluster through one; {}, or let kubectl \
         pass it on: 'kubectl proxy --port 8001 --reject-paths ^$', and a context of the \
         kubeconfig whose server is http://127.0.0.1:8001",
        named_by(*of_kubeconfig), way_without(*of_kubeconfig, host)
    )]
    Proxied { proxy: String, host: String, of_kubeconfig: bool },
    /// The command that gives the login, such as a cloud's, has failed.
    #[error(
        "the command that the kubeconfig has for the login failed: {said}; run it by itself \
         ('{command}'), and log in again where that has expired"
    )]
    Plugin { command: String, said: String },
    /// It does not take the login.
    #[error(
        "the cluster does not take this login ({message}): it has expired, or is another \
         cluster's; log in again in the cluster's own way, such as 'aws eks update-kubeconfig \
         --name CLUSTER' or 'gcloud container clusters get-credentials CLUSTER', until 'kubectl \
         auth whoami' answers"
    )]
    Login { message: String },
    /// It does not answer.
    #[error("the cluster's API server does not answer: {why}")]
    Unreachable { why: String },
    /// The role lacks this right.
    #[error("the cluster forbids it: {message} (deploy/ has the role that is needed)")]
    Forbidden { message: String },
    /// The namespace's quota leaves no room for it.
    #[error(
        "a quota of the namespace forbids it: {message}; see what it leaves with 'kubectl describe \
         quota', and ask for less, have it raised or take another namespace (--namespace)"
    )]
    Quota { message: String },
    /// An admission policy, a webhook or a limit range forbids it.
    #[error(
        "a policy of the cluster forbids it: {message}; whoever keeps it may except this \
         namespace, or take another (--namespace)"
    )]
    Policy { message: String },
    /// The namespace is being deleted.
    #[error(
        "the namespace is being deleted, and nothing can be made in it ({message}); take another \
         (--namespace)"
    )]
    Ending { message: String },
    /// It refused for another reason.
    #[error("the cluster's API server refused with {status}: {message}")]
    Refused { status: u16, message: String },
    /// A command in a container failed.
    #[error("a command in a container failed: {message}")]
    Command { message: String },
}

impl ApiError {
    /// It may answer again soon.
    pub fn is_passing(&self) -> bool {
        match self {
            // Who logs in again meanwhile is waited for.
            Self::Unreachable { .. } | Self::Plugin { .. } => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::NoConfiguration { .. }
            | Self::Proxied { .. }
            | Self::Login { .. }
            | Self::Forbidden { .. }
            | Self::Quota { .. }
            | Self::Policy { .. }
            | Self::Ending { .. }
            | Self::Command { .. } => false,
        }
    }

    /// The object is another one than was expected: somebody else has changed it.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409 | 422, .. })
    }
}

fn named_by(of_kubeconfig: bool) -> &'static str {
    if of_kubeconfig { "proxy-url in the kubeconfig" } else { "HTTPS_PROXY" }
}

/// How the API server is asked without the proxy, where it can be reached so.
fn way_without(of_kubeconfig: bool, host: &str) -> String {
    match of_kubeconfig {
        true => "leave it out where the API server is reached without".into(),
        false => format!("add {host} to NO_PROXY where it is reached without"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_told_with_the_ways_around_it() {
        let error = |of_kubeconfig| {
            let (proxy, host) = ("proxy.internal:3128".into(), "k8s.internal".into());
            ApiError::Proxied { proxy, host, of_kubeconfig }.to_string()
        };
        let said = error(false);
        assert!(said.starts_with("HTTPS_PROXY names a proxy (proxy.internal:3128)"), "{said}");
        assert!(said.contains("add k8s.internal to NO_PROXY"), "{said}");
        assert!(error(true).starts_with("proxy-url in the kubeconfig names a proxy"));
    }
}
