//! Tests of monitor.
