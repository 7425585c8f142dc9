//! TrialRecord to TrialSummary: rates, quantiles, verdict, diagnosis; computes only.
