//! Why a session has no decision, in English.

use crate::report::wording::{Language, Undone};
use crate::terms::{SessionError, Stated};

pub(super) fn sentence(why: &Undone<'_>) -> String {
    match why {
        Undone::Failed { error: Stated::Fact(SessionError::CouldNot { what, why }) } => {
            format!("Could not {}: {why}.", Language::English.say(what))
        }
        Undone::Failed { error: Stated::Verbatim(text) } => format!("Could not measure: {text}."),
        Undone::Failed { error: Stated::Fact(error) } => {
            format!("Could not measure: {}.", Language::English.say_fact(error))
        }
        Undone::StillRuns { so_far } => {
            format!("This session has not ended, so there is no decision yet ({so_far}).")
        }
        Undone::NeverStarted => {
            "The server did not start with any setting that was tried.".to_string()
        }
        Undone::NoTrial => "No trial was run, so nothing is known.".to_string(),
        Undone::Stopped { so_far } => format!("Stopped before it could decide ({so_far})."),
        Undone::AlwaysEnded => {
            "Could not measure: the server ended by itself in every trial.".to_string()
        }
        Undone::NoneValid { trials } => {
            format!("Nothing can be concluded: none of the {trials} is valid.")
        }
        Undone::NotReached { so_far } => {
            format!("No decision was reached within the budget ({so_far}).")
        }
        Undone::CouldNotTell { goal, so_far } => {
            format!("Whether anything holds {goal} could not be told ({so_far}).")
        }
        Undone::NothingHeld { goal } => {
            format!("No configuration held any rate that was tried within {goal}.")
        }
    }
}
