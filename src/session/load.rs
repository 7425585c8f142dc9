//! What `sweetspot load` does.
