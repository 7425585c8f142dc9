//! Service demands and wait times fitted to summaries, analytic formulas and the simulator; computes only.
