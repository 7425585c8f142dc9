//! Tests of tune.
