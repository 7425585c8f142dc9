//! Intervals, exact tests, bisection: statistics that everything may use; computes only.
