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
        "this build of sweetspot knows no Kubernetes; build it with 'cargo build --release \
         --features kubernetes'"
    )]
    NotBuilt,
    #[error(
        "the {kind} '{name}' ({server}) looks like production; say --yes if it is meant, or name \
         another with --{kind}"
    )]
    Production { kind: &'static str, name: String, server: String },
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
    /// The name of its context: the one that was asked for, or the current one.
    pub context: String,
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
    let namespace = namespace.map_or_else(|| client.namespace.clone(), str::to_string);
    let names = [("context", &client.context), ("namespace", &namespace)];
    let production = names.into_iter().find(|(_, name)| looks_like_production(name));
    if let Some((kind, name)) = production.filter(|_| !is_confirmed) {
        let (name, server) = (name.clone(), client.server.clone());
        return Err(ConnectError::Production { kind, name, server });
    }
    let version = match client.get("/version") {
        // Who may not ask goes on.
        Err(ApiError::Forbidden { .. } | ApiError::Refused { .. }) => Default::default(),
        asked => asked?.unwrap_or_default(),
    };
    if let Some(version) = kubernetes::too_old(&version) {
        return Err(ConnectError::TooOld { version });
    }
    let context = client.context.clone();
    Ok(Found { api: Box::new(client), namespace, context })
}

/// Whether this name of a context or a namespace has `prod` in it, such as `shop-prod1`; one of
/// products has not.
#[cfg(any(test, feature = "kubernetes"))]
fn looks_like_production(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace("production", "prod");
    name.replace("product", "").contains("prod")
}

#[cfg(not(feature = "kubernetes"))]
pub fn connect(
    _context: Option<&str>,
    _namespace: Option<&str>,
    _is_confirmed: bool,
) -> Result<Found, ConnectError> {
    Err(ConnectError::NotBuilt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_production_is_told_from_one_of_products() {
        for name in ["shop-prod", "PROD1", "arn:aws:eks:eu:1:cluster/shopprod", "production"] {
            assert!(looks_like_production(name), "{name}");
        }
        for name in ["products", "product-search", "staging", "default", ""] {
            assert!(!looks_like_production(name), "{name}");
        }
        assert!(looks_like_production("product-search-prod"));
    }
}
