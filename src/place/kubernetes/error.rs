//! What a cluster did not do, as the error of a place.

use std::fmt::Display;

use super::fleet::FleetError;
use crate::place::PlaceError;

/// In words.
pub fn cluster(error: impl Display) -> PlaceError {
    PlaceError::Elsewhere(error.to_string())
}

/// Of the pods that send the load.
pub fn of_fleet(error: FleetError) -> PlaceError {
    match error {
        FleetError::Stopped => PlaceError::Stopped,
        other => cluster(other),
    }
}
