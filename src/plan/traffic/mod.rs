//! What a load is made of, as people hand it in: URLs, files of targets, access logs, tables.
//!
//! In: texts and the names of files. Out: values, or what is wrong with them, named by its line and
//! without repeating what may be secret. Opens no socket and looks up no name.

mod access_log;
mod json_target;
mod table;
mod targets_file;
mod url;

use thiserror::Error;

#[cfg(fuzzing)]
pub use access_log::read_fuzzed;
pub use access_log::{
    LogSpec, Served, ServedLog, Speed, Traffic, parse_time, read as read_log, read_served,
};
pub use table::read as read_table;
#[cfg(fuzzing)]
pub use targets_file::written;
pub use targets_file::{header, parse as parse_targets, read as read_targets_file, server};
pub use url::{Scheme, Url, percent_decoded, without_query, without_user};

/// Why what was handed in cannot be used: names the place and the way out; always the user's to
/// mend.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct InputError(pub String);
