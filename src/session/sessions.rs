//! What `sweetspot sessions` does.
