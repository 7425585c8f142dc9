//! What is printed when a verb fails.
//!
//! In: its error. Out: lines on standard error: ours, then the last that the server itself said,
//! and what to do.

use super::say;
use crate::report::outside::lines;
use crate::report::terminal::{Channel, server_words};
use crate::session::unusable::words_of;

pub fn print(error: &anyhow::Error) {
    // What an app, a server or a file said may be part of it.
    say(lines(&format!("sweetspot: {error:#}")).join("\n"));
    let Some((last_lines, advice)) = words_of(error.as_ref()) else { return };
    let mut channel = Channel::standard_error();
    // Nobody is left to be told that standard error takes nothing.
    let _ = channel.print(&server_words(last_lines, &advice, channel.style));
}
