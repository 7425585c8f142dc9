//! How a command ended.
//!
//! In: what a verb concluded or why it failed. Out: an exit code.

use std::fmt::Display;
use std::process::ExitCode;

use crate::session::cluster::ConnectError;
use crate::session::ecs::ENDS_SESSION;
use crate::session::load::{Conclusion, LoadVerbError};

/// How a command ended; documented in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or the SLO is met.
    Done = 0,
    /// Could not measure.
    CouldNotMeasure = 1,
    /// The command line or the plan is wrong.
    Usage = 2,
    /// The SLO is not met, or a regression was found.
    NotMet = 3,
    /// Measured, but invalid: limited by the generator, too noisy, or undecided.
    Invalid = 4,
    /// Of `__ecs` alone: the session that runs it cannot go on.
    EndsSession = ENDS_SESSION,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with the exit code it ends in. Errors without one end in `CouldNotMeasure`.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct UsageError {
    /// Names value, place and way out.
    pub message: String,
}

impl UsageError {
    /// The user's to mend on the command line.
    pub fn of(message: impl Display) -> Self {
        Self { message: message.to_string() }
    }

    /// The error itself, or as the user's to mend on the command line.
    pub fn only_if(
        is_usage: bool,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> anyhow::Error {
        match is_usage {
            true => Self::of(error).into(),
            false => error.into(),
        }
    }
}

impl From<Conclusion> for Exit {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Done => Self::Done,
            Conclusion::NotMet => Self::NotMet,
            Conclusion::Invalid => Self::Invalid,
            Conclusion::NothingAnswered => Self::CouldNotMeasure,
        }
    }
}

/// An error of finding a cluster with its exit code.
pub fn of_connection(error: ConnectError) -> anyhow::Error {
    UsageError::only_if(error.is_usage(), error)
}

/// A load's error with its exit code.
pub fn of_load(error: LoadVerbError) -> anyhow::Error {
    UsageError::only_if(error.is_usage(), error)
}
