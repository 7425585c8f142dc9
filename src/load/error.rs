//! Why no load could be generated.

use std::fmt;

use thiserror::Error;

use crate::terms::GeneratorPart;

/// Why no load could be generated. What the server does is never an error here: it is counted.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The generator's own environment: descriptors, memory, threads.
    // The cause follows in the text, as that of every error.
    #[error("could not set up the load generator: {part}")]
    Environment {
        part: GeneratorPart,
        #[source]
        source: std::io::Error,
    },
    /// The plan asks for something impossible.
    #[error("{0}")]
    Plan(String),
}

impl fmt::Display for GeneratorPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thread => "a thread",
            Self::Loop => "a loop",
            Self::Connections => "connections; raise the limit on open files ('ulimit -n')",
        })
    }
}
