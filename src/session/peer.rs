//! Whom to ask, or to push to: looked up and allowed before anything is sent.
//!
//! In: an address as an option or a variable says it. Out: a peer, or what is wrong. Sends nothing.

use std::net::IpAddr;

use thiserror::Error;

use super::load::LoadVerbError;
use super::load::addresses::addresses;
use crate::http_client::Peer;
use crate::plan::traffic::Url;

/// An option or a variable that names a peer, and what holds for the address that it says.
pub struct Of {
    pub name: &'static str,
    /// What is said of an address with a user or a password.
    pub no_user: &'static str,
    /// What is said of an address with a query.
    pub no_query: &'static str,
    /// What is said of a public address where none is allowed.
    pub rule: &'static str,
    /// Stands in for the path of an address that has none.
    pub bare_path: &'static str,
}

/// Why there is nobody to ask or to push to.
#[derive(Debug, Error)]
pub enum PeerError {
    #[error("{of}: {what}")]
    Usage { of: &'static str, what: String },
    /// What is asked or sent tells of an app what is nobody else's business.
    #[error("{of}: {host} is at {address}, a public address; {rule}")]
    PublicAddress { of: &'static str, host: String, address: IpAddr, rule: &'static str },
    #[error("{of}: {source}")]
    Address { of: &'static str, source: LoadVerbError },
}

impl PeerError {
    /// The user's to mend on the command line, rather than the environment's.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Address { source, .. } => source.is_usage(),
            _ => true,
        }
    }
}

/// Finds the peer.
///
/// # Errors
/// The URL cannot be read, the name is not known, or an address is public without that being
/// allowed. No message repeats a password or a header's value.
pub fn peer(
    of: &Of,
    url: &str,
    headers: Vec<(String, String)>,
    allows_public: bool,
) -> Result<Peer, PeerError> {
    let usage = |what: &str| PeerError::Usage { of: of.name, what: what.to_string() };
    let url = Url::parse(url).map_err(|error| usage(&error.to_string()))?;
    if url.user.is_some() {
        return Err(usage(of.no_user));
    }
    if url.path.contains('?') {
        return Err(usage(of.no_query));
    }
    let addresses = addresses(&url, allows_public).map_err(|source| match source {
        LoadVerbError::PublicAddress { host, address } => {
            PeerError::PublicAddress { of: of.name, host, address, rule: of.rule }
        }
        source => PeerError::Address { of: of.name, source },
    })?;
    let path = if url.is_bare() { of.bare_path } else { &url.path };
    let url = format!("{}://{}{path}", url.scheme.name(), url.host_header());
    Ok(Peer { url, addresses, headers })
}
