//! Why two revisions were not compared: whose it is, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::git::{Commit, GitError};
use super::measure::MeasureError;
use crate::place::PlaceError;
use crate::plan::PlanError;
use crate::report::Language;
use crate::session::drive::of_place;
use crate::terms::BootFailure;

/// Why nothing came of it.
#[derive(Debug, Error)]
pub enum RevisionsError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(
        "'{a}' and '{b}' are the same commit, {commit}, so there is nothing to compare; {a}..{a} \
         measures that on purpose"
    )]
    Same { a: String, b: String, commit: Commit },
    #[error(
        "both revisions are started on this machine, and the plan has an app that runs elsewhere; \
         leave that out of the plan, or name another with --plan"
    )]
    RunsElsewhere,
    #[error("two revisions are compared at one setting; give --{flag} one number, such as 2")]
    SeveralSettings { flag: &'static str },
    #[error("{of} has no folder {}; compare revisions that have the app", folder.display())]
    NoFolder { of: Named, folder: PathBuf },
    /// What is in that revision is not an app that could be started.
    #[error("of {of}: {source}")]
    OfRevision {
        of: Named,
        #[source]
        source: Box<PlanError>,
    },
    #[error("of {of}: {}", Language::DATA.say(&of_place(source)))]
    Place { of: Named, source: PlaceError },
    #[error("{}", Language::DATA.say(&of_place(.0)))]
    Environment(PlaceError),
    #[error("{of} does not start: {}{}", Language::DATA.say(&failure.message),
        preparing(*is_prepared))]
    DoesNotStart { of: Named, failure: Box<BootFailure>, is_prepared: bool },
    #[error(
        "{of} would be started from {} of the working folder, and so would the other; a path has \
         to be relative, and what git does not have, as what is built, --prepare 'COMMAND' makes \
         for each, such as 'npm ci && npm run build'",
        path.display()
    )]
    NotItsOwn { of: Named, path: PathBuf },
    #[error("could not link {} into a worktree: {source}", path.display())]
    Link {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn preparing(is_prepared: bool) -> &'static str {
    match is_prepared {
        true => "",
        false => {
            "; what a revision needs before it starts, such as its own packages, --prepare \
             'COMMAND' installs or builds in its folder"
        }
    }
}

/// A revision as errors name it.
#[derive(Debug, Clone)]
pub struct Named {
    pub name: String,
    pub commit: Commit,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.commit)
    }
}

impl Named {
    pub(super) fn plan(&self, source: PlanError) -> RevisionsError {
        RevisionsError::OfRevision { of: self.clone(), source: source.into() }
    }

    pub(super) fn place(&self, source: PlaceError) -> RevisionsError {
        match source {
            PlaceError::Stopped => RevisionsError::Environment(source),
            source => RevisionsError::Place { of: self.clone(), source },
        }
    }
}

/// `sides`: A and B.
pub(super) fn of_measuring(
    error: MeasureError,
    sides: &[Named; 2],
    is_prepared: bool,
) -> RevisionsError {
    match error {
        MeasureError::Place(source) => RevisionsError::Environment(source),
        MeasureError::DoesNotStart { side, failure } => {
            RevisionsError::DoesNotStart { of: sides[side as usize].clone(), failure, is_prepared }
        }
    }
}

impl RevisionsError {
    /// It is for the user to correct what was typed, or what is in the repository.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Git(GitError::NotRun(_) | GitError::Failed { .. }) => false,
            Self::Plan(_)
            | Self::Git(_)
            | Self::Same { .. }
            | Self::RunsElsewhere
            | Self::SeveralSettings { .. }
            | Self::NoFolder { .. }
            | Self::NotItsOwn { .. }
            | Self::OfRevision { .. } => true,
            Self::Place { .. }
            | Self::Environment(_)
            | Self::DoesNotStart { .. }
            | Self::Link { .. } => false,
        }
    }
}
