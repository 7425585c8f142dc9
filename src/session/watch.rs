//! What `sweetspot watch` does.
