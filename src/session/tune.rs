//! What `sweetspot tune` does.
