//! A load record to the figures that `load --json` prints.
