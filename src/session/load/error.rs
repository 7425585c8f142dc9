//! Why a load cannot begin or has no result.
//!
//! In and out: a value.

use std::io;
use std::net::IpAddr;

use thiserror::Error;

use crate::fleet::FleetError;
use crate::load::LoadError;
use crate::place::kubernetes;
use crate::plan::traffic::InputError;
use crate::session::cluster::ConnectError;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum LoadVerbError {
    /// What was typed makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A rule that protects others' machines.
    #[error(
        "{host} is at {address}, a public address; load is sent to this machine and private \
         networks only, unless you may load that server and say --allow-public"
    )]
    PublicAddress { host: String, address: IpAddr },
    #[error(
        "{host} is at {address}, where a cloud gives a machine its credentials; nothing is sent \
         there"
    )]
    MetadataAddress { host: String, address: IpAddr },
    // The cause is printed after it, as that of every error.
    #[error("could not find the address of '{host}' (check the name)")]
    Resolve {
        host: String,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Cluster(#[from] kubernetes::FleetError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// In the words of the program in the pods.
    #[error("the pods could not send it: {why}")]
    Pods { why: String },
    /// A search for the capacity that ends with the first load.
    #[error("{0}")]
    NothingAnswered(String),
}

impl LoadVerbError {
    /// The user's to mend on the command line, rather than the environment's.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_)
            | Self::PublicAddress { .. }
            | Self::MetadataAddress { .. }
            | Self::Load(LoadError::Plan(_)) => true,
            Self::Connect(error) => error.is_usage(),
            Self::Resolve { .. }
            | Self::NothingAnswered(_)
            | Self::Fleet(_)
            | Self::Cluster(_)
            | Self::Pods { .. }
            | Self::Load(LoadError::Environment { .. }) => false,
        }
    }
}

impl From<InputError> for LoadVerbError {
    fn from(error: InputError) -> Self {
        Self::Usage(error.0)
    }
}
