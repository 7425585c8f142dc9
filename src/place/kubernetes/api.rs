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
    /// It does not answer.
    #[error("the cluster's API server does not answer: {why}")]
    Unreachable { why: String },
    /// The role lacks this right; or a quota or an admission policy forbids it.
    #[error("the cluster forbids it: {message} (deploy/ has the role that is needed)")]
    Forbidden { message: String },
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
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::NoConfiguration { .. }
            | Self::Forbidden { .. }
            | Self::Ending { .. }
            | Self::Command { .. } => false,
        }
    }

    /// The object is another one than was expected: somebody else has changed it.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409 | 422, .. })
    }
}
