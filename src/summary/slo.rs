//! Is the goal met? Counted and tested exactly.
