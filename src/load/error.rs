//! Why no load could be generated.

use thiserror::Error;

/// Why no load could be generated. What the server does is never an error here: it is counted.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The generator's own environment: descriptors, memory, threads.
    // The cause follows in the text, as that of every error.
    #[error("could not set up the load generator: {what}")]
    Environment {
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// The plan asks for something impossible.
    #[error("{0}")]
    Plan(String),
}
