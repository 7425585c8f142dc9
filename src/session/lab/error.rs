//! Why an experiment has no result.
//!
//! In and out: a value.

use thiserror::Error;

use super::progress::ProgressError;
use crate::place::PlaceError;
use crate::plan::AppError;
use crate::report::Language;
use crate::session::drive::of_place;

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
        "this experiment needs what is not installed here; on Debian: apt install {}",
        packages.join(" ")
    )]
    Lacks { packages: Vec<String> },
}

impl From<PlaceError> for LabError {
    fn from(error: PlaceError) -> Self {
        Self::Place(error)
    }
}
