//! What `sweetspot doctor` does.
