//! What programs read: a file or folder a format.
//!
//! In: a [`Story`](super::story::Story), or what a load came to. Out: text of a format that others
//! defined, or whose names are a promise; only [`push`] sends it somewhere. Has no language.

pub mod csv;
pub mod facts;
pub mod json;
pub mod junit;
pub mod load;
pub mod metrics;
pub(super) mod prometheus;
#[expect(clippy::disallowed_methods, reason = "sends to the addresses that it is given")]
pub mod push;
