//! What keeps a fleet from sending a load.

use std::io;
use std::time::Duration;

/// In words for people; none has a secret in it.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("could not listen for generators on {address}: {source}; give --collect another port")]
    Listen { address: String, source: io::Error },

    #[error(
        "only {joined} of {wanted} generators joined within {} s; start the others with the same \
         arguments and --join in place of --collect",
        .within.as_secs()
    )]
    TooFew { joined: u16, wanted: u16, within: Duration },

    #[error(
        "only {joined} of {wanted} generators could be let in within {} s, as no further \
         connection could be accepted here: {source}; where too many files are open, raise the \
         limit ('ulimit -n'): each generator takes two of them",
        .within.as_secs()
    )]
    NotAccepted { joined: u16, wanted: u16, within: Duration, source: io::Error },

    #[error("generator {index} ({address}) was lost before the load began: {why}")]
    LostBefore { index: u16, address: String, why: String },

    #[error("generator {index} ({address}) could not send its part: {why}")]
    Failed { index: u16, address: String, why: String },

    #[error("every generator was lost; the last said: {why}")]
    AllLost { why: String },

    #[error("could not reach the collector at {address} within {} s: {source}", .within.as_secs())]
    Unreachable { address: String, within: Duration, source: io::Error },

    #[error("the collector at {address} refused: {why}")]
    Refused { address: String, why: String },

    #[error("the connection to the collector broke: {0}")]
    Broken(io::Error),

    #[error("could not run ssh to {host}: {source}")]
    Ssh { host: String, source: io::Error },

    #[error("the generator on {host} ended before the load began: {said}")]
    HostEnded { host: String, said: String },

    #[error(
        "not all generators on {hosts} were ready within {} s, though ssh runs there{said}",
        .within.as_secs()
    )]
    HostsSilent { hosts: String, within: Duration, said: String },

    #[error("the system gives no random numbers")]
    NoRandomNumbers,

    #[error("stopped before the load began")]
    Stopped,
}
