//! Why what was handed in cannot be used.
//!
//! In and out: a value.

use thiserror::Error;

/// Names the place and the way out; always the user's to mend.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct InputError(pub String);
