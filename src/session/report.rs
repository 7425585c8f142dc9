//! What `sweetspot report` does.
