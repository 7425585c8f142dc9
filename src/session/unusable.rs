//! A server or service that could not be used, behind the error that a verb ended with.
//!
//! In: the error. Out: the server's own words, and what to do. Computes only.

use std::error::Error;

use super::drive::TuneError;
use super::lab::LabError;
use super::revisions::RevisionsError;
use crate::place::{PlaceError, Unusable};
use crate::report::Language;

/// What a server that could not be used said, oldest line first, and what to do about it; `None`
/// where the error is of another kind.
pub fn words_of<'a>(error: &'a (dyn Error + 'static)) -> Option<(&'a [String], String)> {
    if let Some(RevisionsError::DoesNotStart { failure, .. }) = error.downcast_ref() {
        return Some((&failure.last_lines, Language::DATA.say(&failure.advice)));
    }
    match place_of(error)? {
        PlaceError::Inspection(it) | PlaceError::Service(it) => Some(words(it)),
        _ => None,
    }
}

fn place_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a PlaceError> {
    let of_tune = error.downcast_ref().and_then(|it| match it {
        TuneError::Place(place) => Some(place),
        _ => None,
    });
    let of_lab = || match error.downcast_ref()? {
        LabError::Place(place) => Some(place),
        _ => None,
    };
    let of_revisions = || match error.downcast_ref()? {
        RevisionsError::Place { source, .. } | RevisionsError::Environment(source) => Some(source),
        _ => None,
    };
    of_tune.or_else(of_lab).or_else(of_revisions)
}

fn words(unusable: &Unusable) -> (&[String], String) {
    (&unusable.last_lines, Language::DATA.say_fact(&unusable.advice))
}
