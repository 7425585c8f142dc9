//! The cluster that was asked for.
//!
//! In: a context and a namespace, or none. Out: an API to ask, and where.

use thiserror::Error;

#[cfg(feature = "kubernetes")]
use crate::place::kubernetes::Client;
use crate::place::kubernetes::{self, Api, ApiError};

/// Why no cluster can be asked.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error(
        "this build of sweetspot knows no Kubernetes; build it with: cargo build --release \
         --features kubernetes"
    )]
    NotBuilt,
    #[error(
        "the context '{context}' ({server}) looks like production; say --yes if it is meant, or \
         name another with --context"
    )]
    Production { context: String, server: String },
    #[error(
        "the cluster runs Kubernetes {version}, which lacks what is asked for; 1.{} and later have \
         it",
        kubernetes::OLDEST
    )]
    TooOld { version: String },
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl ConnectError {
    /// The user's to mend on the command line, rather than the cluster's.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NotBuilt | Self::Production { .. } => true,
            Self::TooOld { .. } | Self::Api(_) => false,
        }
    }
}

/// A cluster that can be asked.
pub struct Found {
    pub api: Box<dyn Api>,
    pub namespace: String,
}

/// The cluster that `kubectl` would use, or another context's. `is_confirmed`: also one that looks
/// like production.
///
/// # Errors
/// This build knows no clusters, there is none, or it looks like production and that was not
/// confirmed.
#[cfg(feature = "kubernetes")]
pub fn connect(
    context: Option<&str>,
    namespace: Option<&str>,
    is_confirmed: bool,
) -> Result<Found, ConnectError> {
    let client = Client::new(context)?;
    if client.context.to_ascii_lowercase().contains("prod") && !is_confirmed {
        let (context, server) = (client.context, client.server);
        return Err(ConnectError::Production { context, server });
    }
    // Who may not ask goes on.
    let version = match client.get("/version") {
        Err(error @ ApiError::Unreachable { .. }) => return Err(error.into()),
        asked => asked.ok().flatten().unwrap_or_default(),
    };
    if let Some(version) = kubernetes::too_old(&version) {
        return Err(ConnectError::TooOld { version });
    }
    let namespace = namespace.map_or_else(|| client.namespace.clone(), str::to_string);
    Ok(Found { api: Box::new(client), namespace })
}

#[cfg(not(feature = "kubernetes"))]
pub fn connect(
    _context: Option<&str>,
    _namespace: Option<&str>,
    _is_confirmed: bool,
) -> Result<Found, ConnectError> {
    Err(ConnectError::NotBuilt)
}
