//! Events in, pictures and tables out: a folder a format.
//!
//! A report shows what the events say and nothing else, so one made a year later from the store is
//! the same report. Must not measure, judge or open the store.

pub mod load_text;

use std::io;

use crate::terms::Event;

/// Takes a session's events one by one.
pub trait Reporter {
    /// Takes the next event. Whatever is to be shown or written is so when this returns.
    ///
    /// # Errors
    /// The terminal or file cannot be written.
    fn take(&mut self, event: &Event) -> io::Result<()>;
}
