//! Start, wait until ready, warm up, measure, stop: drives a place and returns a TrialRecord.
