//! Tests of failures.
