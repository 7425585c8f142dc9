//! Which trial next, when to stop, what to recommend: a state machine that is told results; computes only.
