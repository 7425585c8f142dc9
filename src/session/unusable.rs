//! A server or service that could not be used, behind the error that a verb ended with.
//!
//! In: the error. Out: the server's own words, and what to do. Computes only.

use std::error::Error;

use super::drive::TuneError;
use super::lab::LabError;
use super::revisions::RevisionsError;
use crate::place::PlaceError;
use crate::report::Language;

/// What a server that could not be used said, oldest line first, and what to do about it; `None`
/// where the error is of another kind.
pub fn words_of<'a>(error: &'a (dyn Error + 'static)) -> Option<(&'a [String], String)> {
    let place = if let Some(TuneError::Place(place)) = error.downcast_ref() {
        place
    } else if let Some(LabError::Place(place)) = error.downcast_ref() {
        place
    } else {
        match error.downcast_ref()? {
            RevisionsError::DoesNotStart { failure, .. } => {
                return Some((&failure.last_lines, Language::DATA.say(&failure.advice)));
            }
            RevisionsError::Place { source, .. } | RevisionsError::Environment(source) => source,
            _ => return None,
        }
    };
    match place {
        PlaceError::Inspection(it) | PlaceError::Service(it) => {
            Some((&it.last_lines, Language::DATA.say_fact(&it.advice)))
        }
        _ => None,
    }
}
