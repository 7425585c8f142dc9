//! Why an experiment has no result.
//!
//! In and out: a value.

use thiserror::Error;

use super::progress::ProgressError;
use crate::place::PlaceError;
use crate::plan::AppError;
use crate::report::Language;
use crate::server;
use crate::session::drive::of_place;
use crate::terms::{BootFailure, LabFailure};

/// Why there is no result.
#[derive(Debug, Error)]
pub enum LabError {
    #[error("{}", Language::DATA.say(&of_place(.0)))]
    Place(PlaceError),
    #[error(transparent)]
    App(#[from] AppError),
    #[error(transparent)]
    Progress(#[from] ProgressError),
    #[error("could not {what}: {source}")]
    Io {
        what: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{message}")]
    Definition { message: String },
    /// By the names of Debian's packages.
    #[error(
        "this experiment needs what is not installed here; on Debian: 'apt install {}'",
        packages.join(" ")
    )]
    Lacks { packages: Vec<String> },
    /// Each as it is needed, and what is here.
    #[error("this experiment needs other versions than are here: {}", others.join(", "))]
    OtherVersions { others: Vec<String> },
}

/// Why a run has no server, with that server's own last words.
pub fn without_server(failure: BootFailure) -> LabFailure {
    let last_line = server::own_message(&failure.last_lines).map(String::from);
    LabFailure::RunWithoutServer { why: failure.message, last_line }
}

impl From<PlaceError> for LabError {
    fn from(error: PlaceError) -> Self {
        Self::Place(error)
    }
}
