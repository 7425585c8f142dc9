//! A cluster's API as far as we need it: objects are JSON, found by their path.
//!
//! In and out: values.

use std::fmt;

use serde_json::Value;

/// Lines of a log while it grows; ends with the container.
pub type Lines = Box<dyn Iterator<Item = Result<String, ApiError>> + Send>;

/// What the API server is asked for. Paths begin with `/api` or `/apis`.
pub trait Api {
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

    /// A container's log from its beginning, while it grows.
    ///
    /// # Errors
    /// It may not be read, or the API server does not answer.
    fn follow(&self, path: &str) -> Result<Lines, ApiError>;
}

/// Why the API server did not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiError {
    /// There is no cluster to ask: no configuration, or one that cannot be used.
    NoConfiguration { why: String },
    /// It does not answer.
    Unreachable { why: String },
    /// The role lacks this right; or a quota or an admission policy forbids it.
    Forbidden { message: String },
    /// It refused for another reason.
    Refused { status: u16, message: String },
}

impl ApiError {
    /// It may answer again soon.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::NoConfiguration { .. } | Self::Forbidden { .. } => false,
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConfiguration { why } => write!(
                f,
                "there is no cluster to ask: {why}; set KUBECONFIG, or name a context (--context)"
            ),
            Self::Unreachable { why } => {
                write!(f, "the cluster's API server does not answer: {why}")
            }
            Self::Forbidden { message } => {
                write!(f, "the cluster forbids it: {message} (deploy/ has the role that is needed)")
            }
            Self::Refused { status, message } => {
                write!(f, "the cluster's API server refused with {status}: {message}")
            }
        }
    }
}

impl std::error::Error for ApiError {}
