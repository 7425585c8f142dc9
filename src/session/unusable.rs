//! A server or service that could not be used, behind the error that a verb ended with.
//!
//! In: the error. Out: the server's own words, and what to do. Computes only.

use std::error::Error;

use super::drive::TuneError;
use super::lab::LabError;
use crate::place::{PlaceError, Unusable};
use crate::report::Language;

/// What a server that could not be used said, oldest line first, and what to do about it; `None`
/// where the error is of another kind.
pub fn words_of<'a>(error: &'a (dyn Error + 'static)) -> Option<(&'a [String], String)> {
    let place = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(TuneError::Place(place)), _) | (_, Some(LabError::Place(place))) => place,
        _ => return None,
    };
    match place {
        PlaceError::Inspection(it) | PlaceError::Service(it) => Some(words(it)),
        _ => None,
    }
}

fn words(unusable: &Unusable) -> (&[String], String) {
    (&unusable.last_lines, Language::DATA.say_fact(&unusable.advice))
}
