//! Tests of load.
