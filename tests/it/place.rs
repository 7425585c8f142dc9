//! Tests of place.
